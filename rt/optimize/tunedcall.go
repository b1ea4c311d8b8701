package optimize

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gofunc"
	"github.com/etgen/etgen/lower/native"
)

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
	params, setParams, err := numbers[int](t.params,
		func(e sym.Expr) (func() (int64, error), error) {
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
	rooms := make([][]float32, len(s.Args))
	inputs := int64(0)
	for _, b := range s.Args {
		inputs = max(inputs, b.MaxLen)
	}
	call := gofunc.NewCall(t.function, t.macs, t.results, inputs)
	var floats [][]float32
	var extra [][]byte
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
		floats, extra = floats[:0], extra[:0]
		shared := false
		for i, slot := range t.slots {
			switch {
			case slot.Kind == tuned.Extra && slot.Index == t.bounds.Add:
				finish.Add, _ = eval.Floats(o.bufs[i], &rooms[i])
				fallthrough
			case slot.Kind == tuned.Extra:
				extra = append(extra, o.bufs[i])
			default:
				x, same := eval.Floats(o.bufs[i], &rooms[i])
				floats = append(floats, x)
				shared = shared || slot.Kind == tuned.Result && same
			}
		}
		if !call.Run(m.done, floats, params, finish) {
			return eval.ErrStopped
		}
		if !shared {
			eval.PutFloats(o.bufs[0], floats[0])
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
		runner.Until(m.done)
		return runner.Run(bufs, values, nil)
	}, nil
}
