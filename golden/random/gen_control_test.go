package random

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// write emits an in-place operator on a tensor, view or not.
func (g *generator) write() error {
	v := g.any(func(v *ir.Value) bool { return !g.shows(v) })
	if v == nil {
		return errNoFit
	}
	if g.chance(2) && v.Type.Rank() > 0 { // a view to write to
		if err := g.viewOf(v); err != nil {
			return err
		}
		if v = g.live[len(g.live)-1]; g.shows(v) {
			return errNoFit
		}
	}
	other := func(d ir.DType) *ir.Value {
		w := g.broadcastable(v, d)
		if !into(w.Type.Sizes, v.Type.Sizes) {
			w = g.weight(d, v.Type.Sizes...)
		}
		return w
	}
	var err error
	d := v.Type.DType
	switch g.r.IntN(8) {
	case 0, 1:
		op := "aten.add_.Tensor"
		if isNumber(v) {
			op = pick(g.r, "aten.add_.Tensor", "aten.mul_.Tensor", "aten.sub_.Tensor")
		}
		err = g.inPlace(op, v, other(d))
	case 2, 3:
		err = g.inPlace("aten.copy_.default", v, other(d))
	case 4:
		err = g.inPlace("aten.fill_.Scalar", v, g.scalar(v))
	case 5:
		if isBool(v) {
			return errNoFit
		}
		err = g.inPlace("aten.relu_.default", v)
	case 6:
		err = g.inPlace("aten.masked_fill_.Scalar", v, other(ir.Bool), g.scalar(v))
	default:
		if isBool(v) {
			err = g.inPlace("aten.zero_.default", v)
		} else {
			err = g.inPlace("aten.mul_.Scalar", v, g.scalar(v))
		}
	}
	if err == nil {
		g.wrote = true
	}
	return err
}

// inPlace emits a call whose result is its first operand.
func (g *generator) inPlace(op string, v *ir.Value, rest ...any) error {
	f, ok := g.b.Table.Functional(op)
	if !ok {
		return errNoFit
	}
	entry, _ := g.b.Table.Lookup(f.Name)
	var args []ir.NamedArg
	for i, x := range append([]any{v}, rest...) {
		a, err := ops.ToArg(x)
		if err != nil {
			return err
		}
		args = append(args, ir.NamedArg{Name: entry.ParsedSchema().Args[i].Name, Value: a})
	}
	c, err := g.b.Table.Bind(&ir.Node{Op: op, Args: args})
	if err != nil {
		return err
	}
	if inferred, err := g.b.Table.Bind(&ir.Node{Op: f.Name, Args: args}); err != nil ||
		inferred.Outs[0].DType != v.Type.DType {
		return errNoFit
	}
	g.keep(g.b.Emit(op, args, c.Outs[0]).Outputs[0])
	return nil
}

// shows reports whether two elements of v may be one place in memory, or v is
// no memory that a program may write to.
func (g *generator) shows(v *ir.Value) bool {
	for i, s := range v.Type.Strides {
		if s.IsZero() && !v.Type.Sizes[i].Is(1) {
			return true
		}
	}
	for u := v; u != nil; { // an unfold or expand on the way; a parameter
		if u.Def == nil {
			return u.Const != nil && u.Name[0] != 'b' || u.Name[0] == 'i'
		}
		if u.Def.Op == "aten.unfold.default" || u.Def.Op == "aten.expand.default" ||
			len(u.Def.Regions) > 0 {
			return len(u.Def.Regions) == 0
		}
		ref, ok := ir.Ref{}, false
		if len(u.Def.Args) > 0 {
			ref, ok = u.Def.Args[0].Value.(ir.Ref)
		}
		if !ok {
			return false
		}
		u = ref.Value
	}
	return false
}

// into reports whether from broadcasts to the sizes to.
func into(from, to []sym.Expr) bool {
	if len(from) > len(to) {
		return false
	}
	for i := 1; i <= len(from); i++ {
		if x := from[len(from)-i]; !x.Is(1) && !x.Equal(to[len(to)-i]) {
			return false
		}
	}
	return true
}

