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
		trial := &converter{wire: c.wire, names: ir.NewNames(&ir.Method{Graph: &ir.Graph{}}),
			symbols: map[string]*sym.Symbol{}, exprs: map[string]sym.Expr{}}
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
		if kind := inputKinds[w.tag]; i >= len(s.wire.inputs) || w.tag != "user_input" &&
			kind != ir.ConstantInput {
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
	if len(e.args) != 2 {
		return false
	}
	x, y, err := g.operands(e.args[0], e.args[1])
	if err != nil || !x.exact() || !y.exact() {
		return false
	}
	a, b := sym.Mul(x.expr, sym.Int(y.divisor())), sym.Mul(y.expr, sym.Int(x.divisor()))
	s, lo, hi, ok := sym.Restrict(sym.Sub(a, b), e.op)
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
