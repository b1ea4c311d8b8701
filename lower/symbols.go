package lower

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// BoundError is a bound that the program cannot have.
type BoundError struct{ reason string }

func (e *BoundError) Error() string { return e.reason }

// BoundSizes gives sizes upper bounds: memory is planned for them. Those of Context.Bounds,
// by the names of their symbols, are as the bounds of the file: a call with a larger size is
// refused. Where the bound that an operator gives a size that data decides is lower, it is
// taken: torchvision's nms keeps no more boxes than there are, of which torch.export knows nothing.
var BoundSizes = Pass{
	Name: "bound-sizes",
	Doc:  "give sizes the bounds of --bound, and sizes that data decides those of their operators",
	Run: perProgram(func(ctx *Context, p *ir.Program) {
		var names []string
		known := map[string]bool{}
		for _, m := range p.Methods {
			boundSizes(ctx, m)
			for _, s := range m.Symbols {
				if !known[s.Name] {
					known[s.Name] = true
					names = append(names, foreign.Message(s.Name))
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(ctx.Bounds)) {
			if !known[name] {
				have := "its sizes are fixed"
				if len(names) > 0 {
					have = "it has " + strings.Join(names, ", ")
				}
				must.Check(&BoundError{fmt.Sprintf(
					"--bound=%s: the model has no size of that name; %s",
					foreign.Message(name), have)})
			}
		}
	}),
}

func boundSizes(ctx *Context, m *ir.Method) {
	now := map[*sym.Symbol]*sym.Symbol{}
	subst := func(e sym.Expr) sym.Expr {
		return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
			if t := now[s]; t != nil {
				return t.Expr(), true
			}
			return s.Expr(), false
		})
	}
	bound := func(s *sym.Symbol, most int64) {
		is := cmp.Or(now[s], s)
		i := slices.Index(m.Symbols, is)
		if lo, hi := is.Expr().Bounds(); i < 0 || hi <= most || lo > most {
			return
		}
		m.Symbols[i] = &sym.Symbol{Name: s.Name, Lo: s.Lo, Hi: sym.Int(most)}
		now[s] = m.Symbols[i]
	}
	for _, s := range slices.Clone(m.Symbols) {
		if most, ok := ctx.Bounds[s.Name]; ok {
			if lo, _ := s.Expr().Bounds(); most < lo {
				must.Check(&BoundError{fmt.Sprintf("--bound=%s=%d: it is at least %d",
					foreign.Message(s.Name), most, lo)})
			}
			bound(s, most)
		}
	}
	for n := range m.Graph.All() {
		v := n.Output(0)
		if v == nil || !slices.ContainsFunc(v.Type.Sizes, ops.DataDecides) {
			continue
		}
		c, err := ctx.Table.Bind(n)
		if err != nil {
			continue // who decomposes it tells
		}
		for _, at := range c.Counts() {
			_, most := subst(at.Most).Bounds()
			v := n.Output(at.Result)
			if most > 0 && v != nil && at.Dim < v.Type.Rank() && ops.DataDecides(v.Type.Sizes[at.Dim]) {
				bound(v.Type.Sizes[at.Dim].Symbols()[0], most)
			}
		}
	}
	if len(now) > 0 {
		m.MapSizes(subst)
	}
}

// CheckSizes has a program refuse sizes that an operator cannot have, as PyTorch
// does: what is smaller than its kernel or its padding, and what must hold an
// element and has none. Kernels rely on it. What follows from the ranges of symbols
// is not checked, and nothing twice in a graph.
var CheckSizes = Pass{
	Name: "check-sizes",
	Doc:  "assert that dynamic sizes are what operators need",
	Run: perNode(func(_ *Context, _ *ir.Program, m *ir.Method) visitor {
		checked := map[*ir.Node]map[string]bool{} // the nodes of a graph share theirs
		m.Graph.Walk(func(g *ir.Graph) {
			sizes := map[string]bool{}
			for _, n := range g.Nodes {
				checked[n] = sizes
			}
		})
		return onCalls(func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			for _, size := range c.Needs() {
				if !checked[n][size.Key()] {
					checked[n][size.Key()] = true
					must.Check(b.CheckSize(size, ir.OpBase(n.Op)))
				}
			}
			return nil
		})
	}),
}

