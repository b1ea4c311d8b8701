package optimize

import (
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gofunc"
	"github.com/etgen/etgen/lower/native"
)

// tuned calls a hand-made kernel, then the loops of its epilogue.
func (m *interpreter) tuned(s *native.Call, t *tunedKernel) func() error {
	o := m.operands(s.Args)
	params, setParams := numbers[int](s.Fields(), m.index)
	epilogue := m.epilogue(t)
	inputs := int64(0)
	for _, b := range s.Args {
		inputs = max(inputs, b.MaxLen)
	}
	_, results := s.Args[0].Len.Bounds()
	sums := &gofunc.Epilogue{Low: float32(t.bounds.Low), High: float32(t.bounds.High)}
	read := gofunc.Extras{Add: t.bounds.Add, Shift: -1, Scale: -1}
	if r := t.rescaling; r != nil {
		read.Shift, read.Scale = r.Shift, r.Scale
		sums.Least, sums.Most, sums.Plus = float32(r.Least), float32(r.Most), float32(r.Plus)
	}
	call := must.Get(gofunc.NewCall(s.Kernel.Tuned, nil, read, results, inputs))
	extra := s.Kernel.Tuned.First(tuned.Extra)
	behind := s.Kernel.Tuned.First(tuned.Scratch)
	after := make([][]byte, 0, len(s.Args)+1)
	return func() error {
		if err := o.now(); err != nil {
			return err
		}
		if err := setParams(); err != nil {
			return err
		}
		if err := call.Run(m.done, o.bufs, params, sums); err != nil {
			return err
		}
		if epilogue == nil {
			return nil
		}
		after = append(append(after[:0], o.bufs[0], o.bufs[0]), o.bufs[extra:behind]...)
		return epilogue(after)
	}
}

// epilogue returns a function that runs the loops of a kernel's epilogue, nil if
// it has none.
func (m *interpreter) epilogue(t *tunedKernel) func(bufs [][]byte) error {
	if t.epilogue == nil {
		return nil
	}
	list := seq.Map(t.syms, func(s *sym.Symbol) sym.Expr { return s.Expr() })
	values, set := numbers[int64](list, m.index)
	runner := t.epilogue.Runner()
	return func(bufs [][]byte) error {
		if err := set(); err != nil {
			return err
		}
		runner.Until(m.done)
		return runner.Run(bufs, values, nil)
	}
}
