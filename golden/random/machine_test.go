package random

import (
	"fmt"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// machine runs native form, of definitions alone, in an arena of exactly the
// planned size: what generated code does, without a compiler. A kernel sees of
// each buffer the elements that are there in this call and nothing behind them.
type machine struct {
	p     *native.Program
	state map[*native.Buffer][]byte

	// Of a call.
	syms  map[*sym.Symbol]int64
	vars  map[*expr.Var]expr.Value
	root  map[*native.Buffer][]byte
	arena []byte
	turns int
}

// runNative makes the calls of the methods of p.
func runNative(p *native.Program, all []way.Call) (out []way.CallResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("native form: %v", r)
		}
	}()
	m := &machine{p: p}
	for i, c := range all {
		if !c.Keep {
			m.reset()
		}
		r, err := m.call(p.Methods[c.Method], c)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func (m *machine) reset() {
	m.state = map[*native.Buffer][]byte{}
	for _, b := range m.p.State {
		m.state[b] = make([]byte, b.MaxLen*int64(b.DType.Size()))
		if b.Const != nil {
			copy(m.state[b], b.Const.Data)
		}
	}
}

func (m *machine) call(nm *native.Method, c way.Call) (way.CallResult, error) {
	m.syms, m.vars, m.root = map[*sym.Symbol]int64{}, map[*expr.Var]expr.Value{},
		map[*native.Buffer][]byte{}
	m.arena = garbage(codegen.ArenaSize(nm))
	r := way.CallResult{Mutated: make([]*tensor.Tensor, len(c.Inputs))}
	bind, err := native.Bind(nm)
	if err != nil {
		return r, err
	}
	for _, s := range bind.Solved {
		rest, err := s.Rest.Eval(m.symbol)
		if err != nil {
			return r, err
		}
		m.syms[s.Sym] = (c.Inputs[s.Dim.Port].Tensor.Shape[s.Dim.Axis] - rest) / s.Coef
	}
	for i, p := range nm.Inputs {
		t := c.Inputs[i].Tensor
		if p.Buf == nil || t == nil {
			return r, fmt.Errorf("input %s is no tensor", p.Name)
		}
		m.root[p.Buf] = append([]byte(nil), t.Data...)
		if p.Mutated {
			r.Mutated[i] = &tensor.Tensor{DType: t.DType, Shape: t.Shape, Data: m.root[p.Buf]}
		}
	}
	for _, p := range nm.Outputs {
		if p.Buf != nil && p.Buf.Storage == native.Output {
			n, err := p.Buf.Len.Eval(m.symbol)
			if err != nil {
				return r, err
			}
			m.root[p.Buf] = garbage(n * int64(p.Buf.DType.Size()))
		}
	}
	if err := m.block(nm.Body); err != nil {
		return r, err
	}
	for i, p := range nm.Inputs {
		if !p.Mutated && string(m.root[p.Buf]) != string(c.Inputs[i].Tensor.Data) {
			return r, fmt.Errorf("input %s is written, which the method does not tell", p.Name)
		}
	}
	for _, p := range nm.Outputs {
		if p.Buf == nil {
			r.Outputs = append(r.Outputs, tensor.Value{Scalar: p.Value})
			continue
		}
		data, err := m.bytes(p.Buf)
		if err != nil {
			return r, err
		}
		sizes, err := evalSizes(p.Type.Sizes, m.syms)
		if err != nil {
			return r, err
		}
		r.Outputs = append(r.Outputs, tensor.Value{Tensor: &tensor.Tensor{DType: p.Type.DType,
			Shape: sizes, Data: append([]byte(nil), data...)}})
	}
	return r, nil
}

// garbage returns memory that nobody has written.
func garbage(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0x5a
	}
	return b
}

func (m *machine) symbol(s *sym.Symbol) (int64, bool) {
	n, ok := m.syms[s]
	return n, ok
}

// bytes returns the elements of a buffer.
func (m *machine) bytes(b *native.Buffer) ([]byte, error) {
	n, err := b.Len.Eval(m.symbol)
	if err != nil {
		return nil, fmt.Errorf("buffer %s: %w", b.Name, err)
	}
	size := int64(b.DType.Size())
	if n > b.MaxLen {
		return nil, fmt.Errorf("buffer %s has %d elements, at most %d are planned", b.Name,
			n, b.MaxLen)
	}
	root, at := b, int64(0)
	if b.Root != nil {
		root = b.Root
		if at, err = b.At.Eval(m.symbol); err != nil {
			return nil, fmt.Errorf("buffer %s: %w", b.Name, err)
		}
	}
	var all []byte
	switch root.Storage {
	case native.Arena:
		lo, hi := root.Offset, root.Offset+root.MaxLen*int64(root.DType.Size())
		if lo < 0 || hi > int64(len(m.arena)) {
			return nil, fmt.Errorf("buffer %s is not inside of the arena", root.Name)
		}
		all = m.arena[lo:hi]
	case native.State:
		all = m.state[root]
	case native.Weight:
		all = root.Const.Data
	default:
		all = m.root[root]
	}
	if at < 0 || (at+n)*size > int64(len(all)) {
		return nil, fmt.Errorf("buffer %s: elements %d to %d of %d bytes", b.Name, at,
			at+n, len(all))
	}
	return all[at*size : (at+n)*size], nil
}

