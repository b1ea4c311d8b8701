package ir

import (
	"slices"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Clone returns a deep copy of p. Symbols and the data of constants, which
// nobody changes, are shared, and so are delegates; constants that were one stay one.
func Clone(p *Program) *Program {
	c := &cloner{constants: map[*Constant]*Constant{}}
	out := &Program{Source: p.Source, Dialect: p.Dialect, SeparateState: p.SeparateState,
		Custom: slices.Clone(p.Custom), Delegates: slices.Clone(p.Delegates),
		Warnings: slices.Clone(p.Warnings)}
	for _, m := range p.Methods {
		out.Methods = append(out.Methods, c.method(m))
	}
	return out
}

type cloner struct {
	values    map[*Value]*Value // of the method
	constants map[*Constant]*Constant
}

func (c *cloner) method(m *Method) *Method {
	c.values = map[*Value]*Value{}
	out := &Method{
		Name:    m.Name,
		Source:  m.Source,
		Inputs:  slices.Clone(m.Inputs),
		Outputs: slices.Clone(m.Outputs),
		Symbols: slices.Clone(m.Symbols),
		In:      m.In.clone(),
		Out:     m.Out.clone(),
	}
	out.Graph = c.graph(m.Graph)
	for i, s := range out.Inputs {
		out.Inputs[i].Fixed = MapRefs(s.Fixed, c.ref)
	}
	return out
}

func (t *Tree) clone() *Tree {
	if t == nil {
		return nil
	}
	out := &Tree{Type: t.Type, Keys: slices.Clone(t.Keys)}
	for _, child := range t.Children {
		out.Children = append(out.Children, child.clone())
	}
	return out
}

func (c *cloner) graph(g *Graph) *Graph {
	out := &Graph{}
	for _, v := range g.Inputs {
		out.Inputs = append(out.Inputs, c.value(v))
	}
	for _, v := range g.Constants {
		out.Constants = append(out.Constants, c.value(v))
	}
	for _, n := range g.Nodes {
		out.Nodes = append(out.Nodes, c.node(n))
	}
	for _, a := range g.Outputs {
		out.Outputs = append(out.Outputs, MapRefs(a, c.ref))
	}
	return out
}

func (c *cloner) node(n *Node) *Node {
	out := &Node{Name: n.Name, Op: n.Op, Loc: n.Loc}
	for _, a := range n.Args {
		out.Args = append(out.Args, NamedArg{a.Name, MapRefs(a.Value, c.ref)})
	}
	for _, r := range n.Regions {
		out.Regions = append(out.Regions, c.graph(r))
	}
	for _, v := range n.Outputs {
		w := c.value(v)
		if w != nil {
			w.Def = out
		}
		out.Outputs = append(out.Outputs, w)
	}
	return out
}

// ref maps a use. A use of what has no definition here, which Verify would
// report, stays as it is.
func (c *cloner) ref(v *Value) Arg {
	if w, ok := c.values[v]; ok {
		return Ref{w}
	}
	return Ref{v}
}

// value copies a value at its definition.
func (c *cloner) value(v *Value) *Value {
	if v == nil {
		return nil
	}
	w := *v
	w.Type = v.Type.clone()
	if v.Const != nil {
		k, ok := c.constants[v.Const]
		if !ok {
			k = &Constant{Name: v.Const.Name, Type: v.Const.Type.clone(), Data: v.Const.Data}
			c.constants[v.Const] = k
		}
		w.Const = k
	}
	c.values[v] = &w
	return &w
}

func (t Type) clone() Type {
	t.Sizes = slices.Clone[[]sym.Expr](t.Sizes)
	t.Strides = slices.Clone[[]sym.Expr](t.Strides)
	return t
}

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
		return seq.Map(es, f)
	}
	if t.Kind == TensorKind {
		t.Sizes, t.Strides, t.Offset = list(t.Sizes), list(t.Strides), f(t.Offset)
	}
	if t.HasExpr {
		t.Expr = f(t.Expr)
	}
	return t
}
