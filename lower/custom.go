package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
)

// UnwrapFunctionalized replaces auto_functionalized and auto_functionalized_v2, in which
// run_decompositions wraps operators that write to their arguments, by the functional forms of the
// operators.
var UnwrapFunctionalized = Pass{
	Name: "unwrap-functionalized",
	Doc:  "call custom operators that write to arguments by their functional forms",
	Run: perNode(func(ctx *Context, _ *ir.Program, _ *ir.Method) visitor {
		return func(b *ops.Builder, n *ir.Node) []*ir.Value {
			switch n.Op {
			case ops.AutoFunctionalized, ops.AutoFunctionalizedV2:
				return unwrapFunctionalized(b, n)
			}
			return nil
		}
	}),
}

func unwrapFunctionalized(b *ops.Builder, n *ir.Node) []*ir.Value {
	op, ok := b.Table.Lookup(wrappedOperator(n))
	if !ok || op.Custom == nil {
		return nil // Decompose names it
	}
	w := &wrapped{b: b, n: n, given: map[string]ir.Arg{}}
	for _, a := range n.Args {
		w.given[a.Name] = a.Value
	}
	var args []ir.NamedArg
	var made []ir.Type // of what the operator writes to
	schema := op.ParsedSchema()
	for _, p := range schema.Args {
		a, ok := w.given[p.Name]
		if p.Type.Mutates() {
			v := w.target(p.Name)
			w.targets, made = append(w.targets, v), append(made, v.value.Type.Dense())
			a, ok = ir.Ref{Value: v.value}, true
		}
		if ok {
			args = append(args, ir.NamedArg{Name: p.Name, Value: a})
		}
	}
	returns := len(schema.Returns)
	types := make([]ir.Type, 0, returns+len(made))
	for i := range returns {
		v := n.Output(i)
		if v == nil {
			must.Fail("the file says nothing of result %d of %s", i, op.Name())
		}
		types = append(types, v.Type)
	}
	results := b.Emit(ops.FunctionalForm(op.Name()), args, append(types, made...)...).Outputs
	out := append([]*ir.Value{}, results[:returns]...)
	if returns == 0 && len(n.Outputs) == 1+len(w.targets) {
		out = append(out, nil) // None stands for no result
	}
	if n.Op == ops.AutoFunctionalized {
		return append(out, results[returns:]...)
	}
	for i := range w.bases() {
		now := w.base(i)
		for k, t := range w.targets {
			if t.base == i {
				now = t.put(b, now, results[returns+k])
			}
		}
		out = append(out, now)
	}
	return out
}

// wrappedOperator is the name of the operator that n wraps.
func wrappedOperator(n *ir.Node) string {
	for _, a := range n.Args {
		if op, ok := a.Value.(ir.OpArg); ok {
			return string(op)
		}
	}
	return ""
}

// wrapped is a call of an operator in a wrapper.
type wrapped struct {
	b       *ops.Builder
	n       *ir.Node
	given   map[string]ir.Arg
	targets []target
}

// target is an argument that an operator writes to: a tensor among _all_bases, or a view of one.
type target struct {
	base  int
	value *ir.Value
	put   func(b *ops.Builder, base, v *ir.Value) *ir.Value // base, with v in place of the view
}

func (w *wrapped) bases() ir.List {
	list, _ := w.given[ops.AllBases].(ir.List)
	return list
}

// base is tensor i of _all_bases.
func (w *wrapped) base(i int) *ir.Value {
	if list := w.bases(); i >= 0 && i < len(list) {
		if ref, ok := list[i].(ir.Ref); ok && ref.Value.Type.Kind == ir.TensorKind {
			return ref.Value
		}
	}
	must.Fail("%s has no tensor %d", ops.AllBases, i)
	return nil
}

// target returns what the operator writes to as argument name.
func (w *wrapped) target(name string) target {
	whole := func(_ *ops.Builder, _, v *ir.Value) *ir.Value { return v }
	if w.n.Op == ops.AutoFunctionalized {
		ref, ok := w.given[name].(ir.Ref)
		if !ok {
			must.Fail("argument %s, which it writes to, is no tensor", name)
		}
		return target{-1, ref.Value, whole}
	}
	index, ok := w.given["_"+name+ops.BaseIndex].(ir.Int)
	if !ok {
		must.Fail("argument %s, which it writes to, has no %s", name, ops.BaseIndex)
	}
	t := target{int(index), w.base(int(index)), whole}
	for _, other := range w.targets {
		if other.base == t.base {
			must.Fail("two arguments that it writes to share memory; give it a copy of one")
		}
	}
	view := func(part string) ir.Arg { return w.given["_"+name+"_"+part] }
	var op, scatter string
	var how []any
	switch {
	case view("slice_dim") != nil:
		op, scatter = "aten.slice.Tensor", "aten.slice_scatter.default"
		how = []any{view("slice_dim"), view("slice_start"), view("slice_end")}
	case view("size") != nil:
		op, scatter = "aten.as_strided.default", "aten.as_strided_scatter.default"
		how = []any{view("size"), view("stride"), view("storage_offset")}
	default:
		return t
	}
	t.value = w.b.Op(op, append([]any{t.value}, how...)...)
	t.put = func(b *ops.Builder, base, v *ir.Value) *ir.Value {
		return b.Op(scatter, append([]any{base, v}, how...)...)
	}
	return t
}

// callCustomOut emits the call of a custom operator's kernel as ExecuTorch has it: results go to
// further arguments, and an argument that is written to is a copy of what it was.
func callCustomOut(b *ops.Builder, c *ops.Call) []*ir.Value {
	kernel := c.Op.Custom
	form := ops.OutForm(kernel)
	var args []ir.NamedArg
	var copies, outs []*ir.Value
	for i, p := range kernel.Args {
		a := c.Args[i]
		if p.Type.Mutates() {
			v := a.(ir.Ref).Value
			to := b.Emit(allocOp, nil, v.Type).Outputs[0]
			now := b.Emit("aten.clone.out", []ir.NamedArg{{Name: "self", Value: a},
				{Name: "memory_format", Value: ir.None{}}, {Name: "out", Value: ir.Ref{Value: to}}},
				v.Type).Outputs[0]
			copies, a = append(copies, now), ir.Ref{Value: now}
		}
		args = append(args, ir.NamedArg{Name: p.Name, Value: a})
	}
	var types []ir.Type
	for i := range kernel.Returns {
		t := c.Outs[i]
		types, outs = append(types, t), append(outs, b.Emit(allocOp, nil, t).Outputs[0])
		args = append(args, ir.NamedArg{Name: form.Args[len(kernel.Args)+i].Name,
			Value: ir.Ref{Value: outs[i]}})
	}
	results := b.Emit(form.Name, args, types...).Outputs
	return append(append([]*ir.Value{}, results...), copies...)
}
