package sym

import "math"

// NonNegative reports whether e ≥ 0 is provable for all values in range. It is
// sound, not complete.
func NonNegative(e Expr) bool {
	if len(e.t) == 0 {
		return e.c >= 0
	}
	r := e.interval()
	if r.lo >= 0 {
		return true
	}
	if r.hi < 0 || !e.correlated() {
		return false
	}
	p := prover{budget: proofSteps}
	return p.lower(e, 0) >= 0
}

// LessEq reports whether a ≤ b is provable.
func LessEq(a, b Expr) bool { return atMost(a, b, 0) }

// Less reports whether a < b is provable.
func Less(a, b Expr) bool { return atMost(a, b, 1) }

// atMost reports whether a + gap ≤ b is provable. Where the difference overflows, the
// ranges of both decide.
func atMost(a, b Expr, gap int64) bool {
	if a.Undefined() || b.Undefined() {
		return false
	}
	d := addScaled(addScaled(b, a, -1), Int(gap), -1)
	if !d.Undefined() {
		return NonNegative(d)
	}
	_, hi := a.Bounds()
	lo, _ := b.Bounds()
	return hi < lo || hi == lo && gap == 0
}

const (
	proofSteps = 48 // eliminations in one proof
	proofTerms = 32 // longest sum reasoned about
)

// prover finds lower bounds by eliminating atoms: in e = coef*a + rest with
// coef ≥ 0, a may be replaced by anything never larger. The bounds of a, and
// so the result, may mention other atoms, by which terms cancel that interval
// arithmetic would treat as independent.
type prover struct{ budget int }

// lower returns a constant that e is never below. It stops when that is at
// least want, or when want is out of reach; math.MaxInt64 asks for the best.
func (p *prover) lower(e Expr, want int64) int64 {
	r := e.interval()
	lo := r.lo
	if lo >= want || r.hi < want && want != math.MaxInt64 {
		return lo
	}
	if p.budget <= 0 || len(e.t) > proofTerms || !e.correlated() {
		return lo
	}
	p.budget--
	for _, a := range candidates(e) {
		coef, rest := e.split(a)
		sign := p.sign(coef)
		if sign == 0 && a.hi-a.lo == 1 && !isInfinite(a.lo, a.hi) { // e has two values
			with := func(n int64) int64 {
				return p.lower(addScaled(rest, mulTerm(coef, n, nil), 1), want)
			}
			return max(lo, min(with(a.lo), with(a.hi)))
		}
		if sign == 0 {
			continue
		}
		l, ok := p.eliminate(a, coef, rest, sign, want)
		if !ok {
			continue
		}
		return max(lo, l)
	}
	return lo
}

// sign returns 1 if e ≥ 0, -1 if e ≤ 0 and 0 if neither is provable.
func (p *prover) sign(e Expr) int {
	r := e.interval()
	switch {
	case r.lo >= 0:
		return 1
	case r.hi <= 0:
		return -1
	case p.lower(e, 0) >= 0:
		return 1
	case p.lower(mulTerm(e, -1, nil), 0) >= 0:
		return -1
	}
	return 0
}

// candidates returns the atoms of e in the order in which to eliminate them:
// divisions, maxima and minima, then symbols, those first that no bound of
// another one mentions.
func candidates(e Expr) []*atom {
	var atoms, symbols []*atom
	for _, t := range e.t {
	factors:
		for _, a := range t.mono {
			list := &atoms
			if a.Kind == SymbolAtom {
				list = &symbols
			}
			for _, b := range *list {
				if a.equal(b) {
					continue factors
				}
			}
			*list = append(*list, a)
		}
	}
	out := atoms
	for len(symbols) > 0 {
		i := innermost(symbols)
		out = append(out, symbols[i])
		symbols = append(symbols[:i], symbols[i+1:]...)
	}
	return out
}

// innermost returns the index of a symbol that no bound of another mentions.
func innermost(symbols []*atom) int {
next:
	for i, a := range symbols {
		for j, b := range symbols {
			if i != j && (b.Sym.Lo.mentions(a) || b.Sym.Hi.mentions(a)) {
				continue next
			}
		}
		return i
	}
	return 0
}

// eliminate returns a lower bound of coef*a + rest, where coef has the given
// sign. It reports false if it knows no bound of a that could help.
func (p *prover) eliminate(a *atom, coef, rest Expr, sign int, want int64) (int64, bool) {
	with := func(x Expr) int64 { return p.lower(addScaled(rest, mul(coef, x), 1), want) }
	switch a.Kind {
	case SymbolAtom:
		bound := a.Sym.Lo
		if sign < 0 {
			bound = a.Sym.Hi
		}
		if bound.Is(math.MinInt64) || bound.Is(math.MaxInt64) {
			return 0, false
		}
		return with(bound), true
	case FloorDivAtom:
		return p.eliminateDiv(a, coef, rest, sign, want)
	case ModAtom:
		x, d := a.Args[0], a.Args[1]
		if d.interval().lo < 1 {
			return 0, false
		}
		if sign > 0 {
			return with(Expr{}), true
		}
		l := with(addScaled(d, Int(1), -1))
		if l < want && x.interval().lo >= 0 {
			l = max(l, with(x))
		}
		return l, true
	case MaxAtom, MinAtom:
		// The value is one of the arguments, so the worst of them is a bound;
		// where the atom is beyond all of them in the useful direction, so is
		// the best.
		best, worst := int64(math.MinInt64), int64(math.MaxInt64)
		for _, x := range a.Args {
			l := with(x)
			best, worst = max(best, l), min(worst, l)
		}
		if (a.Kind == MaxAtom) == (sign > 0) {
			return best, true
		}
		return worst, true
	}
	return 0, false
}

// eliminateDiv is eliminate for a = x//d, by x-d+1 ≤ d*a ≤ x.
func (p *prover) eliminateDiv(a *atom, coef, rest Expr, sign int, want int64) (int64, bool) {
	x, d := a.Args[0], a.Args[1]
	if d.interval().lo < 1 {
		return 0, false
	}
	if sign > 0 {
		x = addScaled(addScaled(x, d, -1), Int(1), 1)
	}
	e := addScaled(mul(d, rest), mul(coef, x), 1) // ≤ d times what is wanted
	n, ok := d.Const()
	if !ok {
		// d*value > -d means value ≥ 0.
		if p.lower(addScaled(addScaled(e, d, 1), Int(1), -1), 0) >= 0 {
			return 0, true
		}
		return 0, false
	}
	l := p.lower(e, mulSat(want, n))
	if l == math.MinInt64 {
		return 0, false
	}
	// The value is an integer: round up.
	q, _ := floorDivOK(l, n)
	if mod(l, n) != 0 {
		q++
	}
	return q, true
}
