package sym

import (
	"math"
	"slices"
)

// The functions here compute with expressions as polynomials in their atoms.
// They keep the canonical order but apply none of the rules about atoms.

// addScaled returns a + k*b.
func addScaled(a, b Expr, k int64) Expr {
	if a.Undefined() {
		return a
	}
	if b.Undefined() {
		return b
	}
	kc, ok1 := mulOK(b.c, k)
	c, ok2 := addOK(a.c, kc)
	if !ok1 || !ok2 {
		return undefined()
	}
	if len(b.t) == 0 || k == 0 {
		return Expr{c: c, t: a.t}
	}
	if len(a.t) == 0 && k == 1 {
		return Expr{c: c, t: b.t}
	}
	out := make([]term, 0, len(a.t)+len(b.t))
	i, j := 0, 0
	for i < len(a.t) || j < len(b.t) {
		order := 0
		switch {
		case i == len(a.t):
			order = 1
		case j == len(b.t):
			order = -1
		default:
			order = compareMonos(a.t[i].mono, b.t[j].mono)
		}
		if order < 0 {
			out = append(out, a.t[i])
			i++
			continue
		}
		t := b.t[j]
		j++
		var ok bool
		if t.coef, ok = mulOK(t.coef, k); !ok {
			return undefined()
		}
		if order == 0 {
			if t.coef, ok = addOK(t.coef, a.t[i].coef); !ok {
				return undefined()
			}
			i++
		}
		if t.coef != 0 {
			out = append(out, t)
		}
	}
	return Expr{c: c, t: out}
}

// mulTerm returns e * k * mono.
func mulTerm(e Expr, k int64, mono []*atom) Expr {
	switch {
	case e.Undefined():
		return e
	case k == 0:
		return Expr{}
	case k == 1 && len(mono) == 0:
		return e
	}
	var r Expr
	if len(e.t) > 0 || len(mono) > 0 {
		r.t = make([]term, 0, len(e.t)+1)
	}
	for _, t := range e.t {
		coef, ok := mulOK(t.coef, k)
		if !ok {
			return undefined()
		}
		r.t = append(r.t, term{coef: coef, mono: mulMonos(t.mono, mono)})
	}
	c, ok := mulOK(e.c, k)
	if !ok {
		return undefined()
	}
	if len(mono) == 0 {
		r.c = c
	} else if c != 0 {
		// The product is of lower degree than all others or, when equal in
		// degree to none, last: every other product contains it.
		r.t = append(r.t, term{coef: c, mono: mono})
	}
	return r
}

// mul returns a * b.
func mul(a, b Expr) Expr {
	if a.Undefined() {
		return a
	}
	if b.Undefined() {
		return b
	}
	if len(a.t) < len(b.t) {
		a, b = b, a
	}
	switch {
	case len(b.t) == 0:
		return mulTerm(a, b.c, nil)
	case len(b.t) == 1 && b.c == 0:
		return mulTerm(a, b.t[0].coef, b.t[0].mono)
	}
	out := make([]term, 0, (len(a.t)+1)*(len(b.t)+1))
	for _, t := range b.t {
		p := mulTerm(a, t.coef, t.mono)
		if p.Undefined() {
			return p
		}
		out = append(out, p.t...)
	}
	p := mulTerm(a, b.c, nil)
	if p.Undefined() {
		return p
	}
	return collect(p.c, append(out, p.t...))
}

// collect returns the canonical sum of c and the terms, which it overwrites.
func collect(c int64, terms []term) Expr {
	slices.SortStableFunc(terms, func(x, y term) int { return compareMonos(x.mono, y.mono) })
	out := terms[:0]
	for _, t := range terms {
		if n := len(out); n > 0 && equalMonos(out[n-1].mono, t.mono) {
			coef, ok := addOK(out[n-1].coef, t.coef)
			if !ok {
				return undefined()
			}
			if coef == 0 {
				out = out[:n-1]
			} else {
				out[n-1].coef = coef
			}
			continue
		}
		out = append(out, t)
	}
	return Expr{c: c, t: out}
}

// divide returns q and r with a = q*b + r, moving as much of a into q as it
// can term by term. For a constant b > 0 the coefficients of r are smaller than
// b in magnitude, keep their sign, and its constant is in [0, b).
func divide(a, b Expr) (q, r Expr) {
	if n, ok := b.Const(); ok {
		return divideTerm(a, n, nil)
	}
	if len(b.t) == 1 && b.c == 0 {
		return divideTerm(a, b.t[0].coef, b.t[0].mono)
	}
	lead := b.t[0]
	r = a
	for range 32 { // enough for index arithmetic; any partial division is true
		step, ok := leadingQuotient(r, lead)
		if !ok {
			return q, r
		}
		nq, nr := addScaled(q, step, 1), addScaled(r, mul(step, b), -1)
		if nq.Undefined() || nr.Undefined() {
			return q, r
		}
		q, r = nq, nr
	}
	return q, r
}

// leadingQuotient returns the quotient of the first term of r that lead divides.
func leadingQuotient(r Expr, lead term) (Expr, bool) {
	for _, t := range r.t {
		if m, ok := divMonos(t.mono, lead.mono); ok && t.coef%lead.coef == 0 &&
			t.coef != math.MinInt64 {
			return mulTerm(Int(t.coef/lead.coef), 1, m), true
		}
	}
	return Expr{}, false
}

// divideTerm is divide for b = n*mono, n not 0.
func divideTerm(a Expr, n int64, mono []*atom) (q, r Expr) {
	if n == math.MinInt64 || n == -1 { // their quotients may overflow
		return Expr{}, a
	}
	r.c = a.c
	if len(mono) == 0 {
		q.c, _ = floorDivOK(a.c, n)
		r.c = mod(a.c, n)
	}
	for i, t := range a.t {
		k := t.coef / n
		m, ok := t.mono, true
		if k != 0 {
			m, ok = divMonos(t.mono, mono)
		}
		if k == 0 || !ok {
			if r.t == nil {
				r.t = make([]term, 0, len(a.t)-i)
			}
			r.t = append(r.t, t)
			continue
		}
		if len(m) == 0 {
			q.c += k // mono is not empty, so q.c was 0
		} else {
			q.t = append(q.t, term{coef: k, mono: m})
		}
		if rest := t.coef % n; rest != 0 {
			r.t = append(r.t, term{coef: rest, mono: t.mono})
		}
	}
	return q, r
}

// divideExact returns a/b if b divides a as a polynomial.
func divideExact(a, b Expr) (Expr, bool) {
	if b.IsZero() {
		return Expr{}, false
	}
	if b.Is(1) {
		return a, true
	}
	q, r := divide(a, b)
	return q, r.IsZero()
}

// content returns the greatest n*mono that divides every term of e, n > 0.
// It reports false if there is none that fits, as for 0.
func content(e Expr) (n int64, mono []*atom, ok bool) {
	n = e.c
	for i, t := range e.t {
		if n, ok = gcd(n, t.coef); !ok {
			return 0, nil, false
		}
		if e.c != 0 {
			continue
		}
		if i == 0 {
			mono = t.mono
		} else {
			mono = gcdMonos(mono, t.mono)
		}
	}
	n, ok = gcd(n, 0)
	return n, mono, ok && n != 0
}
