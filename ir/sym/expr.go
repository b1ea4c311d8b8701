package sym

import (
	"cmp"
	"slices"
)

// Expr is an integer expression. It is immutable and the zero value is 0.
// Expressions are compared with Equal; == does not compile.
type Expr struct {
	c int64  // the constant
	t []term // the rest, sorted by compareMonos, no equal products, no zero coefficients
}

// term is coef times the product of mono, which is sorted and not empty.
type term struct {
	coef int64
	mono []*atom
}

// Term is a summand of an expression: Coef times the product of Atoms. The
// constant has no atoms.
type Term struct {
	Coef  int64
	Atoms []Atom
}

// Int returns the constant n.
func Int(n int64) Expr { return Expr{c: n} }

// Const returns the value of a constant expression, and whether it is one.
func (e Expr) Const() (int64, bool) { return e.c, len(e.t) == 0 }

// IsZero reports whether e is the constant 0.
func (e Expr) IsZero() bool { return e.Is(0) }

// Is reports whether e is the constant n.
func (e Expr) Is(n int64) bool { return e.c == n && len(e.t) == 0 }

// Undefined reports whether e has no value because arithmetic on constants
// overflowed int64 or a divisor was the constant 0.
func (e Expr) Undefined() bool {
	return len(e.t) == 1 && e.t[0].mono[0].Kind == UndefinedAtom
}

func undefined() Expr { return newAtom(UndefinedAtom) }

// Equal reports whether two expressions have the same canonical form: then
// they are equal for all values of their symbols. Two undefined expressions
// have the same form.
func (e Expr) Equal(f Expr) bool {
	if e.c != f.c || len(e.t) != len(f.t) {
		return false
	}
	if len(e.t) == 0 || &e.t[0] == &f.t[0] {
		return true
	}
	for i := range e.t {
		if e.t[i].coef != f.t[i].coef || !equalMonos(e.t[i].mono, f.t[i].mono) {
			return false
		}
	}
	return true
}

// AllEqual reports whether two lists are certainly equal, one by one.
func AllEqual(a, b []Expr) bool { return slices.EqualFunc(a, b, Expr.Equal) }

// compare is a total order on expressions.
func (e Expr) compare(f Expr) int {
	for i := 0; i < len(e.t) && i < len(f.t); i++ {
		if c := compareMonos(e.t[i].mono, f.t[i].mono); c != 0 {
			return c
		}
		if c := cmp.Compare(e.t[i].coef, f.t[i].coef); c != 0 {
			return c
		}
	}
	if len(e.t) != len(f.t) {
		return len(f.t) - len(e.t)
	}
	return cmp.Compare(e.c, f.c)
}

func (e Expr) hash() uint64 {
	h := mix(uint64(e.c), uint64(len(e.t)))
	for _, t := range e.t {
		h = mix(h, uint64(t.coef))
		for _, a := range t.mono {
			h = mix(h, a.hash)
		}
	}
	return h
}

func (e Expr) uses() (m uint64) {
	for _, t := range e.t {
		for _, a := range t.mono {
			m |= a.uses
		}
	}
	return m
}

func (e Expr) deps() (m uint64) {
	for _, t := range e.t {
		for _, a := range t.mono {
			m |= a.deps
		}
	}
	return m
}

// size returns the number of atoms in the tree, saturating at maxSize.
func (e Expr) size() int {
	n := 0
	for _, t := range e.t {
		for _, a := range t.mono {
			n = min(n+a.size, maxSize)
		}
	}
	return n
}

// only returns the atom a of an expression that is just a.
func (e Expr) only() *atom {
	if e.c == 0 && len(e.t) == 1 && e.t[0].coef == 1 && len(e.t[0].mono) == 1 {
		return e.t[0].mono[0]
	}
	return nil
}

// Terms returns the summands of e in the order in which they read best: higher
// degree first, then positive ones, then larger coefficients, then by name,
// and the constant last. The terms of 0 are none.
func (e Expr) Terms() []Term {
	var out []Term
	for _, t := range e.display() {
		atoms := make([]Atom, len(t.mono))
		for i, a := range t.mono {
			atoms[i] = a.Atom
		}
		out = append(out, Term{Coef: t.coef, Atoms: atoms})
	}
	if e.c != 0 {
		out = append(out, Term{Coef: e.c})
	}
	return out
}

// Uses reports whether e mentions s, inside atoms too.
func (e Expr) Uses(s *Symbol) bool {
	s.Expr()
	return e.mentions(&s.atom)
}

func (e Expr) mentions(s *atom) bool {
	for _, t := range e.t {
		for _, a := range t.mono {
			if a.uses&s.uses == 0 {
				continue
			}
			if a == s {
				return true
			}
			for _, x := range a.Args {
				if x.mentions(s) {
					return true
				}
			}
		}
	}
	return false
}

// Symbols returns the symbols e mentions, inside atoms too, each once, in the
// order of their first appearance in String.
func (e Expr) Symbols() []*Symbol {
	return e.appendSymbols(nil)
}

func (e Expr) appendSymbols(out []*Symbol) []*Symbol {
	for _, t := range e.display() {
	atoms:
		for _, a := range t.mono {
			for _, x := range a.Args {
				out = x.appendSymbols(out)
			}
			if a.Kind != SymbolAtom {
				continue
			}
			for _, s := range out {
				if s == a.Sym {
					continue atoms
				}
			}
			out = append(out, a.Sym)
		}
	}
	return out
}

// AnySymbol reports whether f holds for a symbol that e mentions, inside atoms too.
func (e Expr) AnySymbol(f func(*Symbol) bool) bool {
	for _, t := range e.t {
		for _, a := range t.mono {
			if a.Kind == SymbolAtom && f(a.Sym) {
				return true
			}
			for _, x := range a.Args {
				if x.AnySymbol(f) {
					return true
				}
			}
		}
	}
	return false
}

// divisor finds what e divides by that may be 0, inside atoms too.
func (e Expr) divisor() (d Expr, found bool) {
	for _, t := range e.t {
		for _, a := range t.mono {
			if a.Kind == FloorDivAtom || a.Kind == ModAtom {
				if lo, hi := a.Args[1].Bounds(); lo <= 0 && hi >= 0 {
					return a.Args[1], true
				}
			}
			for _, x := range a.Args {
				if d, found = x.divisor(); found {
					return d, true
				}
			}
		}
	}
	return Expr{}, false
}

// Coef splits e into coef*s + rest, neither of which mentions s. It reports
// false if that cannot be done: s appears inside an atom or to a higher power.
func (e Expr) Coef(s *Symbol) (coef, rest Expr, linear bool) {
	s.Expr()
	coef, rest = e.split(&s.atom)
	if coef.mentions(&s.atom) || rest.mentions(&s.atom) {
		return Expr{}, Expr{}, false
	}
	return coef, rest, true
}

// split returns coef and rest with e = coef*a + rest and no factor a in any
// product of rest. Both may mention a otherwise.
func (e Expr) split(a *atom) (coef, rest Expr) {
	rest.c = e.c
	one := [1]*atom{a}
	for _, t := range e.t {
		if q, ok := divMonos(t.mono, one[:]); !ok {
			rest.t = append(rest.t, t)
		} else if len(q) == 0 {
			coef.c = t.coef
		} else {
			// Dividing products by a common factor keeps their order.
			coef.t = append(coef.t, term{coef: t.coef, mono: q})
		}
	}
	return coef, rest
}
