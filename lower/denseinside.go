package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// toDimOrderOp copies a tensor to another dtype or another order of its
// elements in memory.
const toDimOrderOp = "dim_order_ops._to_dim_order_copy.default"

// DenseInside is Dense but for user inputs in channels-last order: these keep
// it and are copied to row-major first, and what is written back to them is
// copied to their order last.
var DenseInside = Pass{
	Name: "dense-inside",
	Doc:  "resolve strides; channels-last inputs are copied to row-major order",
	Run: func(ctx *Context, p *ir.Program) error {
		kept := make([]map[*ir.Value]ir.Type, len(p.Methods))
		for i, m := range p.Methods {
			kept[i] = copyChannelsLast(m)
		}
		if err := Dense.Run(ctx, p); err != nil {
			return err
		}
		for i, m := range p.Methods {
			restoreOrder(m, kept[i])
		}
		return nil
	},
}

// dimOrder returns the dimensions of t from the outermost in memory to the
// innermost: row-major, or channels-last where t lies so.
func dimOrder(t ir.Type) (order []int, channelsLast bool) {
	if !t.IsContiguous() {
		if order, ok := storageOrder(t); ok && (slices.Equal(order, []int{0, 2, 3, 1}) ||
			slices.Equal(order, []int{0, 2, 3, 4, 1})) {
			return order, true
		}
	}
	order = make([]int, t.Rank())
	for d := range order {
		order[d] = d
	}
	return order, false
}

// toOrder returns a node that copies x to type t in its order.
func toOrder(names *ir.Names, x *ir.Value, t ir.Type) *ir.Node {
	order, _ := dimOrder(t)
	dims := make(ir.List, len(order))
	for i, d := range order {
		dims[i] = ir.Int(d)
	}
	n := &ir.Node{Name: names.Fresh("to_dim_order"), Op: toDimOrderOp, Args: []ir.NamedArg{
		{Name: "self", Value: ir.Ref{Value: x}},
		{Name: "dtype", Value: ir.DTypeArg(t.DType)},
		{Name: "non_blocking", Value: ir.BoolArg(false)},
		{Name: "dim_order", Value: dims},
	}}
	n.Outputs = []*ir.Value{{Name: n.Name, Type: t, Def: n}}
	return n
}

// copyChannelsLast gives the graph row-major copies of its inputs in
// channels-last order. It returns the types these have.
func copyChannelsLast(m *ir.Method) map[*ir.Value]ir.Type {
	kept, copies := map[*ir.Value]ir.Type{}, map[*ir.Value]*ir.Value{}
	names := ir.NewNames(m)
	var nodes []*ir.Node
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput || v.Type.Kind != ir.TensorKind {
			continue
		}
		if _, last := dimOrder(v.Type); !last {
			continue
		}
		n := toOrder(names, v, v.Type.Dense())
		kept[v], copies[v] = v.Type, n.Outputs[0]
		kept[v] = withoutOffset(v.Type)
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil
	}
	swap := func(v *ir.Value) ir.Arg {
		if w := copies[v]; w != nil {
			v = w
		}
		return ir.Ref{Value: v}
	}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for i := range n.Args {
				n.Args[i].Value = ir.MapRefs(n.Args[i].Value, swap)
			}
		}
		for i := range g.Outputs {
			g.Outputs[i] = ir.MapRefs(g.Outputs[i], swap)
		}
	})
	m.Graph.Nodes = append(nodes, m.Graph.Nodes...)
	return kept
}

func withoutOffset(t ir.Type) ir.Type {
	t.Offset = sym.Expr{}
	return t
}

// restoreOrder gives inputs their types back, and what is written to them
// their order.
func restoreOrder(m *ir.Method, kept map[*ir.Value]ir.Type) {
	byName := map[string]*ir.Value{}
	for _, v := range m.Graph.Inputs {
		if t, ok := kept[v]; ok {
			v.Type = t
			byName[v.Name] = v
		}
	}
	names := ir.NewNames(m)
	for i, spec := range m.Outputs {
		in := byName[spec.Target]
		ref, ok := m.Graph.Outputs[i].(ir.Ref)
		if spec.Kind != ir.UserInputMutation || in == nil || !ok {
			continue
		}
		n := toOrder(names, ref.Value, in.Type)
		m.Graph.Nodes = append(m.Graph.Nodes, n)
		m.Graph.Outputs[i] = ir.Ref{Value: n.Outputs[0]}
	}
}
