package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// CommonSubexpressions replaces a node by an earlier one with the same
// operator and arguments that is visible from it. Nodes with effects, unknown
// ones and control flow are left alone. The program must be functional.
var CommonSubexpressions = Pass{
	Name: "common-subexpressions",
	Doc:  "compute equal things once",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		c := &cse{table: ctx.Table, ids: map[*ir.Value]int{}, where: map[*ir.Node]*ir.Graph{},
			outer: map[*ir.Graph]*ir.Graph{}, seen: map[string][]*ir.Node{}}
		c.locate(m.Graph)
		return (&ir.Rewriter{Visit: c.visit}).Run(m)
	}),
}

type cse struct {
	table *ops.Table
	ids   map[*ir.Value]int
	where map[*ir.Node]*ir.Graph  // the graph a node stands in
	outer map[*ir.Graph]*ir.Graph // the graph around a region
	seen  map[string][]*ir.Node   // nodes met, by what they compute
}

func (c *cse) locate(g *ir.Graph) {
	for _, n := range g.Nodes {
		c.where[n] = g
		for _, r := range n.Regions {
			c.outer[r] = g
			c.locate(r)
		}
	}
}

func (c *cse) visit(_ *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
	if len(n.Regions) > 0 || hasEffect(c.table, n) {
		return nil, true, nil
	}
	call, err := c.table.Bind(n)
	if err != nil || runTimeInt(n) {
		return nil, true, nil
	}
	key := c.key(n, call)
	for _, other := range c.seen[key] {
		if c.visible(other, n) {
			return other.Outputs, false, nil
		}
	}
	c.seen[key] = append(c.seen[key], n)
	return nil, true, nil
}

// runTimeInt reports whether n defines a symbol, which is then the name of its
// result in types.
func runTimeInt(n *ir.Node) bool {
	return slices.ContainsFunc(n.Outputs, func(v *ir.Value) bool {
		return v != nil && v.Type.Kind == ir.IntKind && (!v.Type.HasExpr ||
			len(v.Type.Expr.Symbols()) > 0) && len(n.Args) > 0
	})
}

// visible reports whether what other defines can be used where n stands: n's
// graph or one around it holds other.
func (c *cse) visible(other, n *ir.Node) bool {
	for g := c.where[n]; g != nil; g = c.outer[g] {
		if g == c.where[other] {
			return true
		}
	}
	return false
}

// key is equal for nodes that compute the same: arguments are compared after
// defaults were filled in.
func (c *cse) key(n *ir.Node, call *ops.Call) string {
	var b strings.Builder
	b.WriteString(n.Op)
	for _, a := range call.Args {
		b.WriteByte(';')
		c.arg(&b, a)
	}
	for _, v := range n.Outputs {
		if v == nil {
			b.WriteString("|none")
			continue
		}
		fmt.Fprintf(&b, "|%v", v.Type)
		if len(n.Args) == 0 && v.Type.HasExpr {
			b.WriteString(v.Type.Expr.Key())
		}
	}
	return b.String()
}

func (c *cse) arg(b *strings.Builder, a ir.Arg) {
	switch a := a.(type) {
	case ir.Ref:
		if a.Value.Type.Kind == ir.IntKind && a.Value.Type.HasExpr {
			fmt.Fprintf(b, "int %s", a.Value.Type.Expr.Key())
			return
		}
		id, ok := c.ids[a.Value]
		if !ok {
			id = len(c.ids)
			c.ids[a.Value] = id
		}
		fmt.Fprintf(b, "%%%d", id)
	case ir.List:
		b.WriteByte('[')
		for _, x := range a {
			c.arg(b, x)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case ir.Float:
		fmt.Fprintf(b, "float %x", float64(a)) // -0 is not 0
	default:
		fmt.Fprintf(b, "%T %v", a, a)
	}
}
