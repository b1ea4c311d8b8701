package math

import (
	"math"

	"github.com/etgen/etgen/kernels/expr"
)

// third is 2/(3·ln2).
const (
	third                = 2 / (3 * math.Ln2)
	third32, third64     = 0x1.ec6p-1, 0x1.ec709dp-1
	ln2Half32, ln2Half64 = 0x1.62ep-1, 0x1.62e42ep-1
)

// log2Parts returns log2(x) for finite x > 0 as hi + lo, hi of half the bits,
// with about ten bits more than the format has.
func (f form) log2Parts(x node) (hi, lo node) {
	m, k := f.split(x)
	one := f.c(1)
	// s = (m-1)/(m+1) = sh + sl.
	u, v := sub(m, one), add(m, one)
	inv := div(one, v)
	s := mul(u, inv)
	sh := f.upper(s)
	vh := f.upper(v)
	vl := sub(m, sub(vh, one))
	sl := mul(inv, sub(sub(u, mul(sh, vh)), mul(sh, vl)))
	s = add(sh, sl)
	// 3·atanh(s) = s·(3 + s² + s⁴·P): th + tl is what s is multiplied with.
	z := mul(s, s)
	r := add(mul(mul(z, z), f.poly(z, pick(f, atanh32, atanh64))), mul(sl, add(sh, s)))
	zh := mul(sh, sh)
	three := f.c(3)
	th := f.upper(add(add(three, zh), r))
	tl := sub(r, sub(sub(th, three), zh))
	p := mul(sh, th)
	q := add(mul(sl, th), mul(tl, s))
	ph := f.upper(add(p, q))
	pl := sub(q, sub(ph, p))
	// Times 2/(3·ln2), plus the exponent.
	c := pick(f, pair{third32, third - third32}, pair{third64, third - third64})
	wh := mul(f.c(c.hi), ph)
	wl := add(mul(f.c(c.lo), ph), mul(pl, f.c(third)))
	kf := f.float(k)
	hi = f.upper(add(add(wh, wl), kf))
	return hi, sub(wl, sub(sub(hi, kf), wh))
}

// exp2Parts returns 2^(hi + lo), lo small beside hi.
func (f form) exp2Parts(hi, lo node) node {
	nf, n := f.nearest(add(hi, lo))
	rest := sub(hi, nf)
	th := f.upper(add(rest, lo))
	tl := sub(lo, sub(th, rest))
	ln2 := pick(f, pair{ln2Half32, math.Ln2 - ln2Half32}, pair{ln2Half64, math.Ln2 - ln2Half64})
	u := mul(th, f.c(ln2.hi))
	v := add(mul(tl, f.c(math.Ln2)), mul(th, f.c(ln2.lo)))
	z := add(u, v)
	w := sub(v, sub(z, u))
	p := add(z, add(w, add(mul(mul(z, z), f.poly(z, pick(f, exp32, exp64))), mul(z, w))))
	return f.ldexp(add(f.c(1), p), n)
}

func (f form) pow() *expr.Func {
	return f.fn2("pow", "x^y within 2 ulp.", "x", "y", func(x, y node) node {
		one, zero, inf := f.c(1), f.c(0), f.c(math.Inf(1))
		a := abs(x)
		// No x but 1 has a smaller logarithm than 2^-(man+1): larger exponents
		// change nothing.
		big := math.Ldexp(1, int(f.man)+14)
		yc := f.clamp(y, -big, big)
		lh, ll := f.log2Parts(a)
		yh := f.upper(yc)
		ph := mul(yh, lh)
		pl := add(mul(sub(yc, yh), lh), mul(yc, ll))
		limit := float64(pick(f, 160, 1090))
		sum := add(ph, pl)
		over, under := gt(sum, f.c(limit)), lt(sum, f.c(-limit))
		ph = sel(over, f.c(limit), sel(under, f.c(-limit), ph))
		pl = sel(expr.Or(over, under), zero, pl)
		mag := f.exp2Parts(ph, pl)

		// 0 and infinity have no logarithm; y is not 0 there.
		grows := expr.Eq(lt(y, zero), lt(a, one))
		mag = sel(expr.Or(expr.Eq(a, zero), expr.Eq(a, inf)), sel(grows, inf, zero), mag)

		whole := expr.Eq(expr.Trunc(y), y)
		half := mul(f.c(0.5), y)
		odd := expr.And(whole, expr.Ne(expr.Trunc(half), half))
		below := lt(f.copysign(one, x), zero)
		signed := sel(expr.And(below, odd), neg(mag), mag)
		// Negative finite numbers have real powers for integers only; at
		// infinities every exponent is even.
		bad := expr.And(expr.And(lt(x, zero), gt(x, neg(inf))), expr.Not(whole))
		nan := expr.Or(expr.Ne(x, x), expr.Ne(y, y))
		certain := expr.Or(expr.Eq(y, zero), expr.Eq(x, one))
		unit := expr.And(expr.Eq(a, one), expr.Eq(abs(y), inf))
		return sel(expr.Or(certain, unit), one,
			sel(nan, add(x, y), sel(bad, f.c(math.NaN()), signed)))
	})
}
