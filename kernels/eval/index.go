package eval

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
)

type intFn = func(*frame) int64

// index compiles an index expression.
func (c *compiler) index(e sym.Expr) intFn {
	if n, ok := e.Const(); ok {
		return func(*frame) int64 { return n }
	}
	if e.Undefined() {
		must.Fail("index expression overflows")
	}
	var parts []part
	constant := int64(0)
	var rest intFn // of other terms than those
	for _, t := range e.Terms() {
		switch {
		case len(t.Atoms) == 0:
			constant = t.Coef
		case len(t.Atoms) == 1 && t.Atoms[0].Kind == sym.SymbolAtom:
			parts = append(parts, part{c.boundSymbol(t.Atoms[0].Sym), t.Coef})
		case rest == nil:
			rest = c.product(t)
		default:
			f, g := rest, c.product(t)
			rest = func(fr *frame) int64 { return f(fr) + g(fr) }
		}
	}
	switch first := linear(parts, constant); {
	case rest == nil:
		return first
	case len(parts) == 0 && constant == 0:
		return rest
	default:
		return func(fr *frame) int64 { return first(fr) + rest(fr) }
	}
}

// part is a symbol with a constant factor.
type part struct {
	slot int
	coef int64
}

// linear compiles a sum of parts, which most indices are, as one function.
func linear(parts []part, constant int64) intFn {
	switch len(parts) {
	case 1:
		a := parts[0]
		return func(fr *frame) int64 { return constant + a.coef*fr.ints[a.slot] }
	case 2:
		a, b := parts[0], parts[1]
		return func(fr *frame) int64 {
			return constant + a.coef*fr.ints[a.slot] + b.coef*fr.ints[b.slot]
		}
	case 3:
		a, b, d := parts[0], parts[1], parts[2]
		return func(fr *frame) int64 {
			return constant + a.coef*fr.ints[a.slot] + b.coef*fr.ints[b.slot] +
				d.coef*fr.ints[d.slot]
		}
	}
	return func(fr *frame) int64 {
		n := constant
		for _, p := range parts {
			n += p.coef * fr.ints[p.slot]
		}
		return n
	}
}

// product compiles a term that is no part.
func (c *compiler) product(t sym.Term) intFn {
	product := c.atom(t.Atoms[0])
	for _, a := range t.Atoms[1:] {
		x, y := product, c.atom(a)
		product = func(fr *frame) int64 { return x(fr) * y(fr) }
	}
	if t.Coef == 1 {
		return product
	}
	return func(fr *frame) int64 { return t.Coef * product(fr) }
}

func (c *compiler) boundSymbol(s *sym.Symbol) int {
	slot, ok := c.syms[s]
	if !ok {
		must.Fail("symbol %s is not bound", s.Name)
	}
	return slot
}

func (c *compiler) atom(a sym.Atom) intFn {
	switch a.Kind {
	case sym.SymbolAtom:
		slot := c.boundSymbol(a.Sym)
		return func(fr *frame) int64 { return fr.ints[slot] }
	case sym.FloorDivAtom, sym.ModAtom:
		x, y := c.index(a.Args[0]), c.index(a.Args[1])
		if a.Kind == sym.ModAtom {
			return func(fr *frame) int64 { _, m := floorDiv(x(fr), y(fr)); return m }
		}
		return func(fr *frame) int64 { q, _ := floorDiv(x(fr), y(fr)); return q }
	case sym.MaxAtom, sym.MinAtom:
		best := c.index(a.Args[0])
		for _, arg := range a.Args[1:] {
			x, y := best, c.index(arg)
			if a.Kind == sym.MaxAtom {
				best = func(fr *frame) int64 { return max(x(fr), y(fr)) }
			} else {
				best = func(fr *frame) int64 { return min(x(fr), y(fr)) }
			}
		}
		return best
	}
	must.Fail("index expression is undefined")
	return nil
}

// floorDiv returns the quotient rounded to minus infinity and the remainder
// with the sign of b.
func floorDiv(a, b int64) (q, m int64) {
	if b == 0 || a == math.MinInt64 && b == -1 {
		must.Fail("index division of %d by %d", a, b)
	}
	q, m = a/b, a%b
	if m != 0 && (m < 0) != (b < 0) {
		q--
		m += b
	}
	return q, m
}

// Index compiles an index expression on its own: the function it returns takes
// the values of symbols at the positions that slot gives them. The error of that
// is a division by zero.
func Index(e sym.Expr,
	slot func(*sym.Symbol) (int, bool)) (func(values []int64) (int64, error), error) {
	if n, ok := e.Const(); ok {
		return func([]int64) (int64, error) { return n, nil }, nil
	}
	c := newCompiler(&loop.Func{})
	for _, s := range e.Symbols() {
		if k, ok := slot(s); ok {
			c.syms[s] = k
		}
	}
	var f intFn
	if err := must.Try(func() { f = c.index(e) }); err != nil {
		return nil, fmt.Errorf("an index: %w", err)
	}
	fr := &frame{}
	return func(values []int64) (n int64, err error) {
		defer must.Catch(&err)
		fr.ints = values
		return f(fr), nil
	}, nil
}
