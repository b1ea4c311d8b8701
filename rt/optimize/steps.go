package optimize

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// block makes steps of statements.
func (m *interpreter) block(stmts []native.Stmt) []step {
	var body []step
	for _, s := range stmts {
		event := &rt.Event{Method: m.name, Instruction: len(m.steps), Op: describe(s),
			DebugHandle: -1}
		m.steps = append(m.steps, s)
		run := must.At(func() func() error { return m.stmt(s) }, "%s", event.Op)
		if len(native.Blocks(s)) > 0 {
			event = nil
		}
		body = append(body, step{run, event})
	}
	return body
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
	ops := seq.Map(from, func(o native.Origin) string {
		return strings.TrimSuffix(o.Op.Raw(), ".default")
	})
	return strings.Join(ops, "+")
}

func (m *interpreter) stmt(s native.Stmt) func() error {
	switch s := s.(type) {
	case *native.Call:
		switch k := m.kernels[s.Kernel]; {
		case s.Kernel.Copy:
			return m.copy(s)
		case k.delegate != nil:
			return m.delegate(s, k.delegate)
		case k.custom != nil:
			return m.custom(s, k.custom)
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
		holds := m.scalar(s.Cond, s.Args)
		return func() error {
			ok, err := holds()
			if err == nil && ok.I == 0 {
				err = fmt.Errorf("%w: assertion failed: %s", rt.ErrInvalidArgument,
					s.Message.Terminal())
			}
			return err
		}
	}
	panic(fmt.Errorf("unknown statement %T", s))
}

func (m *interpreter) copy(s *native.Call) func() error {
	o := m.operands(s.Args)
	return func() error {
		if err := o.now(); err != nil {
			return err
		}
		copy(o.bufs[0], o.bufs[1])
		return nil
	}
}

// numbers compiles a list of index expressions; what it returns sets dst.
func numbers[T int | int64](list []sym.Expr,
	index func(sym.Expr) (func() (int64, error), error)) (dst []T, set func() error) {
	dst = make([]T, len(list))
	var later []func() error
	for i, e := range list {
		if n, ok := e.Const(); ok {
			dst[i] = T(n)
			continue
		}
		f := must.Get(index(e))
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
	}
}

// loops calls a loop kernel.
func (m *interpreter) loops(s *native.Call, p *eval.Program) func() error {
	o := m.operands(s.Args)
	ints, setInts := numbers[int64](s.Ints, m.index)
	scalars := make([]eval.Value, len(s.Scalars))
	values := make([]func() (eval.Value, error), len(s.Scalars))
	for i, e := range s.Scalars {
		values[i] = m.scalar(e, nil)
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
		runner.Until(m.done)
		return runner.Run(o.bufs, ints, scalars)
	}
}
