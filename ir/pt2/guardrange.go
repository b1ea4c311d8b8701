package pt2

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

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
		trial := &converter{wire: c.wire, names: ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), symbols: map[string]*sym.Symbol{}, exprs: map[string]sym.Expr{}}
		m, err := trial.callerInputs()
		if err != nil {
			return // the conversion itself says what is wrong
		}
		for _, text := range c.wire.guards {
			p := &pythonParser{text: text}
			if e, err := p.expression(); err == nil {
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
func (c *converter) callerInputs() (*ir.Method, error) {
	m := &ir.Method{Graph: &ir.Graph{}}
	s := &scope{wire: &c.wire.graph, values: map[string]*ir.Value{}, rename: map[string]string{}}
	for i, w := range c.wire.inputs {
		if kind := inputKinds[w.tag]; i >= len(s.wire.inputs) || w.tag != "user_input" && kind != ir.ConstantInput {
			continue
		}
		v, err := c.input(s, s.wire.inputs[i], "arg")
		if err != nil {
			return nil, err
		}
		spec := ir.InputSpec{Kind: inputKinds[w.tag], Fixed: w.arg.lit}
		m.Graph.Inputs, m.Inputs = append(m.Graph.Inputs, v), append(m.Inputs, spec)
	}
	var err error
	m.In, err = c.tree("in_spec", c.wire.inSpec, countInputs(m))
	return m, err
}

// narrow notes what a condition says of single symbols, and reports whether that
// is new.
func (g *guard) narrow(e *python) bool {
	if e.op == "and" {
		changed := false
		for _, x := range e.args {
			changed = g.narrow(x) || changed
		}
		return changed
	}
	allowed, ok := map[string]interval{
		"==": {0, 0}, "!=": {0, 0}, "<": {math.MinInt64, -1}, "<=": {math.MinInt64, 0}, ">": {1, math.MaxInt64}, ">=": {0, math.MaxInt64},
	}[e.op]
	if !ok {
		return false
	}
	x, y, err := g.operands(e.args[0], e.args[1])
	if err != nil || !x.exact() || !y.exact() {
		return false
	}
	a, b := sym.Mul(x.expr, sym.Int(y.divisor())), sym.Mul(y.expr, sym.Int(x.divisor()))
	s, r, ok := solve(sym.Sub(a, b), allowed)
	if !ok {
		return false
	}
	lo, hi := s.Expr().Bounds()
	now := interval{max(lo, r.lo), min(hi, r.hi)}
	if e.op == "!=" { // of use at an end of the range
		now = interval{lo, hi}
		if r.lo <= lo && r.hi < math.MaxInt64 {
			now.lo = max(lo, r.hi+1)
		} else if r.hi >= hi && r.lo > math.MinInt64 {
			now.hi = min(hi, r.lo-1)
		}
	}
	if now == (interval{lo, hi}) || now.lo > now.hi {
		return false
	}
	w := g.c.wire.ranges[s.Name]
	given, ok := g.c.wire.narrowed[s.Name]
	if !ok {
		given = interval{math.MinInt64, math.MaxInt64}
	}
	if now.lo > lo {
		w.lo, w.hasLo = now.lo, true
		given.lo = max(given.lo, now.lo)
	}
	if now.hi < hi {
		w.hi, w.hasHi = now.hi, true
		given.hi = min(given.hi, now.hi)
	}
	g.c.wire.ranges[s.Name] = w
	g.c.wire.narrowed[s.Name] = given
	return true
}

// solve returns the values of e's only symbol for which e is in r, where e is
// made of sums, multiples and quotients by constants.
func solve(e sym.Expr, r interval) (*sym.Symbol, interval, bool) {
	terms := e.Terms()
	var term *sym.Term
	rest := int64(0)
	for i := range terms {
		switch {
		case len(terms[i].Atoms) == 0:
			rest = terms[i].Coef
		case term != nil || len(terms[i].Atoms) != 1:
			return nil, r, false
		default:
			term = &terms[i]
		}
	}
	if term == nil || term.Coef == math.MinInt64 || !small(rest) || !small(term.Coef) {
		return nil, r, false
	}
	// coef*x + rest in r
	k := term.Coef
	if k < 0 {
		r, k, rest = interval{negative(r.hi), negative(r.lo)}, -k, -rest
	}
	if r.lo != math.MinInt64 {
		if !small(r.lo) {
			return nil, r, false
		}
		r.lo = ceilDiv(r.lo-rest, k)
	}
	if r.hi != math.MaxInt64 {
		if !small(r.hi) {
			return nil, r, false
		}
		r.hi = floorDiv(r.hi-rest, k)
	}
	switch x := term.Atoms[0]; x.Kind {
	case sym.SymbolAtom:
		return x.Sym, r, true
	case sym.FloorDivAtom:
		d, ok := x.Args[1].Const()
		if !ok || d <= 0 || d > 1<<30 {
			return nil, r, false
		}
		if r.lo != math.MinInt64 {
			if !small(r.lo) {
				return nil, r, false
			}
			r.lo *= d
		}
		if r.hi != math.MaxInt64 {
			if !small(r.hi) {
				return nil, r, false
			}
			r.hi = r.hi*d + d - 1
		}
		return solve(x.Args[0], r)
	}
	return nil, r, false
}

// small reports whether sums and products with n cannot overflow.
func small(n int64) bool { return -1<<31 < n && n < 1<<31 }

func negative(n int64) int64 {
	switch n {
	case math.MinInt64:
		return math.MaxInt64
	case math.MaxInt64:
		return math.MinInt64
	}
	return -n
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
