package sym

import "math"

// Restrict returns what range a condition leaves to a symbol: that e compares with
// 0 as op says, one of ==, !=, <, <=, > and >=. It reports false if e is not made of
// sums, multiples and quotients by constants of one symbol, if the range is no
// narrower than that of the symbol, and if nothing is left.
func Restrict(e Expr, op string) (s *Symbol, lo, hi int64, ok bool) {
	allowed, ok := map[string]interval{
		"==": {0, 0}, "!=": {0, 0}, "<": {math.MinInt64, -1}, "<=": {math.MinInt64, 0},
		">": {1, math.MaxInt64}, ">=": {0, math.MaxInt64},
	}[op]
	if !ok {
		return nil, 0, 0, false
	}
	s, r, ok := solve(e, allowed)
	if !ok {
		return nil, 0, 0, false
	}
	was := interval{}
	was.lo, was.hi = s.Expr().Bounds()
	now := interval{max(was.lo, r.lo), min(was.hi, r.hi)}
	if op == "!=" { // of use at an end of the range
		now = was
		if r.lo <= was.lo && r.hi < math.MaxInt64 {
			now.lo = max(was.lo, r.hi+1)
		} else if r.hi >= was.hi && r.lo > math.MinInt64 {
			now.hi = min(was.hi, r.lo-1)
		}
	}
	return s, now.lo, now.hi, now != was && now.lo <= now.hi
}

// solve returns the values of e's only symbol for which e is in r, where e is
// made of sums, multiples and quotients by constants.
func solve(e Expr, r interval) (*Symbol, interval, bool) {
	terms := e.Terms()
	var term *Term
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
		r, k, rest = r.neg(), -k, -rest
	}
	if r.lo != math.MinInt64 {
		if !small(r.lo) {
			return nil, r, false
		}
		r.lo = -floorDiv(rest-r.lo, k)
	}
	if r.hi != math.MaxInt64 {
		if !small(r.hi) {
			return nil, r, false
		}
		r.hi = floorDiv(r.hi-rest, k)
	}
	switch x := term.Atoms[0]; x.Kind {
	case SymbolAtom:
		return x.Sym, r, true
	case FloorDivAtom:
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

// floorDiv is a/b rounded towards minus infinity, for a positive b.
func floorDiv(a, b int64) int64 {
	q, _ := floorDivOK(a, b)
	return q
}
