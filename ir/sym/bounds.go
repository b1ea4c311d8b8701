package sym

import (
	"math"
)

// interval holds constant bounds. lo is math.MinInt64 for no lower bound or
// any other value below math.MaxInt64; hi is math.MaxInt64 for no upper bound or
// any other value above math.MinInt64.
type interval struct{ lo, hi int64 }

// clamp returns the interval that says lo ≤ x ≤ hi.
func clamp(lo, hi int64) interval {
	return interval{min(lo, math.MaxInt64-1), max(hi, math.MinInt64+1)}
}

func isInfinite(lo, hi int64) bool { return lo == math.MinInt64 || hi == math.MaxInt64 }

// Bounds returns constants with lo ≤ e ≤ hi for all values in range;
// math.MinInt64 and math.MaxInt64 stand for no bound known. They are tight for
// sums of independent symbols and otherwise only true.
func (e Expr) Bounds() (lo, hi int64) {
	if len(e.t) == 0 {
		return e.c, e.c
	}
	r := e.interval()
	if !e.correlated() {
		return r.lo, r.hi
	}
	p := prover{budget: proofSteps}
	lo = p.lower(e, math.MaxInt64)
	p = prover{budget: proofSteps}
	hi = negLo(p.lower(Neg(e), math.MaxInt64))
	return max(lo, r.lo), min(hi, r.hi)
}

// correlated reports whether the terms of e may depend on each other, so that
// interval arithmetic is too wide.
func (e Expr) correlated() bool {
	var seen uint64
	for _, t := range e.t {
		for _, a := range t.mono {
			if seen&a.deps != 0 {
				return true
			}
			seen |= a.deps
		}
	}
	return false
}

// interval computes bounds by interval arithmetic over the terms.
func (e Expr) interval() interval {
	r := interval{e.c, e.c}
	for _, t := range e.t {
		r = r.add(t.interval())
	}
	return clamp(r.lo, r.hi)
}

func (t term) interval() interval {
	r := interval{t.coef, t.coef}
	for _, a := range t.mono {
		r = r.mul(interval{a.lo, a.hi})
	}
	return r
}

// interval computes the bounds of an atom other than a symbol.
func (a *atom) interval() interval {
	switch a.Kind {
	case FloorDivAtom:
		return bounds(a.Args[0]).floorDiv(bounds(a.Args[1]))
	case ModAtom:
		return bounds(a.Args[0]).mod(bounds(a.Args[1]))
	case MaxAtom, MinAtom:
		r := bounds(a.Args[0])
		for _, x := range a.Args[1:] {
			s := bounds(x)
			if a.Kind == MaxAtom {
				r = interval{max(r.lo, s.lo), max(r.hi, s.hi)}
			} else {
				r = interval{min(r.lo, s.lo), min(r.hi, s.hi)}
			}
		}
		return r
	}
	return interval{math.MinInt64, math.MaxInt64}
}

func bounds(e Expr) interval { return clamp(e.Bounds()) }

// negLo turns a lower bound of x into an upper bound of -x.
func negLo(lo int64) int64 {
	if lo == math.MinInt64 {
		return math.MaxInt64
	}
	return -lo
}

func (r interval) neg() interval {
	s := interval{math.MinInt64, negLo(r.lo)}
	if r.hi != math.MaxInt64 {
		s.lo = -r.hi
	}
	return clamp(s.lo, s.hi)
}

func (r interval) add(s interval) interval {
	return clamp(addSat(r.lo, s.lo, math.MinInt64), addSat(r.hi, s.hi, math.MaxInt64))
}

// addSat adds two bounds of the same side, of which inf means unbounded.
func addSat(a, b, inf int64) int64 {
	if a == inf || b == inf {
		return inf
	}
	if s, ok := addOK(a, b); ok {
		return s
	}
	if a < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// mulSat multiplies two bounds; both extremes of int64 are infinite.
func mulSat(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	infinite := a == math.MinInt64 || a == math.MaxInt64 || b == math.MinInt64 || b == math.MaxInt64
	if p, ok := mulOK(a, b); ok && !infinite {
		return p
	}
	if (a < 0) != (b < 0) {
		return math.MinInt64
	}
	return math.MaxInt64
}

func (r interval) mul(s interval) interval {
	p, q, u, v := mulSat(r.lo, s.lo), mulSat(r.lo, s.hi), mulSat(r.hi, s.lo), mulSat(r.hi, s.hi)
	return clamp(min(p, q, u, v), max(p, q, u, v))
}

func (r interval) floorDiv(d interval) interval {
	if d.hi < 0 {
		r, d = r.neg(), d.neg()
	}
	if d.lo <= 0 && d.hi >= 0 {
		if d.lo < 0 {
			// Of either sign: |x//d| ≤ |x|, and -1 for a small x.
			m := max(negLo(r.lo), r.hi, 1)
			return interval{math.MinInt64, m}.raise(-m, m)
		}
		d.lo = 1 // 0 has no quotient
		d.hi = max(d.hi, 1)
	}
	return clamp(divSat(r.lo, d.lo, d.hi, true), divSat(r.hi, d.lo, d.hi, false))
}

// raise replaces the lower bound by lo unless m is infinite.
func (r interval) raise(lo, m int64) interval {
	if m != math.MaxInt64 {
		r.lo = lo
	}
	return r
}

// divSat returns the least or greatest of x//d for 1 ≤ p ≤ d ≤ q.
func divSat(x, p, q int64, least bool) int64 {
	if x == math.MinInt64 || x == math.MaxInt64 {
		return x
	}
	d := p // the extreme of least magnitude divisor
	if (x >= 0) == least {
		d = q
	}
	if d == math.MaxInt64 {
		if x < 0 {
			return -1
		}
		return 0
	}
	v, _ := floorDivOK(x, d)
	return v
}

func (r interval) mod(d interval) interval {
	out := interval{0, 0}
	if d.lo < 0 {
		out.lo = d.lo
		if d.lo != math.MinInt64 {
			out.lo++
		}
	}
	if d.hi > 0 {
		out.hi = d.hi
		if d.hi != math.MaxInt64 {
			out.hi--
		}
	}
	if r.lo >= 0 && d.lo >= 0 {
		out.hi = min(out.hi, r.hi)
	}
	return clamp(out.lo, out.hi)
}
