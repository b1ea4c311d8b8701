package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// DefineSizes has a program hold what its types say of sizes and numbers that data
// decides. The first that has the symbol u0 gives the symbol its value. Whatever
// else is recorded, u0 of another node, a number, or the size of an input, is
// asserted: the data of a call may decide otherwise, and everything behind is
// compiled for what is recorded.
var DefineSizes = Pass{
	Name: "define-sizes",
	Doc:  "assert that sizes which data decides are those that the types say",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		d := &sizeDefiner{table: ctx.Table, asserted: map[*ir.Value]bool{}}
		d.graph(m.Graph, &seenSymbols{})
		return (&ir.Rewriter{Visit: d.visit}).Run(m)
	}),
}

// sizeDefiner finds the results of which something is to be asserted.
type sizeDefiner struct {
	table    *ops.Table
	asserted map[*ir.Value]bool
}

// seenSymbols are the symbols that have a value in a graph.
type seenSymbols struct {
	outer *seenSymbols
	here  map[*sym.Symbol]bool
}

func (s *seenSymbols) has(x *sym.Symbol) bool {
	for ; s != nil; s = s.outer {
		if s.here[x] {
			return true
		}
	}
	return false
}

// see notes the symbols of a type.
func (s *seenSymbols) see(t ir.Type) {
	for _, x := range typeSymbols(t) {
		s.here[x] = true
	}
}

// typeSymbols returns the symbols that a type mentions.
func typeSymbols(t ir.Type) (all []*sym.Symbol) {
	for _, es := range [][]sym.Expr{t.Sizes, t.Strides, {t.Offset, t.Expr}} {
		for _, e := range es {
			all = append(all, e.Symbols()...)
		}
	}
	return all
}

func (d *sizeDefiner) graph(g *ir.Graph, outer *seenSymbols) {
	seen := &seenSymbols{outer: outer, here: map[*sym.Symbol]bool{}}
	for _, v := range g.Inputs {
		seen.see(v.Type)
	}
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			d.graph(r, seen)
		}
		for _, e := range decided(d.table, n) {
			if defines := ops.DataDecides(e.size) && !seen.has(e.size.Symbols()[0]); !defines {
				d.asserted[e.of] = true
			}
		}
		for _, v := range n.Outputs {
			if v != nil {
				seen.see(v.Type)
			}
		}
	}
}

// decidedSize is a number that only the run knows: the result itself, if it is a
// number, or the size of one of its dimensions.
type decidedSize struct {
	of   *ir.Value
	dim  int
	size sym.Expr // what its type says
}

// decided returns the numbers that data decides in the results of n, as far as
// their types say anything of them. Those of one node are one.
func decided(t *ops.Table, n *ir.Node) []decidedSize {
	c, err := t.Bind(n)
	if err != nil {
		return nil
	}
	for _, at := range c.Counts() {
		if v := n.Output(at.Result); v != nil && at.Dim < v.Type.Rank() {
			return []decidedSize{{v, at.Dim, v.Type.Sizes[at.Dim]}}
		}
	}
	v := n.Output(0)
	if len(n.Outputs) != 1 || v == nil || v.Type.Kind != ir.IntKind || !v.Type.HasExpr {
		return nil
	}
	if c.Op.Value != nil {
		if e, err := c.Op.Value(c); err == nil && e.Equal(v.Type.Expr) {
			return nil
		}
	}
	return []decidedSize{{of: v, size: v.Type.Expr}}
}

// visit asserts what is recorded of n's results. A size is read as a number that
// the compiler knows nothing of.
func (d *sizeDefiner) visit(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
	if len(n.Regions) > 0 {
		return nil, true, nil
	}
	for _, x := range decided(d.table, n) {
		if !d.asserted[x.of] {
			continue
		}
		b := ops.NewBuilder(d.table, e)
		e.Append(n)
		results, given := n.Outputs, x.of
		if given.Type.Kind == ir.IntKind {
			given.Type = ir.Type{Kind: ir.IntKind}
			results = []*ir.Value{b.SymInt(x.size)}
		} else {
			given = e.Emit("aten.sym_size.int", []ir.NamedArg{
				{Name: "self", Value: ir.Ref{Value: x.of}}, {Name: "dim", Value: ir.Int(x.dim)},
			}, ir.Type{Kind: ir.IntKind}).Outputs[0]
		}
		return results, false, b.CheckDecided(given, x.size)
	}
	return nil, true, nil
}