// control emits a node with regions.
func (g *generator) control() error {
	if g.depth >= maxDepth {
		return errNoFit
	}
	switch g.r.IntN(3) {
	case 0:
		return g.cond()
	case 1:
		return g.while()
	}
	return g.scan()
}

// region builds a region; f has its inputs usable.
func (g *generator) region(types []ir.Type,
	f func(inputs []*ir.Value) []ir.Arg) (*ir.Graph, error) {
	outer, live := g.b, g.live
	g.live = slices.Clone(live)
	g.depth++
	defer func() { g.b, g.live = outer, live; g.depth-- }()
	var inputs []*ir.Value
	for _, t := range types {
		inputs = append(inputs, &ir.Value{Name: g.names.Fresh("r"), Type: t})
	}
	g.keep(inputs...)
	return outer.Region(inputs, func(e *ir.Emitter) ([]ir.Arg, error) {
		g.b = ops.NewBuilder(outer.Table, e)
		return f(inputs), nil
	})
}

// made returns a value of type t: one that is there, or one computed.
func (g *generator) made(t ir.Type) *ir.Value {
	v := g.any(func(v *ir.Value) bool { return sameType(v.Type, t) })
	if v == nil {
		return g.weight(t.DType, t.Sizes...)
	}
	return v
}

func refs(vs ...*ir.Value) ir.List {
	list := make(ir.List, len(vs))
	for i, v := range vs {
		list[i] = ir.Ref{Value: v}
	}
	return list
}

func dense(v *ir.Value) ir.Type { return v.Type.Dense() }

// predicate returns a bool of no dimensions.
func (g *generator) predicate() (*ir.Value, error) {
	if v := g.any(func(v *ir.Value) bool { return isBool(v) && v.Type.Rank() == 0 }); v != nil &&
		g.chance(2) {
		return v, nil
	}
	v := g.any(isTensor)
	if v == nil || g.chance(3) {
		return g.weight(ir.Bool), nil
	}
	vs, err := g.b.Call("aten.any.default", v)
	if err != nil {
		return nil, err
	}
	if g.chance(2) {
		vs, err = g.b.Call("aten.logical_not.default", vs[0])
	}
	return vs[0], err
}

func (g *generator) cond() error {
	pred, err := g.predicate()
	if err != nil {
		return err
	}
	var operands []*ir.Value
	for range g.r.IntN(3) {
		if v := g.any(isTensor); v != nil {
			operands = append(operands, v)
		}
	}
	var types []ir.Type
	for range 1 + g.r.IntN(2) {
		v := g.any(isTensor)
		if v == nil {
			return errNoFit
		}
		types = append(types, dense(v))
	}
	// A branch has its operands themselves, so their strides too: its views are
	// recorded with these, as torch.export records them.
	var inputs []ir.Type
	for _, v := range operands {
		inputs = append(inputs, v.Type)
	}
	arm := func([]*ir.Value) []ir.Arg {
		for range g.r.IntN(4) {
			g.step()
		}
		var out []ir.Arg
		for _, t := range types {
			out = append(out, ir.Ref{Value: g.made(t)})
		}
		return out
	}
	then, err := g.region(inputs, arm)
	if err != nil {
		return err
	}
	otherwise, err := g.region(inputs, arm)
	if err != nil {
		return err
	}
	n := g.b.Emit("higher_order.cond", []ir.NamedArg{{Value: ir.Ref{Value: pred}},
		{Value: refs(operands...)}}, types...)
	n.Regions = []*ir.Graph{then, otherwise}
	g.keep(n.Outputs...)
	return nil
}

