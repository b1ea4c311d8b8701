package random

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// clean drops what nothing uses: nodes, inputs and constants.
func clean(p *ir.Program) {
	for _, m := range p.Methods {
		for dropDead(m) {
		}
	}
}

func dropDead(m *ir.Method) (again bool) {
	uses := ir.Uses(m.Graph)
	m.Graph.Walk(func(g *ir.Graph) {
		g.Nodes = slices.DeleteFunc(g.Nodes, func(n *ir.Node) bool {
			dead := !writes(n)
			for _, v := range n.Outputs {
				dead = dead && (v == nil || uses[v] == 0)
			}
			again = again || dead
			return dead
		})
		g.Constants = slices.DeleteFunc(g.Constants, func(v *ir.Value) bool { return uses[v] == 0 })
	})
	written := map[string]bool{}
	for _, o := range m.Outputs {
		written[o.Target] = true
	}
	var inputs []*ir.Value
	var specs []ir.InputSpec
	for i, v := range m.Graph.Inputs {
		sized := slices.ContainsFunc(v.Type.Sizes, func(s sym.Expr) bool {
			return len(s.Symbols()) > 0
		})
		if uses[v] > 0 || sized || written[m.Inputs[i].Target] && m.Inputs[i].Target != "" {
			inputs, specs = append(inputs, v), append(specs, m.Inputs[i])
		}
	}
	m.Graph.Inputs, m.Inputs = inputs, specs
	return again
}

// writes reports whether n or something in it writes in place.
func writes(n *ir.Node) bool {
	if parts := strings.Split(n.Op, "."); len(parts) > 1 && strings.HasSuffix(parts[1], "_") {
		return true
	}
	found := false
	for _, r := range n.Regions {
		r.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				found = found || len(n.Regions) == 0 && writes(n)
			}
		})
	}
	return found
}
