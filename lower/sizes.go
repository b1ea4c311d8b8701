package lower

import (
	"errors"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Sizes makes nodes of integers that the compiler knows as expressions:
// aten.sym_size.int of a tensor with that size, and arithmetic by
// executorch_prim operators. Each integer is computed once where it is needed
// first; constants become literals. What the types promise of the sizes of
// inputs is asserted at the beginning. Arithmetic on numbers that are known only
// at run time is renamed to the same operators.
var Sizes = Pass{
	Name: "sizes",
	Doc:  "compute integer arguments by nodes, from the sizes of tensors",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		s := &sizer{table: ctx.Table, names: ir.NewNames(m), method: m}
		s.graph(m.Graph, nil)
		return errors.Join(s.errs...)
	}),
}

type sizer struct {
	table *ops.Table
	names *ir.Names
	nodes *[]*ir.Node // of the graph under construction
	scope *sizeScope
	loc   ir.Location
	errs  []error

	method *ir.Method
}

// sizeScope holds the integers at hand in a graph: values by their
// expressions, and dimensions of tensors that have such sizes.
type sizeScope struct {
	outer  *sizeScope
	values map[string]*ir.Value
	dims   map[string]dimOf
	order  []dimOf // those of dims, as they came
}

type dimOf struct {
	tensor *ir.Value
	dim    int
}

// add makes v known.
func (sc *sizeScope) add(v *ir.Value) {
	switch {
	case v == nil:
	case v.Type.Kind == ir.TensorKind:
		for d, e := range v.Type.Sizes {
			if _, ok := e.Const(); ok {
				continue
			}
			if _, ok := sc.dim(e.Key()); !ok {
				sc.dims[e.Key()] = dimOf{v, d}
				sc.order = append(sc.order, dimOf{v, d})
			}
		}
	case v.Type.Kind == ir.IntKind && v.Type.HasExpr:
		if _, ok := v.Type.Expr.Const(); !ok && sc.value(v.Type.Expr.Key()) == nil {
			sc.values[v.Type.Expr.Key()] = v
		}
	}
}

func (sc *sizeScope) value(key string) *ir.Value {
	for ; sc != nil; sc = sc.outer {
		if v := sc.values[key]; v != nil {
			return v
		}
	}
	return nil
}

func (sc *sizeScope) dim(key string) (dimOf, bool) {
	for ; sc != nil; sc = sc.outer {
		if d, ok := sc.dims[key]; ok {
			return d, true
		}
	}
	return dimOf{}, false
}

func (s *sizer) graph(g *ir.Graph, outer *sizeScope) {
	nodes, scope := s.nodes, s.scope
	s.nodes, s.scope = &[]*ir.Node{}, &sizeScope{outer: outer, values: map[string]*ir.Value{},
		dims: map[string]dimOf{}}
	for _, v := range g.Inputs {
		s.scope.add(v)
	}
	if outer == nil {
		if err := s.entry(s.method); err != nil {
			s.errs = append(s.errs, err)
		}
	}
	for _, n := range g.Nodes {
		s.loc = n.Loc
		if s.known(n) {
			continue // whoever uses it asks for its expression
		}
		s.node(n)
	}
	for i, a := range g.Outputs {
		g.Outputs[i] = s.arg(nil, a)
	}
	g.Nodes = *s.nodes
	s.nodes, s.scope = nodes, scope
}

// known reports whether n does nothing but give an integer that follows from
// sizes.
func (s *sizer) known(n *ir.Node) bool {
	v := n.Output(0)
	if len(n.Outputs) != 1 || v == nil || v.Type.Kind != ir.IntKind || !v.Type.HasExpr ||
		len(n.Regions) > 0 {
		return false
	}
	op, ok := s.table.Lookup(n.Op)
	if !ok || op.Value == nil {
		return false
	}
	c, err := s.table.Bind(n)
	return err == nil && len(c.Scalars()) == 0
}

func (s *sizer) node(n *ir.Node) {
	for i := range n.Args {
		n.Args[i].Value = s.arg(n, n.Args[i].Value)
	}
	for _, r := range n.Regions {
		s.graph(r, s.scope)
	}
	if err := s.prim(n); err != nil {
		s.errs = append(s.errs, ir.ErrorAt("", n, err))
	}
	*s.nodes = append(*s.nodes, n)
	for _, v := range n.Outputs {
		s.scope.add(v)
	}
}

// arg replaces the integers in an argument of n by values at hand or literals.
func (s *sizer) arg(n *ir.Node, a ir.Arg) ir.Arg {
	return ir.MapRefs(a, func(v *ir.Value) ir.Arg {
		if v.Type.Kind != ir.IntKind || !v.Type.HasExpr {
			return ir.Ref{Value: v}
		}
		out, err := s.integer(v.Type.Expr)
		if err != nil {
			if n != nil {
				err = ir.ErrorAt("", n, err)
			}
			s.errs = append(s.errs, err)
			return ir.Ref{Value: v}
		}
		return out
	})
}

// integer returns an argument whose value is e.
func (s *sizer) integer(e sym.Expr) (ir.Arg, error) {
	if n, ok := e.Const(); ok {
		return ir.Int(n), nil
	}
	key := e.Key()
	if v := s.scope.value(key); v != nil {
		return ir.Ref{Value: v}, nil
	}
	if d, ok := s.scope.dim(key); ok {
		return s.emit("aten.sym_size.int", e, ir.NamedArg{Name: "self",
			Value: ir.Ref{Value: d.tensor}}, ir.NamedArg{Name: "dim", Value: ir.Int(d.dim)}), nil
	}
	return s.sum(e)
}

// emit appends a node whose result is e.
func (s *sizer) emit(op string, e sym.Expr, args ...ir.NamedArg) ir.Arg {
	n := &ir.Node{Name: s.names.Fresh(ir.OpBase(op)), Op: op, Args: args, Loc: s.loc}
	v := &ir.Value{Name: n.Name, Type: ir.SymInt(e), Def: n}
	n.Outputs = []*ir.Value{v}
	*s.nodes = append(*s.nodes, n)
	s.scope.add(v)
	return ir.Ref{Value: v}
}

// binary returns a op b, which is e.
func (s *sizer) binary(op string, e sym.Expr, a, b ir.Arg) ir.Arg {
	if n, ok := e.Const(); ok {
		return ir.Int(n)
	}
	if v := s.scope.value(e.Key()); v != nil {
		return ir.Ref{Value: v}
	}
	return s.emit("executorch_prim."+op+".Scalar", e, ir.NamedArg{Name: "a", Value: a},
		ir.NamedArg{Name: "b", Value: b})
}
