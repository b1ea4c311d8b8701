package optimize

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

func (m *interpreter) cond(s *native.Cond) func() error {
	pred := m.operand(s.Pred)
	then := m.block(s.Then)
	other := m.block(s.Else)
	return func() error {
		yes, err := pred.truth()
		switch {
		case err != nil:
			return err
		case yes:
			return m.run(then)
		}
		return m.run(other)
	}
}

// truth reads a condition.
func (o *operand) truth() (bool, error) {
	b, err := o.bytes()
	if err != nil || len(b) == 0 {
		return false, err
	}
	return b[0] != 0, nil
}

func (m *interpreter) while(s *native.While) func() error {
	head := m.block(s.Head)
	pred := m.operand(s.Pred)
	body := m.block(s.Body)
	return func() error {
		for {
			if err := m.stopped(); err != nil {
				return err
			}
			if err := m.run(head); err != nil {
				return err
			}
			if yes, err := pred.truth(); err != nil || !yes {
				return err
			}
			if err := m.run(body); err != nil {
				return err
			}
		}
	}
}

func (m *interpreter) loop(s *native.For) func() error {
	extent := must.Get(m.index(s.Extent))
	slot := m.slots.of(s.Var)
	body := m.block(s.Body)
	return func() error {
		n, err := extent()
		if err != nil {
			return err
		}
		for i := range n {
			m.ints[slot] = i
			if s.Reverse {
				m.ints[slot] = n - 1 - i
			}
			if err := m.run(body); err != nil {
				return err
			}
		}
		return nil
	}
}

func (m *interpreter) let(s *native.Let) func() error {
	value := m.scalar(s.Value, s.Args)
	if s.Sym != nil {
		slot := m.slots.of(s.Sym)
		return func() error {
			x, err := value()
			m.ints[slot] = x.I
			return err
		}
	}
	slot, ok := m.vars[s.Var]
	if !ok {
		slot = len(m.vars)
		m.vars[s.Var] = slot
	}
	return func() error {
		x, err := value()
		m.nums[slot] = x
		return err
	}
}

// scalar compiles an expression of the method's variables and sizes, whose Loads
// index args.
func (m *interpreter) scalar(e *expr.Expr, args []*native.Buffer) func() (eval.Value, error) {
	if e.Op == expr.OpConst {
		x := constant(e)
		return func() (eval.Value, error) { return x, nil }
	}
	o := m.operands(args)
	f := &loop.Func{Name: "value", Bufs: []loop.Buf{{Name: "out", DType: e.DType, Role: loop.Out,
		Len: sym.Int(1)}}}
	for _, b := range args {
		f.Bufs = append(f.Bufs, loop.Buf{Name: b.Name, DType: b.DType, Role: loop.In,
			Len: sym.Inf()})
	}
	var from []int // of scalars, among the variables
	body := expr.Rewrite(expr.ShiftLoads(e, 1), func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLocal {
			return e
		}
		slot, ok := m.vars[e.Var]
		if !ok {
			panic(fmt.Errorf("the number %s is not computed", e.Var.Name))
		}
		i := slices.Index(f.Scalars, e.Var)
		if i < 0 {
			i = len(f.Scalars)
			f.Scalars, from = append(f.Scalars, e.Var), append(from, slot)
		}
		return expr.ScalarRef(i, e.DType)
	})
	f.Body = []loop.Stmt{&loop.Store{Buf: 0, At: sym.Int(0), Value: body}}
	f.Syms = f.Free()
	sizes := seq.Map(f.Syms, func(s *sym.Symbol) sym.Expr { return s.Expr() })
	ints, setInts := numbers[int64](sizes, m.index)
	runner := must.Get(eval.Compile(f)).Runner()
	bufs := append([][]byte{make([]byte, e.DType.Size())}, o.bufs...)
	scalars := make([]eval.Value, len(from))
	return func() (eval.Value, error) {
		err := o.now()
		if err == nil {
			err = setInts()
		}
		if err != nil {
			return eval.Value{}, err
		}
		copy(bufs[1:], o.bufs)
		for i, slot := range from {
			scalars[i] = m.nums[slot]
		}
		runner.Until(m.done)
		if err := runner.Run(bufs, ints, scalars); err != nil {
			return eval.Value{}, err
		}
		return eval.Get(e.DType, bufs[0], 0), nil
	}
}
