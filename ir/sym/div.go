package sym

// FloorDiv returns a/b rounded to minus infinity.
func FloorDiv(a, b Expr) Expr {
	if r, done := divTrivial(FloorDivAtom, a, b); done {
		return r
	}
	if negative(b) {
		return FloorDiv(Neg(a), Neg(b))
	}
	// (q*b + r)//b = q + r//b
	q, r, k, ok := quotient(a, b)
	if ok {
		return Add(q, Int(k))
	}
	// (g*y + rem)//(g*n) = y//n with 0 ≤ rem < g and n > 0
	if s, ok := scale(r, b); ok {
		return Add(q, FloorDiv(s.y, s.n))
	}
	// (x//m + t)//b = (x + t*m)//(m*b) with b > 0
	if x, d, ok := mergeDivs(r, b); ok && positive(b) {
		return Add(q, FloorDiv(x, d))
	}
	// (x mod (b*n))//b = (x//b) mod n with b, n > 0
	if m := r.only(); m != nil && m.Kind == ModAtom {
		if n, ok := divideExact(m.Args[1], b); ok && positive(n) && positive(b) {
			return Add(q, Mod(FloorDiv(m.Args[0], b), n))
		}
	}
	return Add(q, newAtom(FloorDivAtom, r, b))
}

// Mod returns a - b*FloorDiv(a, b), which has the sign of b.
func Mod(a, b Expr) Expr {
	if r, done := divTrivial(ModAtom, a, b); done {
		return r
	}
	if negative(b) {
		return Neg(Mod(Neg(a), Neg(b)))
	}
	_, r, k, ok := quotient(a, b)
	if ok {
		return recombine(addScaled(r, mulTerm(b, k, nil), -1))
	}
	// (k*(x mod d) + t) mod b = (k*x + t) mod b with k*d a multiple of b
	if x, ok := dropMods(r, b); ok {
		return Mod(x, b)
	}
	// (g*y + rem) mod (g*n) = g*(y mod n) + rem with 0 ≤ rem < g and n > 0
	if s, ok := scale(r, b); ok {
		return Add(mul(s.g, Mod(s.y, s.n)), s.rem)
	}
	return newAtom(ModAtom, r, b)
}

// divTrivial handles undefined operands, constants, and divisors of 1 and -1.
func divTrivial(kind AtomKind, a, b Expr) (Expr, bool) {
	if a.Undefined() {
		return a, true
	}
	if b.Undefined() {
		return b, true
	}
	n, bConst := b.Const()
	if bConst && n == 0 {
		return undefined(), true
	}
	c, aConst := a.Const()
	if aConst && c == 0 {
		return Expr{}, true
	}
	if kind == FloorDivAtom {
		switch {
		case bConst && n == 1:
			return a, true
		case aConst && bConst:
			if q, ok := floorDivOK(c, n); ok {
				return Int(q), true
			}
			return undefined(), true
		}
		return Expr{}, false
	}
	switch {
	case bConst && (n == 1 || n == -1):
		return Expr{}, true
	case aConst && bConst:
		r := mod(c, n)
		return Int(r), true
	}
	return Expr{}, false
}

// negative reports whether b < 0 is known.
func negative(b Expr) bool {
	if n, ok := b.Const(); ok {
		return n < 0
	}
	return b.interval().hi < 0
}

// positive reports whether b > 0 is provable.
func positive(b Expr) bool { return NonNegative(addScaled(b, Int(1), -1)) }

// quotient returns q and r with a = q*b + r. If k*b ≤ r < (k+1)*b is provable
// for a constant k, it returns that and true.
func quotient(a, b Expr) (q, r Expr, k int64, ok bool) {
	q, r = divide(a, b)
	if next, ok := recombineOnce(r); ok {
		// Reducing coefficients has made two halves of a division meet.
		p, r, k, ok := quotient(recombine(next), b)
		return addScaled(q, p, 1), r, k, ok
	}
	if k, ok = multiple(r, b); ok {
		return q, r, k, true
	}
	// Dividing by a sum is a guess that must at least shorten the dividend.
	if isSum(b) && len(r.t) >= len(a.t) && len(q.t) > 0 {
		q, r = Expr{}, a
		k, ok = multiple(r, b)
	}
	return q, r, k, ok
}

func isSum(b Expr) bool { return len(b.t) > 1 || len(b.t) == 1 && b.c != 0 }

