package pt2

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// Guards are conditions on the inputs that torch.export found while it traced:
// the graph is right only for calls that fulfil them. The archive has them as
// Python expressions (guards_code), PyTorch checks them when its loaded program is
// called. Here each becomes an assertion at the beginning of the graph,
//
//	%size: int(s77) = etgen.sym_int.default()
//	%eq: bool = _operator.eq(a=%size, b=0)
//	() = guard: aten._assert_scalar.default(self=%eq, assert_msg="Guard failed: …")
//
// so that whatever runs, prints or transforms graphs knows them. One that follows
// from the ranges of the symbols is left out.

// GuardFailed is what messages of guards begin with, as PyTorch's do.
const GuardFailed = "Guard failed: "

const (
	assertOp = "aten._assert_scalar.default"
	symIntOp = "etgen.sym_int.default"
)

// guards puts the program's guards before the nodes of m. Those that cannot be
// parsed are returned as warnings.
func (c *converter) guards(m *ir.Method) (warnings []error) {
	var nodes []*ir.Node
	for _, text := range c.wire.guards {
		g := &guard{c: c, m: m, text: text}
		if err := must.Try(g.convert); err != nil {
			warnings = append(warnings, &Error{
				Problem: fmt.Sprintf("the guard %s is not checked: %v", quoted(text), err),
				Hint:    "calls that it excludes give wrong results; --strict makes this an error",
			})
			continue
		}
		nodes = append(nodes, g.nodes...)
	}
	m.Graph.Nodes = append(append(nodes, c.ranges(m)...), m.Graph.Nodes...)
	return warnings
}

// ranges asserts the ranges that guards have given to symbols. For whoever checks
// the ranges of symbols anyway they always hold.
func (c *converter) ranges(m *ir.Method) []*ir.Node {
	var nodes []*ir.Node
	for _, s := range c.order {
		r, ok := c.wire.narrowed[s.Name]
		if !ok {
			continue
		}
		g := &guard{c: c, m: m, text: fmt.Sprintf("%s is %d to %d", s.Name, r.lo, r.hi)}
		x := knownInt(s.Expr())
		if must.Try(func() { g.determined(x.expr) }) != nil {
			continue
		}
		if r.lo > math.MinInt64 {
			g.assert(g.arg(g.node("_operator.ge", ir.BoolKind, x, integerOf(r.lo))))
		}
		if r.hi < math.MaxInt64 {
			g.assert(g.arg(g.node("_operator.le", ir.BoolKind, x, integerOf(r.hi))))
		}
		nodes = append(nodes, g.nodes...)
	}
	return nodes
}

