package optimize

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
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
				x, ok := in.(pte.DelegateCall)
				if ok && int(x.Delegate) == d.index && len(x.Args) == len(call.Args)-1 {
					d.slots = x.Args
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

// delegate calls a delegate.
func (m *interpreter) delegate(s *native.Call, d *delegation) func() error {
	o := m.operands(s.Args)
	args := make([]*rt.EValue, len(d.slots))
	var data []func()
	for i, a := range d.call.Args[1:] {
		args[i] = &rt.EValue{}
		switch a.Kind {
		case loop.ReadTensor, loop.WrittenTensor:
			buf := a.Buf
			if a.Kind == loop.ReadTensor {
				buf = a.Value.Buf
			}
			t := m.delegateTensor(d.slots[i])
			args[i].Kind, args[i].Tensor = rt.TensorKind, t
			data = append(data, func() { t.Data = o.bufs[buf] })
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
	return func() error {
		if err := o.now(); err != nil {
			return err
		}
		for _, f := range data {
			f()
		}
		return backend.Execute(m.ctx, args)
	}
}

// delegateTensor is a tensor as the program has a value, its data to be set.
func (m *interpreter) delegateTensor(slot int32) *rt.Tensor {
	def, ok := m.boundary.Plan.Values[slot].(*pte.Tensor)
	if !ok || def.Dynamism != pte.Static {
		must.Fail("value %d, which a delegate takes, has no fixed sizes", slot)
	}
	d, _ := def.ScalarType.DType()
	sizes := make([]int64, len(def.Sizes))
	for i, n := range def.Sizes {
		sizes[i] = int64(n)
	}
	return must.Get(rt.NewTensor(d, sizes, slices.Clone(def.DimOrder), nil))
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
		must.Fail("a delegate takes %s", ir.ArgString(a))
	}
}