// multiple finds a constant k for which k*b ≤ r < (k+1)*b is provable.
func multiple(r, b Expr) (k int64, ok bool) {
	if r.IsZero() {
		return 0, true
	}
	if n, isConst := b.Const(); isConst {
		if n <= 0 {
			return 0, false
		}
		lo, hi := r.Bounds()
		if isInfinite(lo, hi) {
			return 0, false
		}
		k, _ = floorDivOK(lo, n)
		last, _ := floorDivOK(hi, n)
		return k, k == last
	}
	last := addScaled(b, Int(1), -1)
	if NonNegative(r) && NonNegative(addScaled(last, r, -1)) {
		return 0, true
	}
	if NonNegative(addScaled(b, r, 1)) && NonNegative(addScaled(Int(-1), r, -1)) {
		return -1, true
	}
	return 0, false
}

// scaled says that a dividend is g*y + rem and its divisor g*n, n > 0, 0 ≤ rem < g.
type scaled struct{ g, y, rem, n Expr }

// maxScales bounds how many common factors scale tries.
const maxScales = 8

// scale looks for a factor g of b and of part of r such that what is left of r
// stays within [0, g).
func scale(r, b Expr) (scaled, bool) {
	n, mono, ok := content(b)
	if !ok || n == 1 && len(mono) == 0 {
		return scaled{}, false
	}
	var tried [maxScales]Expr
	count := 0
	// Larger factors first would be best, but any that fits leads there: what
	// remains is divided again.
next:
	for _, t := range r.t {
		gn, ok := gcd(n, t.coef)
		if !ok {
			continue
		}
		g := mulTerm(Int(gn), 1, gcdMonos(mono, t.mono))
		if g.Is(1) {
			continue
		}
		for _, other := range tried[:count] {
			if other.Equal(g) {
				continue next
			}
		}
		if count == maxScales {
			break
		}
		tried[count] = g
		count++
		if s, ok := scaleBy(g, r, b); ok {
			return s, true
		}
	}
	return scaled{}, false
}

func scaleBy(g, r, b Expr) (scaled, bool) {
	n, ok := divideExact(b, g)
	if !ok {
		return scaled{}, false
	}
	y, rem := divide(r, g)
	if rem.IsZero() {
		return scaled{g: g, y: y, n: n}, true
	}
	k, ok := multiple(rem, g)
	if !ok || !positive(n) {
		return scaled{}, false
	}
	y = addScaled(y, Int(k), 1)
	rem = addScaled(rem, mulTerm(g, k, nil), -1)
	if y.Undefined() || rem.Undefined() {
		return scaled{}, false
	}
	return scaled{g: g, y: y, rem: rem, n: n}, true
}

// mergeDivs turns (x//m + t)//b into the dividend x + t*m and the divisor m*b
// if there is exactly one such x//m. It relies on b > 0.
func mergeDivs(r, b Expr) (x, d Expr, ok bool) {
	var div *atom
	var t Expr
	for _, s := range r.t {
		if s.coef == 1 && len(s.mono) == 1 && s.mono[0].Kind == FloorDivAtom {
			if div != nil {
				return Expr{}, Expr{}, false
			}
			div = s.mono[0]
			t = addScaled(r, Expr{t: []term{s}}, -1)
		}
	}
	if div == nil {
		return Expr{}, Expr{}, false
	}
	x = recombine(addScaled(div.Args[0], mul(t, div.Args[1]), 1))
	d = mul(div.Args[1], b)
	return x, d, !x.Undefined() && !d.Undefined()
}

// dropMods replaces x mod d by x in those terms of r where that changes r by a
// multiple of b, and reports whether there were any.
func dropMods(r, b Expr) (Expr, bool) {
	out, found := r, false
	for _, t := range r.t {
		for i, a := range t.mono {
			if a.Kind != ModAtom || i > 0 && t.mono[i-1] == a {
				continue
			}
			others := without(t.mono, i)
			step := mulTerm(a.Args[1], t.coef, others)
			if _, ok := divideExact(step, b); !ok || step.Undefined() {
				continue
			}
			next := addScaled(out, Expr{t: []term{t}}, -1)
			next = addScaled(next, mulTerm(a.Args[0], t.coef, others), 1)
			if next.Undefined() {
				continue
			}
			out, found = next, true
			break
		}
	}
	return recombine(out), found
}

// without returns mono without its i-th factor.
func without(mono []*atom, i int) []*atom {
	if len(mono) == 1 {
		return nil
	}
	out := make([]*atom, 0, len(mono)-1)
	return append(append(out, mono[:i]...), mono[i+1:]...)
}
