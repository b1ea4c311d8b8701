package interp

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// loops runs an operator's imperative body.
func (m *Machine) loops(c *ops.Call) ([]Value, error) {
	f, err := c.Op.Loops(c)
	if err != nil {
		return nil, err
	}
	in, scalars, err := m.operands(c)
	if err != nil {
		return nil, err
	}
	return m.run(c, f, in, scalars)
}

// run runs f, whose buffers are the results of c, its operands and scratch.
func (m *Machine) run(c *ops.Call, f *loop.Func, in []eval.Operand, scalars []expr.Value) ([]Value, error) {
	outs := make([]Value, len(c.Outs))
	var bufs [][]byte
	for i, b := range f.Bufs {
		if k := i - len(outs); k >= 0 && k < len(in) {
			bufs = append(bufs, in[k].Data)
			continue
		}
		n, err := m.size(b.Len)
		if err != nil {
			return nil, err
		}
		bufs = append(bufs, make([]byte, n*int64(b.DType.Size())))
	}
	for i, b := range f.Bufs {
		if b.Role == loop.InOut {
			copy(bufs[i], bufs[b.Init])
		}
	}
	var syms []int64
	for _, s := range f.Syms {
		n, ok := m.syms[s]
		if !ok {
			return nil, fmt.Errorf("%s: %w", s.Name, ErrUnknownSize)
		}
		syms = append(syms, n)
	}
	if err := eval.Run(f, bufs, syms, scalars); err != nil {
		return nil, err
	}
	for i, t := range c.Outs {
		sizes, err := m.sizes(t.Sizes)
		if err != nil {
			return nil, err
		}
		outs[i] = Tensor(t.DType, sizes, bufs[i])
	}
	return outs, nil
}

// constant reads a constant's elements in row-major order.
func (m *Machine) constant(c *ir.Constant) (Value, error) {
	t := c.Type
	sizes, err := m.sizes(t.Sizes)
	if err != nil {
		return Value{}, err
	}
	strides, err := m.sizes(t.Strides)
	if err != nil {
		return Value{}, err
	}
	offset, err := m.size(t.Offset)
	if err != nil {
		return Value{}, err
	}
	all := make([]byte, c.Data.Size())
	if _, err := c.Data.ReadAt(all, 0); err != nil && len(all) > 0 {
		return Value{}, fmt.Errorf("constant %s: %w", c.Name, err)
	}
	data, err := Gather(all, int64(t.DType.Size()), sizes, strides, offset)
	if err != nil {
		return Value{}, fmt.Errorf("constant %s: %w", c.Name, err)
	}
	return Tensor(t.DType, sizes, data), nil
}

// Gather returns the elements of a strided tensor in row-major order. Strides
// and offset count elements of the given size in bytes.
func Gather(storage []byte, size int64, sizes, strides []int64, offset int64) ([]byte, error) {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	out := make([]byte, 0, n*size)
	index := make([]int64, len(sizes))
	for range n {
		at := offset
		for d, i := range index {
			at += i * strides[d]
		}
		if at < 0 || (at+1)*size > int64(len(storage)) {
			return nil, fmt.Errorf("element %v is outside of the storage", index)
		}
		out = append(out, storage[at*size:(at+1)*size]...)
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < sizes[d] {
				break
			}
			index[d] = 0
		}
	}
	return out, nil
}
