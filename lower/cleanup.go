package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// DeadCode drops nodes whose results nobody uses and that have no effect,
// results of cond and scan that nobody uses, and unused constants of a graph.
var DeadCode = Pass{
	Name: "dead-code",
	Doc:  "drop what nobody uses",
	Run:  perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) { dropDead(ctx.Table, m) }),
}

// dropDead drops what nobody uses of m.
func dropDead(t *ops.Table, m *ir.Method) {
	d := &deadCode{table: t, live: map[*ir.Value]bool{}, symbols: map[*sym.Symbol]bool{}}
	d.graph(m.Graph)
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
		if !d.used(n) && !HasEffect(d.table, n) {
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

// HasEffect reports whether n does more than give results: assertions, writes
// to operands, random numbers, what is not in the table, and regions with such nodes. A loop
// whose results nobody uses has none: that it ends is taken for granted.
func HasEffect(t *ops.Table, n *ir.Node) bool {
	if len(n.Regions) > 0 {
		return slices.ContainsFunc(n.Regions, func(r *ir.Graph) bool {
			return slices.ContainsFunc(r.Nodes, func(n *ir.Node) bool { return HasEffect(t, n) })
		})
	}
	op, ok := t.Lookup(n.Op)
	if !ok || op.Effect || op.Random || op.ParsedSchema().Mutates() {
		return true
	}
	_, inPlace := t.Functional(n.Op)
	return inPlace
}

// CommonSubexpressions replaces a node by an earlier one with the same
// operator and arguments that is visible from it. Nodes with effects, unknown
// ones and control flow are left alone. The program must be functional.
var CommonSubexpressions = Pass{
	Name: "common-subexpressions",
	Doc:  "compute equal things once",
	Run: perNode(func(ctx *Context, _ *ir.Program, m *ir.Method) visitor {
		c := &cse{ids: map[*ir.Value]int{}, where: map[*ir.Node]*ir.Graph{},
			outer: map[*ir.Graph]*ir.Graph{}, seen: map[string][]*ir.Node{}}
		c.locate(m.Graph)
		return onCalls(c.visit)
	}),
}

type cse struct {
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

func (c *cse) visit(b *ops.Builder, n *ir.Node, call *ops.Call) []*ir.Value {
	if HasEffect(b.Table, n) || runTimeInt(n) {
		return nil
	}
	key := c.key(n, call)
	for _, other := range c.seen[key] {
		if c.visible(other, n) {
			return other.Outputs
		}
	}
	c.seen[key] = append(c.seen[key], n)
	return nil
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

// RemoveNoOps drops nodes that change nothing: views whose elements are all
// where they were, computations that give their operand element by element
// (copies, casts to the same dtype, dropout in evaluation, x*1), and
// assertions that certainly hold. It goes by what the operator's definition
// amounts to, not by its name. The program must be functional.
var RemoveNoOps = Pass{
	Name: "remove-noops",
	Doc:  "drop views, copies and assertions that do nothing",
	Run: perNode(func(*Context, *ir.Program, *ir.Method) visitor {
		return onCalls(func(_ *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			if c.Op.Effect {
				if holds, known := Decided(c); known && holds {
					return gone
				}
				return nil
			}
			if v := n.Output(0); len(n.Outputs) == 1 && v != nil {
				if k, ok := copies(c); ok && c.Operands()[k].Type.Equal(v.Type) {
					return []*ir.Value{c.Operands()[k]}
				}
			}
			return nil
		})
	}),
}

// Decided returns what a call of an operator on numbers gives, if it is a bool that is known
// before the program runs.
func Decided(c *ops.Call) (value, known bool) {
	if c.Op.ScalarOp == nil {
		return false, false
	}
	e, err := c.Op.ScalarOp(c)
	if err != nil {
		return false, false
	}
	e = expr.Simplify(e)
	return e.Int != 0, e.Op == expr.OpConst
}

// copies returns the operand that the only result of c is a copy of.
func copies(c *ops.Call) (operand int, ok bool) {
	if len(c.Outs) != 1 || c.Outs[0].Kind != ir.TensorKind {
		return 0, false
	}
	sizes := c.Outs[0].Sizes
	operand, from, vars, ok := reads(c)
	if !ok {
		return 0, false
	}
	t := c.Operands()[operand].Type
	if t.DType != c.Outs[0].DType || !sym.AllEqual(t.Sizes, sizes) {
		return 0, false
	}
	for d, x := range from {
		if !x.Equal(vars[d]) && !sizes[d].Is(1) {
			return 0, false
		}
	}
	return operand, true
}

// computes reports whether e certainly is no load however it is simplified: it
// adds up elements, or takes the sum or product of two things that are no constants.
// To simplify the expression of a convolution takes much longer.
func computes(e *expr.Expr) bool {
	switch e.Op {
	case expr.OpReduce:
		return slices.ContainsFunc(e.Vars, func(v *sym.Symbol) bool {
			n, ok := expr.Extent(v).Const()
			return ok && n > 1
		})
	case expr.OpCast:
		return computes(e.Args[0])
	case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpDiv:
		return e.DType.IsFloat() && !slices.ContainsFunc(e.Args, func(a *expr.Expr) bool {
			return a.Op != expr.OpLoad && !computes(a)
		})
	}
	return false
}

// reads tells, if every element of the only result of c is one element of one
// operand, which operand that is and where: from are coordinates in the
// operand in terms of vars, the coordinates in the result.
func reads(c *ops.Call) (operand int, from, vars []sym.Expr, ok bool) {
	if c.Op.View != nil {
		views, err := c.Op.View(c)
		if err == nil && len(views) == 1 {
			_, vars = newVars(c.Outs[0].Sizes)
			return views[0].Of, views[0].Map(vars), vars, true
		}
		if err != nil || len(views) > 0 {
			return 0, nil, nil, false
		}
	}
	if c.Op.Compute == nil {
		return 0, nil, nil, false
	}
	ts, err := c.Op.Compute(c)
	if err != nil || len(ts) != 1 {
		return 0, nil, nil, false
	}
	if computes(ts[0].Body) {
		return 0, nil, nil, false
	}
	body := expr.Simplify(ts[0].Body)
	if body.Op != expr.OpLoad {
		return 0, nil, nil, false
	}
	for _, v := range ts[0].Vars {
		vars = append(vars, v.Expr())
	}
	return body.Buf, body.Coords, vars, true
}

// Simplify merges nodes that follow each other: two permutations of dimensions
// into one, two changes of shape into one, zero padding into the convolution
// or average pooling that reads it. Tensors must be dense.
var Simplify = Pass{
	Name: "simplify",
	Doc:  "merge consecutive permutes and views, and padding into convolutions and pools",
	Run:  byRules(func(s *simplifier) []rule { return []rule{s.permutes, s.reshapes, s.padding} }),
}

// rule returns what may stand for n's only result, nil if the rule does not apply. The value
// gets the result's type.
type rule func(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value

// byRules makes a pass of rules, the first of which that applies decides.
func byRules(of func(*simplifier) []rule) func(*Context, *ir.Program) error {
	return perNode(func(ctx *Context, _ *ir.Program, _ *ir.Method) visitor {
		rules := of(&simplifier{table: ctx.Table})
		return onCalls(func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			for _, rule := range rules {
				if len(n.Outputs) != 1 || n.Outputs[0] == nil {
					break
				}
				if v := rule(b, n, c); v != nil {
					v.Type = n.Outputs[0].Type
					return []*ir.Value{v}
				}
			}
			return nil
		})
	})
}

type simplifier struct{ table *ops.Table }

// definition returns the bound node that defines v, nil if there is none.
func (s *simplifier) definition(v *ir.Value) *ops.Call {
	if v == nil || v.Def == nil || len(v.Def.Regions) > 0 || len(v.Def.Outputs) != 1 {
		return nil
	}
	c, err := s.table.Bind(v.Def)
	if err != nil {
		return nil
	}
	return c
}

// view returns the operand that c, a view with one result, shows, and how.
func view(c *ops.Call) (*ir.Value, *placement) {
	if c == nil || c.Op.View == nil || len(c.Outs) != 1 {
		return nil, nil
	}
	views, err := c.Op.View(c)
	if err != nil || len(views) != 1 {
		return nil, nil
	}
	x := c.Operands()[views[0].Of]
	return x, place(c.Outs[0].Sizes, x.Type.Sizes, views[0].Map)
}

func (s *simplifier) permutes(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x, p := view(c)
	if p == nil {
		return nil
	}
	outer, ok := p.permuted()
	if !ok {
		return nil
	}
	if x, p = view(s.definition(x)); p == nil {
		return nil
	}
	inner, ok := p.permuted()
	if !ok {
		return nil
	}
	both := make([]int, len(outer))
	identity := true
	for i, d := range outer {
		both[i] = inner[d]
		identity = identity && both[i] == i
	}
	if identity {
		return x
	}
	return b.Op("aten.permute.default", x, both)
}

func (s *simplifier) reshapes(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x, p := view(c)
	if p == nil || !p.whole() {
		return nil
	}
	if x, p = view(s.definition(x)); p == nil || !p.whole() {
		return nil
	}
	if sym.AllEqual(x.Type.Sizes, n.Outputs[0].Type.Sizes) {
		return x
	}
	return b.Op("aten.view.default", x, n.Outputs[0].Type.Sizes)
}

// padding makes zeros that were put evenly around the spatial dimensions part
// of the padding of the convolution or average pooling that reads them.
func (s *simplifier) padding(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	input, spatial := "input", 0
	switch n.Op {
	case "aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default":
		spatial = c.Outs[0].Rank() - 2
	case "aten.convolution.default":
		if c.Bool("transposed") {
			return nil
		}
		spatial = c.Outs[0].Rank() - 2
	case "aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default":
		input = "self"
		spatial = int(ir.OpBase(n.Op)[len("avg_pool")] - '0')
		if c.Bool("ceil_mode") || !c.Bool("count_include_pad") {
			return nil
		}
	default:
		return nil
	}
	x := c.Value(input)
	pad := s.definition(x)
	if pad == nil || x.Type.Rank() <= spatial {
		return nil
	}
	amounts, after, ok := zeroPadding(pad, spatial)
	if !ok || !slices.Equal(amounts, after) {
		return nil
	}
	old, err := spatialInts(c, "padding", spatial)
	if err != nil {
		return nil
	}
	for d := range old {
		old[d] += amounts[d]
	}
	if input == "self" { // pools take at most half a window of padding
		kernel, err := spatialInts(c, "kernel_size", spatial)
		if err != nil {
			return nil
		}
		for d := range kernel {
			if 2*old[d] > kernel[d] {
				return nil
			}
		}
	}
	args := slices.Clone(n.Args)
	out := &ir.Node{Op: n.Op, Args: args}
	for i, p := range c.Op.ParsedSchema().Args { // all by name
		if i < len(args) && args[i].Name == "" {
			args[i].Name = p.Name
		}
	}
	list := must.Get(ops.ToArg(old))
	out.SetArg("padding", list)
	out.SetArg(input, ir.Ref{Value: pad.Value("self")})
	return b.Emit(out.Op, out.Args, n.Outputs[0].Type).Outputs[0]
}

// zeroPadding returns how many zeros c puts before and after each of the last
// spatial dimensions.
func zeroPadding(c *ops.Call, spatial int) (before, after []int64, ok bool) {
	switch c.Op.Name() {
	case "aten.pad.default":
		if c.Str("mode") != "constant" {
			return nil, nil, false
		}
	case "aten.constant_pad_nd.default":
	default:
		return nil, nil, false
	}
	if c.Has("value") {
		if v, err := c.Float("value"); err != nil || v != 0 {
			return nil, nil, false
		}
	}
	pads, err := c.Ints("pad")
	if err != nil || len(pads) > 2*spatial || len(pads)%2 != 0 {
		return nil, nil, false
	}
	before, after = make([]int64, spatial), make([]int64, spatial)
	for i := 0; i < len(pads); i += 2 {
		if pads[i] < 0 || pads[i+1] < 0 {
			return nil, nil, false
		}
		before[spatial-1-i/2], after[spatial-1-i/2] = pads[i], pads[i+1]
	}
	return before, after, true
}