// while emits a loop that counts to a small number.
func (g *generator) while() error {
	count := g.data("idx3", ir.Int64, nil)
	carried := []*ir.Value{count}
	for range 1 + g.r.IntN(3) {
		v := g.any(isTensor)
		if v == nil {
			return errNoFit
		}
		carried = append(carried, v)
		if w := g.any(func(w *ir.Value) bool { return w != v && sameType(w.Type, v.Type) }); w !=
			nil && g.chance(2) {
			carried = append(carried, w) // something to change places with
		}
	}
	var extra []*ir.Value
	if v := g.any(isTensor); v != nil && g.chance(3) {
		extra = append(extra, v)
	}
	var types, inputs []ir.Type
	for _, v := range carried {
		types = append(types, dense(v))
	}
	inputs = slices.Clone(types)
	for _, v := range extra {
		inputs = append(inputs, dense(v))
	}
	var failed error
	limit := 1 + g.r.IntN(4)
	head, err := g.region(inputs, func(in []*ir.Value) []ir.Arg {
		vs, err := g.b.Call("aten.lt.Scalar", in[0], limit)
		if err != nil {
			failed = err
			return nil
		}
		return []ir.Arg{ir.Ref{Value: vs[0]}}
	})
	if err != nil || failed != nil {
		return errNoFit
	}
	body, err := g.region(inputs, func(in []*ir.Value) []ir.Arg {
		for range g.r.IntN(4) {
			g.step()
		}
		vs, err := g.b.Call("aten.add.Scalar", in[0], 1)
		if err != nil {
			failed = err
			return nil
		}
		out := []ir.Arg{ir.Ref{Value: vs[0]}}
		for _, t := range types[1:] {
			out = append(out, ir.Ref{Value: g.made(t)})
		}
		return out
	})
	if err != nil || failed != nil {
		return errNoFit
	}
	n := g.b.Emit("higher_order.while_loop", []ir.NamedArg{{Value: refs(carried...)},
		{Value: refs(extra...)}}, types...)
	n.Regions = []*ir.Graph{head, body}
	g.keep(n.Outputs...)
	return nil
}

// scan emits a walk over the first dimension of tensors.
func (g *generator) scan() error {
	x := g.any(func(v *ir.Value) bool { return v.Type.Rank() > 0 && !v.Type.Sizes[0].IsZero() })
	if x == nil {
		return errNoFit
	}
	steps := x.Type.Sizes[0]
	xs := []*ir.Value{x}
	if y := g.any(func(v *ir.Value) bool {
		return v.Type.Rank() > 0 && v.Type.Sizes[0].Equal(steps)
	}); y != nil && g.chance(2) {
		xs = append(xs, y)
	}
	var init []*ir.Value
	for range g.r.IntN(3) {
		if v := g.any(isTensor); v != nil {
			init = append(init, v)
		}
	}
	row := func(v *ir.Value) ir.Type { return ir.TensorOf(v.Type.DType, v.Type.Sizes[1:]...) }
	var types, inputs []ir.Type
	for _, v := range init {
		types = append(types, dense(v))
	}
	inputs = slices.Clone(types)
	for _, v := range xs {
		inputs = append(inputs, row(v))
	}
	body, err := g.region(inputs, func(in []*ir.Value) []ir.Arg {
		for range 1 + g.r.IntN(3) {
			g.step()
		}
		var out []ir.Arg
		for _, t := range types {
			out = append(out, ir.Ref{Value: g.made(t)})
		}
		for range 1 + g.r.IntN(2) {
			y := g.any(func(v *ir.Value) bool {
				return fits(append([]sym.Expr{steps}, v.Type.Sizes...))
			})
			if y == nil {
				y = in[len(in)-1]
			}
			out = append(out, ir.Ref{Value: y})
			types = append(types, ir.TensorOf(y.Type.DType, append([]sym.Expr{steps},
				y.Type.Sizes...)...))
		}
		return out
	})
	if err != nil {
		return err
	}
	args := []ir.NamedArg{{Name: "init", Value: refs(init...)}, {Name: "xs", Value: refs(xs...)}}
	if g.chance(2) {
		args = append(args, ir.NamedArg{Name: "reverse", Value: ir.BoolArg(true)})
	}
	n := g.b.Emit("higher_order.scan", args, types...)
	n.Regions = []*ir.Graph{body}
	g.keep(n.Outputs...)
	return nil
}
