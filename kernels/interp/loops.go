package interp

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// poison fills results and scratch before a kernel runs: nobody may rely on
// zeros.
const poison = 0x5a

// loops runs an operator's imperative body.
func (m *Interpreter) loops(c *ops.Call) ([]Value, error) {
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
func (m *Interpreter) run(c *ops.Call, f *loop.Func, in []eval.Operand,
	scalars []expr.Value) ([]Value, error) {
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
		fresh, err := m.allocate(n, b.DType)
		if err != nil {
			return nil, err
		}
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
	if len(f.Syms) == 0 { // an entry's own body leaves them to us
		g := *f
		g.Syms = freeSymbols(f)
		f = &g
	}
	var syms []int64
	for _, s := range f.Syms {
		n, ok := m.syms[s]
		if !ok {
			return nil, fmt.Errorf("%s: %w", s.Name, ErrUnknownSize)
		}
		syms = append(syms, n)
	}
	p, err := eval.Compile(f)
	if err != nil {
		return nil, err
	}
	r := p.Runner()
	r.Until(m.Done)
	r.Limit(m.Limit)
	if err := r.Run(bufs, syms, scalars); err != nil {
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

// allocate returns memory for n elements.
func (m *Interpreter) allocate(n int64, d ir.DType) ([]byte, error) {
	size := int64(d.Size())
	if n < 0 || n > math.MaxInt/size {
		return nil, fmt.Errorf("a tensor of %d elements", n)
	}
	if m.Reserve != nil {
		if err := m.Reserve(n * size); err != nil {
			return nil, err
		}
	}
	return make([]byte, n*size), nil
}

// freeSymbols returns the dynamic sizes that f refers to, in order of
// appearance.
func freeSymbols(f *loop.Func) []*sym.Symbol {
	bound := map[*sym.Symbol]bool{}
	var free []*sym.Symbol
	note := func(e sym.Expr) {
		for _, s := range e.Symbols() {
			if !bound[s] {
				bound[s] = true
				free = append(free, s)
			}
		}
	}
	loop.Walk(f.Body, func(s loop.Stmt) {
		switch s := s.(type) {
		case *loop.For:
			bound[s.Var] = true
		case *loop.LetIndex:
			bound[s.Sym] = true
		}
	})
	loop.Walk(f.Body, func(s loop.Stmt) { loop.Indices(s, note) })
	return free
}

// constant reads a constant's elements in row-major order.
func (m *Interpreter) constant(c *ir.Constant) (Value, error) {
	sizes, err := m.sizes(c.Type.Sizes)
	if err != nil {
		return Value{}, err
	}
	if m.Reserve != nil { // a constant may repeat few elements often
		n := int64(c.Type.DType.Size())
		for _, s := range sizes {
			if s > 0 && n > math.MaxInt64/s {
				return Value{}, fmt.Errorf("a constant of sizes %v is too large", sizes)
			}
			n *= s
		}
		if err := m.Reserve(n); err != nil {
			return Value{}, err
		}
	}
	data, err := ir.Tensor(c)
	return Tensor(c.Type.DType, sizes, data), err
}
