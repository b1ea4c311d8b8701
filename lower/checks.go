package lower

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// CheckIndices has a program say which of its indices is out of range, as PyTorch
// does, if Context.Checked asks for it; else kernels take the nearest element. An
// index is checked as soon as there is one, so that little has happened if the
// check fails.
var CheckIndices = Pass{
	Name: "check-indices",
	Doc:  "with --checked: assert that indices are in range",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		if !ctx.Checked {
			return
		}
		checks := map[*ir.Node][]indexCheck{}
		m.Graph.Walk(func(g *ir.Graph) { findIndices(ctx.Table, g, checks) })
		rewrite(ctx.Table, m, func(b *ops.Builder, n *ir.Node) []*ir.Value {
			for _, c := range checks[n] {
				b.Loc = c.user.Loc
				must.Check(b.CheckIndex(c.value, c.index, c.message()))
			}
			return nil
		})
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

// entry asserts what the types of inputs promise of dynamic sizes and of numbers:
// that those which are one expression, or follow from others, are so, and that
// numbers are in their ranges. (C and Go check it where they bind sizes.) Ranges of
// sizes are left to the runtime, which checks that a tensor has room, except where a
// guard gives them: then the graph asserts them.
func (s *sizer) entry(m *ir.Method) {
	c := &entryChecks{sizer: s, read: map[dimOf]ir.Arg{}}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput {
			continue
		}
		for d, e := range v.Type.Sizes {
			if _, ok := e.Const(); !ok {
				c.dimension(dimOf{v, d}, e)
			}
		}
		if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
			c.integer(v, v.Type.Expr)
		}
	}
	if c.all != nil {
		*s.nodes = append(*s.nodes, &ir.Node{Name: s.names.Fresh("entry"), Op: assertOp,
			Args: []ir.NamedArg{
				{Name: "self", Value: c.all}, {Name: "assert_msg",
					Value: ir.Str("sizes of inputs fit each other")},
			}})
	}
}

// entryChecks joins conditions to one.
type entryChecks struct {
	*sizer
	read map[dimOf]ir.Arg
	all  ir.Arg
}

// dimension checks dimension d, whose size is e.
func (c *entryChecks) dimension(d dimOf, e sym.Expr) {
	if first, ok := c.scope.dim(e.Key()); ok && first != d {
		want := c.size(first)
		c.require("eq", c.size(d), want)
		return
	}
	symbols := e.Symbols()
	bare := len(symbols) == 1 && e.Equal(symbols[0].Expr())
	if !bare && c.follows(symbols) {
		want := c.sum(e)
		c.require("eq", c.size(d), want)
		return
	}
	if bare || len(symbols) == 0 {
		return
	}
	coef, rest, linear := e.Coef(symbols[0])
	k, isConst := coef.Const()
	r, known := rest.Const()
	if !linear || !isConst || !known || k <= 1 {
		return
	}
	n := c.size(d)
	if r != 0 {
		n = c.number("sub", n, ir.Int(r))
	}
	c.require("eq", c.number("mod", n, ir.Int(k)), ir.Int(0))
}

// integer checks an input that is a number, which is e.
func (c *entryChecks) integer(v *ir.Value, e sym.Expr) {
	given := ir.Ref{Value: v}
	if d, ok := c.scope.dim(e.Key()); ok {
		c.require("eq", given, c.size(d))
		return
	}
	if first := c.scope.value(e.Key()); first != v {
		c.require("eq", given, ir.Ref{Value: first})
		return
	}
	lo, hi := e.Bounds()
	if lo != math.MinInt64 {
		c.require("ge", given, ir.Int(lo))
	}
	if hi != math.MaxInt64 {
		c.require("le", given, ir.Int(hi))
	}
}

// follows reports whether all symbols are sizes of inputs themselves.
func (c *entryChecks) follows(symbols []*sym.Symbol) bool {
	for _, x := range symbols {
		if _, ok := c.scope.dim(x.Expr().Key()); !ok && c.scope.value(x.Expr().Key()) == nil {
			return false
		}
	}
	return len(symbols) > 0
}

// size reads a dimension: as a number that the compiler knows nothing of.
func (c *entryChecks) size(d dimOf) ir.Arg {
	if a := c.read[d]; a != nil {
		return a
	}
	n := &ir.Node{Name: c.names.Fresh("given"), Op: "aten.sym_size.int", Args: []ir.NamedArg{
		{Name: "self", Value: ir.Ref{Value: d.tensor}}, {Name: "dim", Value: ir.Int(d.dim)},
	}}
	v := &ir.Value{Name: n.Name, Type: ir.Type{Kind: ir.IntKind}, Def: n}
	n.Outputs = []*ir.Value{v}
	*c.nodes = append(*c.nodes, n)
	c.read[d] = ir.Ref{Value: v}
	return c.read[d]
}

// require adds a comparison to the conditions.
func (c *entryChecks) require(op string, a, b ir.Arg) {
	cond := c.number(op, a, b)
	if c.all != nil {
		cond = c.number("sym_ite", c.all, cond, ir.BoolArg(false))
	}
	c.all = cond
}

// assertOp asserts a condition on numbers.
const assertOp = "aten._assert_scalar.default"

// Refusals replaces assertions, for which ExecuTorch's runtime has no kernel, by an
// operator that fills a tensor of the fixed size 1. The operator is asked for size 1 if the
// condition holds and for size 0 if not. A kernel refuses to resize a tensor of fixed size,
// and this error ends the call of the method.
var Refusals = Pass{
	Name: "refusals",
	Doc:  "say assertions by a tensor that cannot be resized",
	Run: perNode(func(*Context, *ir.Program, *ir.Method) visitor {
		return func(b *ops.Builder, n *ir.Node) []*ir.Value {
			if !isAssertion(n) {
				return nil
			}
			cond := n.Args[0].Value
			if x, ok := assertedTensor(n); ok {
				cond = ir.Ref{Value: b.Emit("aten._local_scalar_dense.default", []ir.NamedArg{
					{Name: "self", Value: ir.Ref{Value: x}},
				}, ir.Type{Kind: ir.BoolKind}).Outputs[0]}
			}
			if cond == ir.BoolArg(true) {
				return gone
			}
			size := b.Emit(PrimName("sym_ite"), primArgs(cond, ir.Int(1), ir.Int(0)),
				ir.Type{Kind: ir.IntKind}).Outputs[0]
			one := ir.StaticTensor(ir.Uint8, 1)
			out := b.Emit(allocOp, nil, one).Outputs[0]
			b.Emit("aten.full.out", []ir.NamedArg{
				{Name: "size", Value: ir.List{ir.Ref{Value: size}}}, {Name: "fill_value",
					Value: ir.Int(0)}, {Name: "out", Value: ir.Ref{Value: out}},
			}, one)
			return gone
		}
	}),
}
