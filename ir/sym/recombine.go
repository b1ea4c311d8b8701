package sym

// recombineTerms is the length of the longest sum in which halves are sought.
const recombineTerms = 64

// recombine puts quotients and remainders of the same division back together:
//
//	k*d*(x//d) + k*(x mod d)               = k*x
//	k*d*((x//d + z) mod n) + k*(x mod d)   = k*((x + d*z) mod (d*n))   with n > 0
//
// Here k is any product. Every step leaves fewer atoms.
func recombine(e Expr) Expr {
	for {
		next, ok := recombineOnce(e)
		if !ok {
			return e
		}
		e = next
	}
}

func recombineOnce(e Expr) (Expr, bool) {
	if len(e.t) < 2 || len(e.t) > recombineTerms {
		return e, false
	}
	for i, t := range e.t {
		for j, a := range t.mono {
			if a.Kind != ModAtom || !hasPartner(e, i, a) {
				continue
			}
			m := remainder{e: e, t: t, x: a.Args[0], d: a.Args[1], k: without(t.mono, j)}
			m.q = FloorDiv(m.x, m.d)
			if r, ok := m.withQuotient(); ok {
				return r, true
			}
			if r, ok := m.withMod(i); ok {
				return r, true
			}
		}
	}
	return e, false
}

// hasPartner reports whether a term other than the i-th has a coefficient that
// is a multiple of the i-th's, and a division in it of some symbol of a.
func hasPartner(e Expr, i int, a *atom) bool {
	coef := e.t[i].coef
	for j, t := range e.t {
		if j == i || coef != -1 && t.coef%coef != 0 {
			continue
		}
		for _, b := range t.mono {
			if b.isDivision() && b.uses&a.uses != 0 {
				return true
			}
		}
	}
	return false
}

// remainder is a term t = t.coef * k * (x mod d) of the sum e; q is x//d.
type remainder struct {
	e    Expr
	t    term
	x, d Expr
	k    []*atom
	q    Expr
}

// withQuotient looks for the term that completes t to t.coef*k*x.
func (m remainder) withQuotient() (Expr, bool) {
	dq := mulTerm(mul(m.d, m.q), m.t.coef, m.k)
	if dq.Undefined() || !shareDivision(dq, m.e) {
		return Expr{}, false
	}
	r := addScaled(m.e, Expr{t: []term{m.t}}, -1)
	r = addScaled(r, dq, -1)
	r = addScaled(r, mulTerm(m.x, m.t.coef, m.k), 1)
	return r, !r.Undefined() && r.size() < m.e.size()
}

// shareDivision reports whether a term with a division appears in both.
func shareDivision(a, b Expr) bool {
	for _, t := range a.t {
		for _, f := range t.mono {
			if !f.isDivision() {
				continue
			}
			for _, u := range b.t {
				if u.coef == t.coef && equalMonos(u.mono, t.mono) {
					return true
				}
			}
			break
		}
	}
	return false
}

// withMod looks for a term t.coef * k * d * (y mod n), y = q + z.
func (m remainder) withMod(i int) (Expr, bool) {
	if isSum(m.d) {
		return Expr{}, false
	}
	want := mulTerm(m.d, m.t.coef, m.k)
	if want.Undefined() {
		return Expr{}, false
	}
	for j, u := range m.e.t {
		for p, b := range u.mono {
			if j == i || b.Kind != ModAtom ||
				!mulTerm(Int(u.coef), 1, without(u.mono, p)).Equal(want) {
				continue
			}
			y, n := b.Args[0], b.Args[1]
			if !positive(n) {
				continue
			}
			z := addScaled(y, m.q, -1)
			x := Mod(addScaled(m.x, mul(m.d, z), 1), mul(m.d, n))
			r := addScaled(m.e, Expr{t: []term{m.t}}, -1)
			r = addScaled(r, Expr{t: []term{u}}, -1)
			r = addScaled(r, mulTerm(x, m.t.coef, m.k), 1)
			if !r.Undefined() && r.size() < m.e.size() {
				return r, true
			}
		}
	}
	return Expr{}, false
}
