package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// DeadCode drops nodes whose results nobody uses and that have no effect,
// results of cond and scan that nobody uses, and unused constants of a graph.
var DeadCode = Pass{
	Name: "dead-code",
	Doc:  "drop what nobody uses",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		d := &deadCode{table: ctx.Table, live: map[*ir.Value]bool{},
			symbols: map[*sym.Symbol]bool{}}
		d.graph(m.Graph)
		return nil
	}),
}

type deadCode struct {
	table *ops.Table
	live  map[*ir.Value]bool
	// symbols occur in integers of nodes that are kept. Such a node need not
	// refer to the one whose result gives the symbol its value.
	symbols map[*sym.Symbol]bool
}

// graph sweeps backwards, so that what only dead nodes use is dead when it is
// met.
func (d *deadCode) graph(g *ir.Graph) {
	for _, a := range g.Outputs {
		d.use(a)
	}
	kept := make([]*ir.Node, 0, len(g.Nodes))
	for _, n := range slices.Backward(g.Nodes) {
		if !d.used(n) && !hasEffect(d.table, n) {
			continue
		}
		d.prune(n)
		for _, r := range n.Regions {
			d.graph(r)
		}
		for _, a := range n.Args {
			d.use(a.Value)
		}
		for _, v := range n.Outputs {
			if v != nil && v.Type.Kind == ir.IntKind && v.Type.HasExpr {
				for _, s := range v.Type.Expr.Symbols() {
					d.symbols[s] = true
				}
			}
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	g.Nodes = kept
	g.Constants = slices.DeleteFunc(g.Constants, func(v *ir.Value) bool { return !d.live[v] })
}

func (d *deadCode) use(a ir.Arg) { ir.EachRef(a, func(v *ir.Value) { d.live[v] = true }) }

func (d *deadCode) used(n *ir.Node) bool {
	live := slices.ContainsFunc(n.Outputs, func(v *ir.Value) bool {
		return v != nil && d.live[v]
	})
	return live || len(d.symbols) > 0 && slices.ContainsFunc(decided(d.table, n),
		func(x decidedSize) bool {
			s := x.size.Symbols()
			return len(s) == 1 && d.symbols[s[0]]
		})
}

// prune takes unused results from n: of a cond all, of a scan those that are
// stacked. What a loop carries it needs itself.
func (d *deadCode) prune(n *ir.Node) {
	first := len(n.Outputs)
	switch n.Op {
	case "higher_order.cond":
		first = 0
	case "higher_order.scan":
		if init, ok := n.Arg("init").(ir.List); ok {
			first = len(init)
		}
	}
	for i := len(n.Outputs) - 1; i >= first; i-- {
		if v := n.Outputs[i]; v != nil && d.live[v] {
			continue
		}
		n.Outputs = slices.Delete(n.Outputs, i, i+1)
		for _, r := range n.Regions {
			r.Outputs = slices.Delete(r.Outputs, i, i+1)
		}
	}
	for i, v := range n.Outputs {
		if v != nil {
			v.Index = i
		}
	}
}

// hasEffect reports whether n does more than give results: assertions, writes
// to operands, random numbers, what is not in the table, and regions with such nodes. A loop
// whose results nobody uses has none: that it ends is taken for granted.
func hasEffect(t *ops.Table, n *ir.Node) bool {
	if len(n.Regions) > 0 {
		for _, r := range n.Regions {
			if slices.ContainsFunc(r.Nodes, func(n *ir.Node) bool { return hasEffect(t, n) }) {
				return true
			}
		}
		return false
	}
	op, ok := t.Lookup(n.Op)
	if !ok || op.Effect || op.Random || op.ParsedSchema().Mutates() {
		return true
	}
	_, inPlace := t.Functional(n.Op)
	return inPlace
}