// TieSizes makes sizes that data decides, and that the model asserts to be equal,
// one: the symbol that gets its value later is replaced by what it is equal to.
// PyTorch records both symbols, and lets operators take them for each other behind
// the assertion. DefineSizes asserts what is replaced here.
var TieSizes = Pass{
	Name: "tie-sizes",
	Doc:  "make sizes one that data decides and the model asserts to be equal",
	Run: perMethod(func(_ *Context, _ *ir.Program, m *ir.Method) {
		t := &ties{m: m, now: map[*sym.Symbol]sym.Expr{}}
		for _, n := range m.Graph.Nodes {
			if a, b, ok := assertedEqual(n); ok {
				t.tie(t.resolve(a), t.resolve(b))
			}
		}
		if len(t.now) > 0 {
			m.MapSizes(t.resolve)
		}
	}),
}

// assertedEqual returns the integers that n asserts to be equal, if data decides
// something of them.
func assertedEqual(n *ir.Node) (a, b sym.Expr, ok bool) {
	if n.Op != assertOp {
		return a, b, false
	}
	ref, ok := n.Arg("self").(ir.Ref)
	if !ok || ref.Value.Def == nil || ref.Value.Def.Op != "_operator.eq" {
		return a, b, false
	}
	x, okX := argType(ref.Value.Def.Arg("a"))
	y, okY := argType(ref.Value.Def.Arg("b"))
	late := func(s *sym.Symbol) bool { return ops.DataDecides(s.Expr()) }
	return x.Expr, y.Expr, okX && okY && x.HasExpr && y.HasExpr &&
		(x.Expr.AnySymbol(late) || y.Expr.AnySymbol(late))
}

// ties are the sizes of a method that are replaced by others.
type ties struct {
	m     *ir.Method
	first map[*sym.Symbol]int // where symbols are mentioned first; nil: not looked for
	now   map[*sym.Symbol]sym.Expr
}

// resolve returns e with what is replaced replaced.
func (t *ties) resolve(e sym.Expr) sym.Expr {
	return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
		x, ok := t.now[s]
		if ok {
			x = t.resolve(x)
		}
		return x, ok
	})
}

// tie replaces the symbol of two equal integers that gets its value last, where both
// are sums and it is one of their terms.
func (t *ties) tie(a, b sym.Expr) {
	if t.first == nil {
		t.first = firstMentions(t.m)
	}
	e := sym.Sub(a, b)
	ss := e.Symbols()
	byFirst := func(x, y *sym.Symbol) int { return cmp.Compare(t.first[x], t.first[y]) }
	seq.Sort(ss, byFirst)
	if len(ss) == 0 || len(ss) > 1 && byFirst(ss[len(ss)-2], ss[len(ss)-1]) == 0 {
		return
	}
	gone := ss[len(ss)-1]
	coef, rest, linear := e.Coef(gone)
	if coef.Is(1) {
		rest = sym.Neg(rest)
	} else if !coef.Is(-1) {
		linear = false
	}
	if !linear || !ops.DataDecides(gone.Expr()) {
		return
	}
	t.m.Symbols = slices.DeleteFunc(t.m.Symbols, func(s *sym.Symbol) bool { return s == gone })
	if ops.DataDecides(rest) { // in the range of both
		t.narrow(rest.Symbols()[0], gone.Lo, gone.Hi)
	} else {
		t.leaveRoom(rest, gone.Lo, ss[:len(ss)-1])
	}
	t.now[gone] = t.resolve(rest)
}

// narrow puts a symbol in a range, within its own.
func (t *ties) narrow(x *sym.Symbol, lo, hi sym.Expr) {
	both := &sym.Symbol{Name: x.Name, Lo: sym.Max(x.Lo, lo), Hi: sym.Min(x.Hi, hi)}
	t.first[both], t.now[x] = t.first[x], both.Expr()
	if i := slices.Index(t.m.Symbols, x); i >= 0 {
		t.m.Symbols[i] = both
	}
}

// leaveRoom bounds symbols that data decides, in the order of their values, such that e,
// from which they are subtracted, is at least lo: u0 + u1 + u2 = 6 and u2 ≥ 0 say that
// u1 ≤ 6 - u0. DefineSizes asserts it.
func (t *ties) leaveRoom(e, lo sym.Expr, symbols []*sym.Symbol) {
	unbounded := lo.Is(math.MinInt64)
	room := sym.Sub(e, lo) // above the least values of all
	var parts []*sym.Symbol
	for _, x := range symbols {
		coef, _, linear := e.Coef(x)
		if part := linear && coef.Is(-1) && ops.DataDecides(x.Expr()); part {
			parts = append(parts, x)
			room = sym.Sub(sym.Add(room, x.Expr()), x.Lo)
			unbounded = unbounded || x.Lo.Is(math.MinInt64)
		} else if len(parts) > 0 {
			return // has its value later
		}
	}
	if unbounded {
		return
	}
	for _, x := range parts {
		t.narrow(x, x.Lo, t.resolve(sym.Add(room, x.Lo)))
		room = sym.Add(sym.Sub(room, x.Expr()), x.Lo)
	}
}

