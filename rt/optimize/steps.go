package optimize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned/gofunc"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// block makes steps of statements.
func (m *machine) block(stmts []native.Stmt) ([]step, error) {
	var body []step
	for _, s := range stmts {
		event := &rt.Event{Method: m.name, Instruction: m.steps, Op: describe(s), DebugHandle: -1}
		m.steps++
		run, err := m.stmt(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", event.Op, err)
		}
		if len(native.Blocks(s)) > 0 {
			event = nil
		}
		body = append(body, step{run, event})
	}
	return body, nil
}

// describe names a statement as messages and events do.
func describe(s native.Stmt) string {
	var from []native.Origin
	switch s := s.(type) {
	case *native.Call:
		if s.Kernel.Copy {
			return "copy"
		}
		from = s.From
	case *native.Cond:
		return "cond"
	case *native.While:
		return "while"
	case *native.For:
		return "scan"
	case *native.Let:
		from = s.From
	case *native.Assert:
		return "assert"
	}
	var ops []string
	for _, o := range from {
		ops = append(ops, strings.TrimSuffix(o.Op, ".default"))
	}
	return strings.Join(ops, "+")
}

func (m *machine) stmt(s native.Stmt) (func() error, error) {
	switch s := s.(type) {
	case *native.Call:
		switch k := m.kernels[s.Kernel]; {
		case s.Kernel.Copy:
			return m.copy(s)
		case k.tuned != nil:
			return m.tuned(s, k.tuned)
		default:
			return m.loops(s, k.loops)
		}
	case *native.Cond:
		return m.cond(s)
	case *native.While:
		return m.while(s)
	case *native.For:
		return m.loop(s)
	case *native.Let:
		return m.let(s)
	case *native.Assert:
		holds, err := m.scalar(s.Cond, s.Args)
		if err != nil {
			return nil, err
		}
		return func() error {
			ok, err := holds()
			if err == nil && ok.I == 0 {
				err = fmt.Errorf("%w: assertion failed: %s", rt.ErrInvalidArgument, s.Message)
			}
			return err
		}, nil
	}
	return nil, fmt.Errorf("unknown statement %T", s)
}

func (m *machine) copy(s *native.Call) (func() error, error) {
	o, err := m.operands(s.Args)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := o.now(); err != nil {
			return err
		}
		copy(o.bufs[0], o.bufs[1])
		return nil
	}, nil
}

