package optimize

import (
	"encoding/binary"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/rt"
)

// delegation is a kernel that calls a delegate.
type delegation struct {
	call  *loop.Invoke
	index int     // of the delegate in the plan
	slots []int32 // of the arguments
}

// newDelegation returns what a kernel calls, nil if that is no delegate.
func newDelegation(k *native.Kernel, plan *pte.ExecutionPlan) *delegation {
	for _, call := range k.Invokes() {
		if call.Op.Name != ir.CallDelegate {
			continue
		}
		name, _ := call.Args[0].Const.(ir.Str)
		d := &delegation{call: call, index: must.Get(raise.DelegateNumber(string(name)))}
		for _, c := range plan.Chains {
			for _, in := range c.Instructions {
				if x, ok := in.(pte.DelegateCall); ok && int(x.Delegate) == d.index {
					d.take(plan, x.Args)
				}
			}
		}
		if d.slots == nil {
			must.Fail("nothing calls delegate %d so", d.index)
		}
		return d
	}
	return nil
}

// take takes the arguments of a call, if they are the kernel's.
func (d *delegation) take(plan *pte.ExecutionPlan, slots []int32) {
	told := 0 // results whose sizes the call tells behind them
	for i, slot := range slots {
		t, ok := plan.Values[slot].(*pte.Tensor)
		if ok && t.Dynamism != pte.Static && i+1 < len(d.call.Args) &&
			d.call.Args[i+1].Kind == loop.WrittenTensor {
			told++
		}
	}
	if 1+len(slots)+told == len(d.call.Args) {
		d.slots = slots
	}
}

// delegate calls a delegate.
func (m *interpreter) delegate(s *native.Call, d *delegation) func() error {
	o := m.operands(s.Args)
	args := make([]*rt.EValue, len(d.slots))
	var enter, leave []func() error
	told := len(d.slots) // where the next sizes are told
	for i, slot := range d.slots {
		args[i] = &rt.EValue{}
		a := d.call.Args[1+i]
		switch a.Kind {
		case loop.ReadTensor:
			enter = append(enter, m.delegateInput(s, d, i, args[i], o))
		case loop.WrittenTensor:
			def, _ := m.boundary.Plan.Values[slot].(*pte.Tensor)
			t := must.Get(tensorOf(def))
			args[i].Kind, args[i].Tensor = rt.TensorKind, t
			if def.Dynamism == pte.Static {
				enter = append(enter, func() error { t.Data = o.bufs[a.Buf]; return nil })
				continue
			}
			sizes := d.call.Args[1+told].Buf
			told++
			enter = append(enter, func() error { return t.Resize(t.Bound()) })
			leave = append(leave, func() error {
				copy(o.bufs[a.Buf], t.Data)
				for k, dim := range t.DimOrder {
					binary.LittleEndian.PutUint64(o.bufs[sizes][8*k:], uint64(t.Sizes[dim]))
				}
				return nil
			})
		case loop.Constant:
			number(args[i], a.Const)
		default:
			must.Fail("argument %d of delegate %d is a number that the run knows", i, d.index)
		}
	}
	backend := m.delegates[d.index]
	if backend == nil {
		backend = must.Get(m.boundary.Delegate(d.index, func() *rt.Event { return m.at }))
		m.delegates[d.index] = backend
	}
	return inTurn(o.now, enter, func() error { return backend.Execute(m.ctx, args) }, leave)
}

// inTurn is a call: its operands, what goes before it, the run, what goes after it.
func inTurn(operands func() error, enter []func() error, run func() error,
	leave []func() error) func() error {
	all := slices.Concat([]func() error{operands}, enter, []func() error{run}, leave)
	return func() error {
		for _, f := range all {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

// inCall is an expression of a kernel's parameters in terms of the method's sizes.
func inCall(s *native.Call, e sym.Expr) sym.Expr {
	return e.Subst(func(p *sym.Symbol) (sym.Expr, bool) {
		at := slices.Index(s.Kernel.Params, p)
		if at < 0 {
			return sym.Expr{}, false
		}
		return s.Ints[at], true
	})
}

// delegateInput puts argument i, a tensor, into v at each call.
func (m *interpreter) delegateInput(s *native.Call, d *delegation, i int, v *rt.EValue,
	o *operands) func() error {
	a := d.call.Args[1+i]
	buf := a.Value.Buf
	def, _ := m.boundary.Plan.Values[d.slots[i]].(*pte.Tensor)
	t := must.Get(tensorOf(def))
	v.Kind, v.Tensor = rt.TensorKind, t
	if def.Dynamism == pte.Static {
		return func() error { t.Data = o.bufs[buf]; return nil }
	}
	ofMethod := make([]sym.Expr, len(a.Sizes))
	for k, e := range a.Sizes {
		ofMethod[t.DimOrder[k]] = inCall(s, e)
	}
	sizes, set := numbers[int64](ofMethod, m.index)
	return func() error {
		err := set()
		if err == nil {
			err = t.Resize(sizes)
		}
		if err == nil {
			copy(t.Data, o.bufs[buf])
		}
		return err
	}
}

// tensorOf is a tensor as the program has it, in memory of its own; if its sizes are fixed, the
// memory is to be set.
func tensorOf(def *pte.Tensor) (*rt.Tensor, error) {
	d, _ := def.ScalarType.DType()
	sizes := seq.Map(def.Sizes, func(n int32) int64 { return int64(n) })
	if def.Dynamism == pte.Static {
		return rt.NewTensor(d, sizes, slices.Clone(def.DimOrder), nil)
	}
	return rt.NewBoundedTensor(d, sizes, slices.Clone(def.DimOrder))
}

// number puts a number into a slot.
func number(v *rt.EValue, a ir.Arg) {
	switch a := a.(type) {
	case ir.Int:
		v.Kind, v.Int = rt.Int, int64(a)
	case ir.Float:
		v.Kind, v.Double = rt.Double, float64(a)
	case ir.BoolArg:
		v.Kind, v.Bool = rt.Bool, bool(a)
	case ir.Str:
		v.Kind, v.String = rt.String, string(a)
	case ir.None:
		v.Kind = rt.None
	default:
		must.Fail("a call outside of the method takes %s", ir.ArgString(a))
	}
}
