package portable

import (
	"sync/atomic"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

// Watched is Registry whose kernels tell seen what they are called with when a
// method is loaded, sizes at their bounds.
func Watched(table *ops.Table, seen func(*ir.Node)) *rt.Registry {
	registry := Registry()
	var kernels []rt.Kernel
	for _, f := range forms(table) {
		k, _ := registry.Lookup(f.file)
		prepare := k.Prepare
		k.Prepare = func(c *rt.Call) (func() error, error) {
			p := &call{kernel: &kernel{form: f, table: table, calls: new(atomic.Uint32)}, c: c}
			var operands []operand
			if err := p.results(); err == nil {
				if n, err := p.bindable(&operands); err == nil {
					seen(n)
				}
			}
			return prepare(c)
		}
		kernels = append(kernels, k)
	}
	return rt.NewRegistry(kernels...)
}

// inOrderOf calls f with the place of every element of t in memory and in
// row-major order, in bytes.
func inOrderOf(t *rt.Tensor, f func(memory, rowMajor int)) {
	index := make([]int64, len(t.Sizes))
	size := t.DType.Size()
	for at := range len(t.Data) / size {
		to := int64(0)
		for _, d := range t.DimOrder {
			to = to*t.Sizes[d] + index[d]
		}
		f(int(to)*size, at*size)
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < t.Sizes[d] {
				break
			}
			index[d] = 0
		}
	}
}

// RowMajor sets out to the elements of t in row-major order.
func RowMajor(t *rt.Tensor, out []byte) {
	inOrderOf(t, func(memory, rowMajor int) {
		copy(out[rowMajor:], t.Data[memory:memory+t.DType.Size()])
	})
}
