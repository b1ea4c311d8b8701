package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// CheckIndices has a program say which of its indices is out of range, as PyTorch
// does, if Context.Checked asks for it; else kernels take the nearest element. An
// index is checked as soon as there is one, so that little has happened if the
// check fails.
var CheckIndices = Pass{
	Name: "check-indices",
	Doc:  "with --checked: assert that indices are in range",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		if !ctx.Checked {
			return nil
		}
		checks := map[*ir.Node][]indexCheck{}
		m.Graph.Walk(func(g *ir.Graph) { findIndices(ctx.Table, g, checks) })
		rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			b := ops.NewBuilder(ctx.Table, e)
			for _, c := range checks[n] {
				e.Loc = c.user.Loc
				if err := b.CheckIndex(c.value, c.index, c.message()); err != nil {
					return nil, true, err
				}
			}
			e.Loc = n.Loc
			return nil, true, nil
		}}
		return rw.Run(m)
	}),
}

// indexCheck is an index to be checked.
type indexCheck struct {
	user  *ir.Node // the first that takes it for one
	value *ir.Value
	index ops.Index
}

// findIndices notes what is to be checked in g, at the node before which the check
// comes: right behind the definition of the index, or where it is used if it is
// bounded by a size that has to be known first.
func findIndices(t *ops.Table, g *ir.Graph, checks map[*ir.Node][]indexCheck) {
	type key struct {
		value *ir.Value
		size  string
		wrap  bool
	}
	behind := map[*ir.Value]*ir.Node{}
	for i, n := range g.Nodes[:max(0, len(g.Nodes)-1)] {
		for _, v := range n.Outputs {
			behind[v] = g.Nodes[i+1]
		}
	}
	seen := map[key]bool{}
	for _, n := range g.Nodes {
		if len(n.Regions) > 0 {
			continue
		}
		c, err := t.Bind(n)
		if err != nil {
			continue // later passes report it
		}
		for _, x := range c.Indices() {
			check := indexCheck{n, c.Operands()[x.Operand], x}
			k := key{check.value, x.Size.Key(), x.Wrap}
			if seen[k] {
				continue
			}
			seen[k] = true
			at := n
			if _, known := x.Size.Const(); known {
				if at = behind[check.value]; at == nil {
					at = g.Nodes[0]
				}
			}
			checks[at] = append(checks[at], check)
		}
	}
}

// message says what is wrong if the check fails.
func (c indexCheck) message() string {
	text := ir.OpBase(c.user.Op)
	if at := c.user.Loc.String(); at != "" {
		text += " at " + at
	}
	n, known := c.index.Size.Const()
	switch {
	case !known:
		return text + ": an index is outside its dimension"
	case c.index.Wrap:
		return fmt.Sprintf("%s: an index is not between %d and %d", text, -n, n-1)
	}
	return fmt.Sprintf("%s: an index is not between 0 and %d", text, n-1)
}