// quoted quotes a text of the file for a message.
func quoted(s string) string {
	const most = 200
	if len(s) > most {
		return fmt.Sprintf("%+q…", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}

// guard converts one guard to nodes.
type guard struct {
	c     *converter
	m     *ir.Method
	text  string
	nodes []*ir.Node
	// choice is set within or and not, where a division by zero need not count.
	choice bool
}

func (g *guard) convert() { g.require(must.Get(sym.ParsePython(g.text))) }

// require asserts that e holds.
func (g *guard) require(e *sym.Python) {
	if e.Op == "and" {
		for _, x := range e.Args {
			g.require(x)
		}
		return
	}
	x := g.eval(e)
	if x.kind != ir.BoolKind {
		panic(fmt.Errorf("it is no condition"))
	}
	if x.literal == ir.BoolArg(true) {
		return
	}
	g.assert(g.arg(x))
}

func (g *guard) assert(cond ir.Arg) {
	g.nodes = append(g.nodes, &ir.Node{
		Name: g.c.names.Fresh("guard"), Op: assertOp,
		Args: []ir.NamedArg{{Name: "self", Value: cond}, {Name: "assert_msg",
			Value: ir.Str(GuardFailed + g.shadow())}},
	})
}

// shadow is the guard as PyTorch shows it: with inputs by their names alone.
func (g *guard) shadow() string {
	const most = 500
	s := g.text
	for _, name := range g.c.wire.argNames {
		s = strings.ReplaceAll(s, "L['"+name+"']", name)
	}
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// node appends an operation on numbers whose result the compiler does not follow.
func (g *guard) node(op string, kind ir.Kind, xs ...number) number {
	n := &ir.Node{Op: op}
	for i, x := range xs {
		n.Args = append(n.Args, ir.NamedArg{Name: string(rune('a' + i)), Value: g.arg(x)})
	}
	v := &ir.Value{Name: g.c.names.Fresh(ir.OpBase(op)), Type: ir.Type{Kind: kind}, Def: n}
	n.Name, n.Outputs = v.Name, []*ir.Value{v}
	g.nodes = append(g.nodes, n)
	return number{kind: kind, value: v}
}

// arg returns a number as an argument of a node.
func (g *guard) arg(x number) ir.Arg {
	switch {
	case x.value != nil:
		return ir.Ref{Value: x.value}
	case x.literal != nil:
		return x.literal
	case x.kind == ir.FloatKind: // a fraction
		n, isConst := x.expr.Const()
		if isConst {
			return ir.Float(float64(n) / float64(x.den))
		}
		whole := number{kind: ir.IntKind, expr: x.expr, known: true}
		return g.arg(g.node("_operator.truediv", ir.FloatKind, whole, integerOf(x.den)))
	}
	if n, isConst := x.expr.Const(); isConst {
		return ir.Int(n)
	}
	n := &ir.Node{Name: g.c.names.Fresh("size"), Op: symIntOp}
	v := &ir.Value{Name: n.Name, Type: ir.SymInt(x.expr), Def: n}
	n.Outputs = []*ir.Value{v}
	g.nodes = append(g.nodes, n)
	return ir.Ref{Value: v}
}

// interval is a range of integers, both ends included; MinInt64 and MaxInt64 are
// no bound.
type interval struct{ lo, hi int64 }

// joinGuards narrows the ranges of the program's symbols by the guards: what
// follows of ((s // 2) == 6) is known to all of the compiler, as PyTorch knew it
// when it recorded the types. It comes first: the range of a symbol is fixed when
// the symbol is made.
func (c *converter) joinGuards() {
	const rounds = 4 // each may use what the one before has found
	for range rounds {
		changed := false
		// A converter of its own: the symbols it makes have the ranges known so far.
		trial := &converter{wire: c.wire, names: ir.NewNames(&ir.Method{Graph: &ir.Graph{}}),
			symbols: map[string]*sym.Symbol{}, exprs: map[string]sym.Expr{}}
		var m *ir.Method
		if must.Try(func() { m = trial.callerInputs() }) != nil {
			return // the conversion itself says what is wrong
		}
		for _, text := range c.wire.guards {
			if e, err := sym.ParsePython(text); err == nil {
				changed = (&guard{c: trial, m: m, text: text}).narrow(e) || changed
			}
		}
		if !changed {
			return
		}
	}
}

// callerInputs makes a method of the inputs that a caller gives, and of nothing
// else.
func (c *converter) callerInputs() *ir.Method {
	m := &ir.Method{Graph: &ir.Graph{}}
	s := &scope{wire: &c.wire.graph, values: map[string]*ir.Value{}, rename: map[string]string{}}
	for i, w := range c.wire.inputs {
		if kind := inputKinds[w.tag]; i >= len(s.wire.inputs) || w.tag != "user_input" &&
			kind != ir.ConstantInput {
			continue
		}
		v := c.input(s, s.wire.inputs[i], "arg")
		spec := ir.InputSpec{Kind: inputKinds[w.tag], Fixed: w.arg.lit}
		m.Graph.Inputs, m.Inputs = append(m.Graph.Inputs, v), append(m.Inputs, spec)
	}

	m.In = must.Get(c.tree("in_spec", c.wire.inSpec, countInputs(m)))
	return m
}

// narrow notes what a condition says of single symbols, and reports whether that
// is new.
func (g *guard) narrow(e *sym.Python) bool {
	if e.Op == "and" {
		changed := false
		for _, x := range e.Args {
			changed = g.narrow(x) || changed
		}
		return changed
	}
	if len(e.Args) != 2 {
		return false
	}
	var x, y number
	err := must.Try(func() { x, y = g.operands(e.Args[0], e.Args[1]) })
	if err != nil || !x.exact() || !y.exact() {
		return false
	}
	a, b := sym.Mul(x.expr, sym.Int(y.divisor())), sym.Mul(y.expr, sym.Int(x.divisor()))
	s, lo, hi, ok := sym.Restrict(sym.Sub(a, b), e.Op)
	if !ok {
		return false
	}
	was := interval{}
	was.lo, was.hi = s.Expr().Bounds()
	w := g.c.wire.ranges[s.Name]
	given, ok := g.c.wire.narrowed[s.Name]
	if !ok {
		given = interval{math.MinInt64, math.MaxInt64}
	}
	if lo > was.lo {
		w.lo, w.hasLo = lo, true
		given.lo = max(given.lo, lo)
	}
	if hi < was.hi {
		w.hi, w.hasHi = hi, true
		given.hi = min(given.hi, hi)
	}
	g.c.wire.ranges[s.Name] = w
	g.c.wire.narrowed[s.Name] = given
	return true
}
