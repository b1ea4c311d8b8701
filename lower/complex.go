package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
)

// RealParts leaves no complex numbers in a program. Where they cross the border of a method or
// a region they are real tensors whose last dimension has the two parts, which is how they lie
// in memory: callers and files need not change.
var RealParts = Pass{
	Name: "real-parts",
	Doc:  "say operators on complex numbers in operators on their real and imaginary parts",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		if !hasComplex(ctx.Table, m.Graph) {
			return
		}
		r := &realParts{names: ir.NewNames(m), numbers: map[*ir.Value]ir.Arg{}}
		r.graph(m.Graph)
		untilSame(ctx.Table, m, func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			if n.Op == "aten._assert_tensor_metadata.default" && isComplex(c.Operands()[0]) {
				return gone // the call is bound: the dtype is right
			}
			if repl := must.Get(b.RealParts(c)); repl != nil {
				return replacing(n, c, repl)
			}
			return nil
		})
		dropDead(ctx.Table, m)
		must.Check(faults(m, func(n *ir.Node) {
			if n.Op == ops.ComplexOp || slices.Contains(r.made, n) {
				return // what is made of it tells
			}
			if _, ok := ctx.Table.Lookup(n.Op); ok {
				must.Get(ctx.Table.Bind(n))
			}
			for _, a := range n.Args {
				ir.EachRef(a.Value, func(v *ir.Value) {
					if isComplex(v) {
						must.Fail("not defined on %s", v.Type.DType)
					}
				})
			}
			if i := slices.IndexFunc(n.Outputs, isComplex); i >= 0 {
				must.Fail("not defined on %s", n.Outputs[i].Type.DType)
			}
		}))
	}),
}

func isComplex(v *ir.Value) bool {
	return v != nil && v.Type.Kind == ir.TensorKind && v.Type.DType.IsComplex()
}

// hasComplex reports whether a value of g or of a region in it is complex, or becomes so.
func hasComplex(t *ops.Table, g *ir.Graph) (found bool) {
	g.Walk(func(g *ir.Graph) {
		found = found || slices.ContainsFunc(g.Inputs, isComplex) ||
			slices.ContainsFunc(g.Constants, isComplex)
		for _, n := range g.Nodes {
			op, ok := t.Lookup(n.Op)
			found = found || slices.ContainsFunc(n.Outputs, isComplex) || ok && op.Complex()
		}
	})
	return found
}

// realParts makes what crosses borders real.
type realParts struct {
	names   *ir.Names
	numbers map[*ir.Value]ir.Arg // the complex numbers of a value that has become real
	nodes   []*ir.Node           // of the graph under way
	made    []*ir.Node           // at borders
}

func (r *realParts) lookup(v *ir.Value) ir.Arg {
	if a, ok := r.numbers[v]; ok {
		return a
	}
	return ir.Ref{Value: v}
}

func (r *realParts) graph(g *ir.Graph) {
	outer := r.nodes
	r.nodes = nil
	for _, vs := range [][]*ir.Value{g.Inputs, g.Constants} {
		for _, v := range vs {
			r.arrives(v)
		}
	}
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i].Value = ir.MapRefs(n.Args[i].Value, r.lookup)
			if len(n.Regions) > 0 {
				n.Args[i].Value = ir.MapRefs(n.Args[i].Value, r.leaves)
			}
		}
		for _, region := range n.Regions {
			r.graph(region)
		}
		r.nodes = append(r.nodes, n)
		if len(n.Regions) > 0 {
			for _, v := range n.Outputs {
				r.arrives(v)
			}
		}
	}
	for i, a := range g.Outputs {
		g.Outputs[i] = ir.MapRefs(ir.MapRefs(a, r.lookup), r.leaves)
	}
	g.Nodes, r.nodes = r.nodes, outer
}

// arrives makes v, if it is complex, real, and complex numbers of it.
func (r *realParts) arrives(v *ir.Value) {
	if !isComplex(v) {
		return
	}
	numbers := v.Type
	v.Type = numbers.RealParts()
	if v.Const != nil && v.Const.Type.DType.IsComplex() {
		v.Const.Type = v.Const.Type.RealParts()
	}
	n := newNode(r.names, v.Name, "aten.view_as_complex.default", numbers,
		ir.NamedArg{Name: "self", Value: ir.Ref{Value: v}})
	r.nodes, r.made = append(r.nodes, n), append(r.made, n)
	r.numbers[v] = ir.Ref{Value: n.Outputs[0]}
}

// leaves returns what stands for v outside: the pairs of complex numbers.
func (r *realParts) leaves(v *ir.Value) ir.Arg {
	if !isComplex(v) {
		return ir.Ref{Value: v}
	}
	n := newNode(r.names, v.Name, "aten.view_as_real.default", v.Type.Dense().RealParts(),
		ir.NamedArg{Name: "self", Value: ir.Ref{Value: v}})
	r.nodes, r.made = append(r.nodes, n), append(r.made, n)
	return ir.Ref{Value: n.Outputs[0]}
}