// firstMentions returns where in m each symbol is mentioned first: the number of
// the node, over those of the graph's inputs, which are 0.
func firstMentions(m *ir.Method) map[*sym.Symbol]int {
	first := map[*sym.Symbol]int{}
	note := func(v *ir.Value, at int) {
		if v == nil {
			return
		}
		for _, s := range TypeSymbols(v.Type) {
			if _, ok := first[s]; !ok {
				first[s] = at
			}
		}
	}
	for _, v := range m.Graph.Inputs {
		note(v, 0)
	}
	for i, n := range m.Graph.Nodes {
		for _, v := range n.Outputs {
			note(v, i+1)
		}
	}
	return first
}

// DefineSizes has a program hold what its types say of sizes and numbers that data
// decides. The first that has the symbol u0 gives the symbol its value. Whatever
// else is recorded, u0 of another node, a number, or the size of an input, is
// asserted: the data of a call may decide otherwise, and everything behind is
// compiled for what is recorded.
var DefineSizes = Pass{
	Name: "define-sizes",
	Doc:  "assert that sizes which data decides are those that the types say",
	Run: perNode(func(ctx *Context, _ *ir.Program, m *ir.Method) visitor {
		d := &sizeDefiner{ctx.Table, map[*ir.Value]bool{}, map[*ir.Value]sym.Expr{}}
		d.graph(m.Graph, nil)
		return d.visit
	}),
}

// sizeDefiner finds the results of which something is to be asserted: that they are what
// their types say, or that they are at most what other sizes leave to them.
type sizeDefiner struct {
	table    *ops.Table
	asserted map[*ir.Value]bool
	most     map[*ir.Value]sym.Expr
}

// TypeSymbols returns the symbols that a type mentions, some of them twice.
func TypeSymbols(t ir.Type) (all []*sym.Symbol) {
	for _, es := range [][]sym.Expr{t.Sizes, t.Strides, {t.Offset, t.Expr}} {
		for _, e := range es {
			all = append(all, e.Symbols()...)
		}
	}
	return all
}

// graph takes a graph, where the symbols outer have values already.
func (d *sizeDefiner) graph(g *ir.Graph, outer map[*sym.Symbol]bool) {
	seen := map[*sym.Symbol]bool{}
	maps.Copy(seen, outer)
	see := func(vs []*ir.Value) {
		for _, v := range vs {
			if v != nil {
				for _, x := range TypeSymbols(v.Type) {
					seen[x] = true
				}
			}
		}
	}
	see(g.Inputs)
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			d.graph(r, seen)
		}
		for _, e := range decided(d.table, n) {
			if !ops.DataDecides(e.size) || seen[e.size.Symbols()[0]] {
				d.asserted[e.of] = true
			} else if most := e.size.Symbols()[0].Hi; len(most.Symbols()) > 0 {
				d.most[e.of] = most
			}
		}
		see(n.Outputs)
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

// Decides reports whether data decides a size or a number of n's results.
func Decides(t *ops.Table, n *ir.Node) bool { return len(decided(t, n)) > 0 }

// visit asserts what is recorded of n's results. A size is read as a number that
// the compiler knows nothing of.
func (d *sizeDefiner) visit(b *ops.Builder, n *ir.Node) []*ir.Value {
	if len(n.Regions) > 0 {
		return nil
	}
	for _, x := range decided(d.table, n) {
		op, than := "eq", x.size
		most, bounded := d.most[x.of]
		if bounded {
			op, than = "le", most
		}
		if !d.asserted[x.of] && !bounded {
			continue
		}
		b.Append(n)
		results, given := n.Outputs, x.of
		switch {
		case given.Type.Kind != ir.IntKind:
			given = b.Emit("aten.sym_size.int", []ir.NamedArg{
				{Name: "self", Value: ir.Ref{Value: x.of}}, {Name: "dim", Value: ir.Int(x.dim)},
			}, ir.Type{Kind: ir.IntKind}).Outputs[0]
		case bounded: // the symbol gets its value behind the assertion
			given.Type = ir.Type{Kind: ir.IntKind}
			must.Check(b.CheckDecided(given, op, than))
			return b.Emit("torch.sym_int", []ir.NamedArg{{Name: "a",
				Value: ir.Ref{Value: given}}}, ir.SymInt(x.size)).Outputs
		default:
			given.Type = ir.Type{Kind: ir.IntKind}
			results = []*ir.Value{b.SymInt(x.size)}
		}
		must.Check(b.CheckDecided(given, op, than))
		return results
	}
	return nil
}