func (m *machine) block(stmts []native.Stmt) error {
	for _, s := range stmts {
		if err := m.stmt(s); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) stmt(s native.Stmt) error {
	switch s := s.(type) {
	case *native.Call:
		return m.kernel(s)
	case *native.Cond:
		p, err := m.pred(s.Pred)
		if err != nil {
			return err
		}
		if p {
			return m.block(s.Then)
		}
		return m.block(s.Else)
	case *native.While:
		return m.while(s)
	case *native.For:
		n, err := s.Extent.Eval(m.symbol)
		if err != nil {
			return err
		}
		for i := range n {
			m.syms[s.Var] = i
			if s.Reverse {
				m.syms[s.Var] = n - 1 - i
			}
			if err := m.block(s.Body); err != nil {
				return err
			}
		}
		return nil
	case *native.Let:
		x, err := m.expr(s.Value, s.Args)
		if err != nil {
			return err
		}
		if s.Sym != nil {
			m.syms[s.Sym] = x.I
		} else {
			m.vars[s.Var] = x
		}
		return nil
	case *native.Assert:
		x, err := m.expr(s.Cond, s.Args)
		if err == nil && x.I == 0 {
			err = fmt.Errorf("assertion failed: %s", s.Message)
		}
		return err
	case *native.Poison:
		b := *s.Buf
		b.Len = sym.Int(b.MaxLen)
		data, err := m.bytes(&b)
		copy(data, garbage(int64(len(data))))
		return err
	}
	return fmt.Errorf("statement %T is not known", s)
}

func (m *machine) while(s *native.While) error {
	for {
		if m.turns++; m.turns > 1e5 {
			return fmt.Errorf("the loop does not end")
		}
		if err := m.block(s.Head); err != nil {
			return err
		}
		p, err := m.pred(s.Pred)
		if err != nil || !p {
			return err
		}
		if err := m.block(s.Body); err != nil {
			return err
		}
	}
}

func (m *machine) pred(b *native.Buffer) (bool, error) {
	data, err := m.bytes(b)
	return err == nil && data[0] != 0, err
}

func (m *machine) kernel(c *native.Call) error {
	f := c.Kernel.Loop
	if f == nil {
		return fmt.Errorf("kernel %s is a tuned one", c.Kernel.Name)
	}
	bufs := make([][]byte, len(c.Args))
	for i, b := range c.Args {
		var err error
		if bufs[i], err = m.bytes(b); err != nil {
			return fmt.Errorf("kernel %s: %w", c.Kernel.Name, err)
		}
	}
	ints := make([]int64, len(c.Ints))
	given := map[*sym.Symbol]int64{}
	for i, e := range c.Ints {
		var err error
		if ints[i], err = e.Eval(m.symbol); err != nil {
			return fmt.Errorf("kernel %s: %w", c.Kernel.Name, err)
		}
		given[c.Kernel.Params[i]] = ints[i]
	}
	var syms []int64
	for _, s := range f.Syms {
		n, ok := given[s]
		if !ok {
			return fmt.Errorf("kernel %s: %s is no parameter", c.Kernel.Name, s.Name)
		}
		syms = append(syms, n)
	}
	var scalars []expr.Value
	for _, x := range c.Scalars {
		v, err := m.expr(x, nil)
		if err != nil {
			return err
		}
		scalars = append(scalars, v)
	}
	return eval.Run(f, bufs, syms, scalars)
}

// expr evaluates an expression whose loads index args.
func (m *machine) expr(e *expr.Expr, args []*native.Buffer) (expr.Value, error) {
	out := make([]byte, e.DType.Size())
	f := &loop.Func{Name: "scalar", Bufs: []loop.Buf{{Name: "out", DType: e.DType, Role: loop.Out,
		Len: sym.Int(1)}}}
	bufs := [][]byte{out}
	for _, b := range args {
		data, err := m.bytes(b)
		if err != nil {
			return expr.Value{}, err
		}
		f.Bufs = append(f.Bufs, loop.Buf{Name: b.Name, DType: b.DType, Len: b.Len})
		bufs = append(bufs, data)
	}
	seen := map[*expr.Var]bool{}
	value := expr.Rewrite(e, func(x *expr.Expr) *expr.Expr {
		switch {
		case x.Op == expr.OpLoad:
			y := *x
			y.Buf++
			return &y
		case x.Op == expr.OpLocal && !seen[x.Var]:
			seen[x.Var] = true
			v := m.vars[x.Var]
			c := expr.Int(x.Var.DType, v.I)
			switch {
			case x.Var.DType.IsFloat():
				c = expr.Float(x.Var.DType, v.F)
			case x.Var.DType == ir.Bool:
				c = expr.Bool(v.I != 0)
			}
			f.Body = append(f.Body, &loop.Let{Var: x.Var, Value: c})
		}
		return x
	})
	f.Syms = new(expr.Free).Of(value)
	var syms []int64
	for _, s := range f.Syms {
		n, ok := m.syms[s]
		if !ok {
			return expr.Value{}, fmt.Errorf("%s has no value", s.Name)
		}
		syms = append(syms, n)
	}
	f.Body = append(f.Body, &loop.Store{Value: value})
	if err := eval.Run(f, bufs, syms, nil); err != nil {
		return expr.Value{}, err
	}
	return eval.Get(e.DType, out, 0), nil
}
