package optimize

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// tableOf is the table of operators with the custom ones that the options declare.
func tableOf(o Options) *ops.Table {
	schemas := seq.Map(o.Custom, func(text string) *aten.Schema { return must.Get(aten.Parse(text)) })
	return must.Get(ops.Standard().With(schemas...))
}

// customOf returns the call of a custom operator that a kernel is, nil if it is none.
func customOf(k *native.Kernel) *loop.Invoke {
	for _, call := range k.Invokes() {
		if call.Op.Name != ir.CallDelegate {
			return call
		}
	}
	return nil
}

// customCall is a call of the registry's kernel for a custom operator.
type customCall struct {
	m        *interpreter
	call     *native.Call
	operands *operands
	changes  map[*rt.EValue]bool // slots that differ between calls
	enter    []func() error      // put the arguments into their slots
	leave    []func() error      // take what was written from them
}

// custom calls the kernel of a custom operator.
func (m *interpreter) custom(s *native.Call, call *loop.Invoke) func() error {
	c := &customCall{m: m, call: s, operands: m.operands(s.Args),
		changes: map[*rt.EValue]bool{}}
	args := make([]*rt.EValue, len(call.Args))
	for i, a := range call.Args {
		elem := "Tensor"
		if i < len(call.Op.Args) {
			elem = call.Op.Args[i].Type.Base().Name
		}
		args[i] = c.argument(elem, a)
	}
	name := ops.OutForm(call.Op).Name
	name = strings.TrimSuffix(strings.Replace(name, ".", "::", 1), ".default")
	kernel := must.Get(m.boundary.Kernel(name, args, func(v *rt.EValue) bool { return !c.changes[v] }))
	run := func() error { return kernel(m.ctx) }
	return inTurn(c.operands.now, c.enter, run, c.leave)
}

// argument is the slot of an argument that is, or has elements that are, what a schema calls elem.
func (c *customCall) argument(elem string, a loop.Actual) *rt.EValue {
	v := &rt.EValue{}
	switch a.Kind {
	case loop.Constant:
		if d, ok := a.Const.(ir.DTypeArg); ok {
			code, _ := pte.ScalarTypeOf(ir.DType(d))
			v.Kind, v.Int = rt.Int, int64(code)
		} else {
			number(v, a.Const)
		}
	case loop.IndexNumber:
		v.Kind, c.changes[v] = rt.Int, true
		n, set := numbers[int64]([]sym.Expr{inCall(c.call, a.Index)}, c.m.index)
		c.enter = append(c.enter, set, func() error { v.Int = n[0]; return nil })
	case loop.Number:
		c.number(v, a.Value)
	case loop.ReadTensor:
		c.tensor(v, a.Value.Buf, a.Sizes, false)
	case loop.WrittenTensor:
		c.tensor(v, a.Buf, a.Sizes, true)
	case loop.List:
		c.list(v, elem, a.List)
	}
	return v
}

// number puts a number that the run knows into v at each call.
func (c *customCall) number(v *rt.EValue, e *expr.Expr) {
	e = expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.OpScalar {
			return c.call.Scalars[e.Buf]
		}
		return e
	})
	value := c.m.scalar(e, nil)
	c.changes[v] = true
	switch {
	case e.DType == ir.Bool:
		v.Kind = rt.Bool
	case e.DType.IsFloat():
		v.Kind = rt.Double
	default:
		v.Kind = rt.Int
	}
	c.enter = append(c.enter, func() error {
		x, err := value()
		v.Int, v.Double, v.Bool = x.I, x.F, x.I != 0
		return err
	})
}

// tensor puts buffer k of the kernel into v at each call.
func (c *customCall) tensor(v *rt.EValue, k int, sizes []sym.Expr, written bool) {
	d := c.call.Kernel.Loop.Bufs[k].DType
	ofMethod := seq.Map(sizes, func(e sym.Expr) sym.Expr { return inCall(c.call, e) })
	most := seq.Map(ofMethod, func(e sym.Expr) int64 { _, hi := e.Bounds(); return hi })
	v.Kind = rt.TensorKind
	if !slices.ContainsFunc(ofMethod, func(e sym.Expr) bool { _, ok := e.Const(); return !ok }) {
		t := must.Get(rt.NewTensor(d, most, nil, nil))
		v.Tensor = t
		x := c.operands.all[k]
		if !written && x.fixed() && native.Root(x.buffer).Storage == native.Weight {
			t.Data = c.operands.bufs[k]
			return
		}
		c.changes[v] = true
		c.enter = append(c.enter, func() error { t.Data = c.operands.bufs[k]; return nil })
		return
	}
	c.changes[v] = true
	t := must.Get(rt.NewBoundedTensor(d, most, nil))
	v.Tensor = t
	now, set := numbers[int64](ofMethod, c.m.index)
	c.enter = append(c.enter, set, func() error {
		err := t.Resize(now)
		if err == nil {
			copy(t.Data, c.operands.bufs[k])
		}
		return err
	})
	if written {
		c.leave = append(c.leave, func() error { copy(c.operands.bufs[k], t.Data); return nil })
	}
}

// listKinds are the kinds of lists by what their elements are in a schema.
var listKinds = map[string]rt.Kind{"Tensor": rt.TensorList, "float": rt.DoubleList,
	"bool": rt.BoolList}

// list puts a list of what a schema calls elem into v.
func (c *customCall) list(v *rt.EValue, elem string, list []loop.Actual) {
	v.Kind = rt.IntList
	if k, ok := listKinds[elem]; ok {
		v.Kind = k
	}
	for at, a := range list {
		x := c.argument(elem, a)
		c.changes[v] = c.changes[v] || c.changes[x]
		switch v.Kind {
		case rt.DoubleList:
			v.Doubles = append(v.Doubles, 0)
			c.enter = append(c.enter, func() error { v.Doubles[at] = x.Double; return nil })
		case rt.BoolList:
			v.Bools = append(v.Bools, false)
			c.enter = append(c.enter, func() error { v.Bools[at] = x.Bool; return nil })
		default:
			if x.Kind == rt.None {
				x = nil
			}
			v.List = append(v.List, x)
		}
	}
}