// numbers compiles a list of index expressions; what it returns sets dst.
func numbers[T int | int64](list []sym.Expr, index func(sym.Expr) (func() (int64, error), error)) (dst []T, set func() error, err error) {
	dst = make([]T, len(list))
	var later []func() error
	for i, e := range list {
		if n, ok := e.Const(); ok {
			dst[i] = T(n)
			continue
		}
		f, err := index(e)
		if err != nil {
			return nil, nil, err
		}
		later = append(later, func() error {
			n, err := f()
			dst[i] = T(n)
			return err
		})
	}
	return dst, func() error {
		for _, f := range later {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// loops calls a loop kernel.
func (m *machine) loops(s *native.Call, p *eval.Program) (func() error, error) {
	o, err := m.operands(s.Args)
	if err != nil {
		return nil, err
	}
	ints, setInts, err := numbers[int64](s.Ints, m.index)
	if err != nil {
		return nil, err
	}
	scalars := make([]eval.Value, len(s.Scalars))
	values := make([]func() (eval.Value, error), len(s.Scalars))
	for i, e := range s.Scalars {
		if values[i], err = m.scalar(e, nil); err != nil {
			return nil, err
		}
	}
	runner := p.Runner()
	return func() error {
		if err := o.now(); err != nil {
			return err
		}
		if err := setInts(); err != nil {
			return err
		}
		for i, f := range values {
			var err error
			if scalars[i], err = f(); err != nil {
				return err
			}
		}
		return runner.Run(o.bufs, ints, scalars)
	}, nil
}

// tuned calls a hand-made kernel, then the loops of its epilogue.
func (m *machine) tuned(s *native.Call, t *tunedKernel) (func() error, error) {
	o, err := m.operands(s.Args)
	if err != nil {
		return nil, err
	}
	// The kernel's parameters have values at each call.
	own := map[*sym.Symbol]int{}
	for i, p := range s.Kernel.Params {
		own[p] = i
	}
	ints, setInts, err := numbers[int64](s.Ints, m.index)
	if err != nil {
		return nil, err
	}
	params, setParams, err := numbers[int](t.params, func(e sym.Expr) (func() (int64, error), error) {
		f, err := slots(own).index(e)
		return func() (int64, error) { return f(ints) }, err
	})
	if err != nil {
		return nil, err
	}
	epilogue, err := m.epilogue(t)
	if err != nil {
		return nil, err
	}
	scratch := len(s.Args) - 1
	hasScratch := s.Kernel.IsScratch(scratch)
	rooms := make([][]float32, len(s.Args))
	var floats [][]float32
	finish := gofunc.Finish{Low: float32(t.bounds.Low), High: float32(t.bounds.High)}
	after := make([][]byte, 0, len(s.Args)+1)
	return func() error {
		if err := o.now(); err != nil {
			return err
		}
		if err := setInts(); err != nil {
			return err
		}
		if err := setParams(); err != nil {
			return err
		}
		floats = floats[:0]
		y, shared := eval.Floats(o.bufs[0], &rooms[0])
		floats = append(floats, y)
		for i := 1; i < t.buffers; i++ {
			x, _ := eval.Floats(o.bufs[i], &rooms[i])
			floats = append(floats, x)
		}
		extra := o.bufs[t.buffers:]
		if hasScratch {
			x, _ := eval.Floats(o.bufs[scratch], &rooms[scratch])
			floats = append(floats, x)
			extra = o.bufs[t.buffers:scratch]
		}
		if t.bounds.Add >= 0 {
			finish.Add, _ = eval.Floats(extra[t.bounds.Add], &rooms[t.buffers+t.bounds.Add])
		}
		t.call(floats, params, finish)
		if !shared {
			eval.PutFloats(o.bufs[0], y)
		}
		if epilogue == nil {
			return nil
		}
		after = append(append(after[:0], o.bufs[0], o.bufs[0]), extra...)
		return epilogue(after)
	}, nil
}

// epilogue returns a function that runs the loops of a kernel's epilogue, nil if
// it has none.
func (m *machine) epilogue(t *tunedKernel) (func(bufs [][]byte) error, error) {
	if t.epilogue == nil {
		return nil, nil
	}
	var list []sym.Expr
	for _, s := range t.syms {
		list = append(list, s.Expr())
	}
	values, set, err := numbers[int64](list, m.index)
	if err != nil {
		return nil, err
	}
	runner := t.epilogue.Runner()
	return func(bufs [][]byte) error {
		if err := set(); err != nil {
			return err
		}
		return runner.Run(bufs, values, nil)
	}, nil
}

func (m *machine) cond(s *native.Cond) (func() error, error) {
	pred, err := m.operand(s.Pred)
	if err != nil {
		return nil, err
	}
	then, err := m.block(s.Then)
	if err != nil {
		return nil, err
	}
	other, err := m.block(s.Else)
	if err != nil {
		return nil, err
	}
	return func() error {
		yes, err := pred.truth()
		switch {
		case err != nil:
			return err
		case yes:
			return m.run(then)
		}
		return m.run(other)
	}, nil
}

// truth reads a condition.
func (o *operand) truth() (bool, error) {
	b, err := o.bytes()
	if err != nil || len(b) == 0 {
		return false, err
	}
	return b[0] != 0, nil
}

func (m *machine) while(s *native.While) (func() error, error) {
	head, err := m.block(s.Head)
	if err != nil {
		return nil, err
	}
	pred, err := m.operand(s.Pred)
	if err != nil {
		return nil, err
	}
	body, err := m.block(s.Body)
	if err != nil {
		return nil, err
	}
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
	}, nil
}

func (m *machine) loop(s *native.For) (func() error, error) {
	extent, err := m.index(s.Extent)
	if err != nil {
		return nil, err
	}
	slot := m.slots.of(s.Var)
	body, err := m.block(s.Body)
	if err != nil {
		return nil, err
	}
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
	}, nil
}

func (m *machine) let(s *native.Let) (func() error, error) {
	value, err := m.scalar(s.Value, s.Args)
	if err != nil {
		return nil, err
	}
	if s.Sym != nil {
		slot := m.slots.of(s.Sym)
		return func() error {
			x, err := value()
			m.ints[slot] = x.I
			return err
		}, nil
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
	}, nil
}

// scalar compiles an expression of the method's variables and sizes, whose Loads
// index args.
func (m *machine) scalar(e *expr.Expr, args []*native.Buffer) (func() (eval.Value, error), error) {
	if e.Op == expr.OpConst {
		x := constant(e)
		return func() (eval.Value, error) { return x, nil }, nil
	}
	o, err := m.operands(args)
	if err != nil {
		return nil, err
	}
	f := &loop.Func{Name: "value", Bufs: []loop.Buf{{Name: "out", DType: e.DType, Role: loop.Out, Len: sym.Int(1)}}}
	for _, b := range args {
		f.Bufs = append(f.Bufs, loop.Buf{Name: b.Name, DType: b.DType, Role: loop.In, Len: sym.Inf()})
	}
	var from []int // of scalars, among the variables
	body := expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpLoad:
			c := *e
			c.Buf++
			return &c
		case expr.OpLocal:
			slot, ok := m.vars[e.Var]
			if !ok {
				err = fmt.Errorf("the number %s is not computed", e.Var.Name)
			}
			i := slices.Index(f.Scalars, e.Var)
			if i < 0 {
				i = len(f.Scalars)
				f.Scalars, from = append(f.Scalars, e.Var), append(from, slot)
			}
			return expr.ScalarRef(i, e.DType)
		}
		return e
	})
	if err != nil {
		return nil, err
	}
	f.Body = []loop.Stmt{&loop.Store{Buf: 0, At: sym.Int(0), Value: body}}
	f.Syms = symbolsOf(body)
	var sizes []sym.Expr
	for _, s := range f.Syms {
		sizes = append(sizes, s.Expr())
	}
	ints, setInts, err := numbers[int64](sizes, m.index)
	if err != nil {
		return nil, err
	}
	p, err := eval.Compile(f)
	if err != nil {
		return nil, err
	}
	runner := p.Runner()
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
		if err := runner.Run(bufs, ints, scalars); err != nil {
			return eval.Value{}, err
		}
		return eval.Get(e.DType, bufs[0], 0), nil
	}, nil
}
