package ir

import "github.com/etgen/etgen/ir/sym"

// MapSizes replaces every size, stride, offset and known number of the method's values
// by what f makes of it. Types may share lists of sizes: f is applied to its own
// results too and must leave them as they are.
func (m *Method) MapSizes(f func(sym.Expr) sym.Expr) {
	typ := func(t *Type) {
		t.Offset, t.Expr = f(t.Offset), f(t.Expr)
		for i := range t.Sizes {
			t.Sizes[i] = f(t.Sizes[i])
		}
		for i := range t.Strides {
			t.Strides[i] = f(t.Strides[i])
		}
	}
	m.Graph.Walk(func(g *Graph) {
		for _, v := range g.Inputs {
			typ(&v.Type)
		}
		for _, n := range g.Nodes {
			for _, v := range n.Outputs {
				if v != nil {
					typ(&v.Type)
				}
			}
		}
	})
}

// MapSizes returns t with every size, stride, offset and known number replaced by
// what f makes of it. It shares no list with t.
func (t Type) MapSizes(f func(sym.Expr) sym.Expr) Type {
	list := func(es []sym.Expr) []sym.Expr {
		out := make([]sym.Expr, len(es))
		for i, e := range es {
			out[i] = f(e)
		}
		return out
	}
	if t.Kind == TensorKind {
		t.Sizes, t.Strides, t.Offset = list(t.Sizes), list(t.Strides), f(t.Offset)
	}
	if t.HasExpr {
		t.Expr = f(t.Expr)
	}
	return t
}
