package interp

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// poison fills results and scratch before a kernel runs: nobody may rely on
// zeros.
const poison = 0x5a

// run runs what build returns, whose buffers are the results of c, its operands and scratch.
func (m *Interpreter) run(c *ops.Call, build func() (*loop.Func, error)) []Value {
	program, f := m.of(c).compiled(build)
	in, scalars := m.operands(c)
	outs := make([]Value, len(c.Outs))
	var bufs [][]byte
	for i, b := range f.Bufs {
		if k := i - len(outs); k >= 0 && k < len(in) {
			bufs = append(bufs, in[k].Data)
			continue
		}
		fresh := m.allocate(m.size(b.Len), b.DType)
		for j := range fresh {
			fresh[j] = poison
		}
		bufs = append(bufs, fresh)
	}
	for i, b := range f.Bufs {
		if b.Role == loop.InOut {
			copy(bufs[i], bufs[b.Init])
		}
	}
	syms := seq.Map(f.Syms, m.symbol)
	r := program.Runner()
	r.Until(m.Done)
	r.Limit(m.Limit)
	must.Check(r.Run(bufs, syms, scalars))
	for i, t := range c.Outs {
		outs[i] = Tensor(t.DType, m.sizes(t.Sizes), bufs[i])
	}
	return outs
}

// allocate returns memory for n elements.
func (m *Interpreter) allocate(n int64, d ir.DType) []byte {
	size := int64(d.Size())
	if n < 0 { // the inputs decide, before what asserts that they may
		must.Fail("%w: a tensor of %d elements", ErrAssert, n)
	}
	if n > math.MaxInt/size {
		must.Fail("a tensor of %d elements", n)
	}
	m.reserve(n * size)
	return make([]byte, n*size)
}

func (m *Interpreter) reserve(bytes int64) {
	if m.Reserve != nil {
		must.Check(m.Reserve(bytes))
	}
}

// constant reads a constant's elements in row-major order.
func (m *Interpreter) constant(c *ir.Constant) Value {
	sizes := m.sizes(c.Type.Sizes)
	n := int64(c.Type.DType.Size())
	for _, s := range sizes { // a constant may repeat few elements often
		if s > 0 && n > math.MaxInt64/s {
			must.Fail("a constant of sizes %v is too large", sizes)
		}
		n *= s
	}
	m.reserve(n)
	return Tensor(c.Type.DType, sizes, must.Get(ir.Tensor(c)))
}
