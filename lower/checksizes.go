package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// CheckSizes has a program refuse sizes that an operator cannot have, as PyTorch
// does: what is smaller than its kernel or its padding, and what must hold an
// element and has none. Kernels rely on it. What follows from the ranges of symbols
// is not checked, and nothing twice in a graph.
var CheckSizes = Pass{
	Name: "check-sizes",
	Doc:  "assert that dynamic sizes are what operators need",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		checked := map[*ir.Node]map[string]bool{} // the nodes of a graph share theirs
		m.Graph.Walk(func(g *ir.Graph) {
			sizes := map[string]bool{}
			for _, n := range g.Nodes {
				checked[n] = sizes
			}
		})
		rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if len(n.Regions) > 0 {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, true, nil // later passes report it
			}
			b := ops.NewBuilder(ctx.Table, e)
			for _, size := range c.Needs() {
				if checked[n][size.Key()] {
					continue
				}
				checked[n][size.Key()] = true
				if err := b.CheckSize(size, ir.OpBase(n.Op)); err != nil {
					return nil, true, err
				}
			}
			return nil, true, nil
		}}
		return rw.Run(m)
	}),
}
