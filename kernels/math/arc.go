package math

import (
	"math"

	"github.com/etgen/etgen/kernels/expr"
)

// halfPiLo is what π/2 rounded to the format lacks.
func (f form) halfPi() (hi, lo float64) {
	const hi32, hi64 = 0x1.921fb6p+0, 0x1.921fb54442d18p+0
	return pick(f, hi32, hi64), pick(f, math.Pi/2-hi32, 0x1.1a62633145c07p-54)
}

// arcTail returns (asin(t) - t)/t·t², which is small beside t, for |t| ≤ 1/2.
func (f form) asinTail(t, z node) node { return mul(mul(t, z), f.poly(z, pick(f, asin32, asin64))) }

// asinFar returns s and c with asin(√z) = s + c, c small, and s of half the
// bits, for z ≤ 1/4.
func (f form) asinFar(z node) (s, c node) {
	root := expr.Sqrt(z)
	s = f.upper(root)
	// √z - s; the smallest normal number keeps 0/0 away.
	rest := div(sub(z, mul(s, s)), add(add(root, s), f.c(math.Ldexp(1, int(1-f.bias)))))
	return s, add(rest, f.asinTail(root, z))
}

func (f form) asin() *expr.Func {
	return f.fn("asin", "asin(x) within 2 ulp.", func(x node) node {
		a := abs(x)
		near := add(x, f.asinTail(x, mul(x, x)))
		s, c := f.asinFar(mul(f.c(0.5), sub(f.c(1), a)))
		hi, lo := f.halfPi()
		// π/2 - 2(s + c), the large parts first.
		far := f.copysign(add(sub(f.c(hi), mul(f.c(2), s)), sub(f.c(lo), mul(f.c(2), c))), x)
		tiny := pick(f, 0x1p-13, 0x1p-28)
		return sel(lt(a, f.c(tiny)), x, sel(expr.Le(a, f.c(0.5)), near, sel(expr.Le(a, f.c(1)), far,
			f.c(math.NaN()))))
	})
}

func (f form) acos() *expr.Func {
	return f.fn("acos", "acos(x) within 2 ulp.", func(x node) node {
		hi, lo := f.halfPi()
		a := abs(x)
		near := sub(f.c(hi), sub(x, sub(f.c(lo), f.asinTail(x, mul(x, x)))))
		s, c := f.asinFar(mul(f.c(0.5), sub(f.c(1), a)))
		two := f.c(2)
		right := mul(two, add(s, c))
		left := add(sub(f.c(2*hi), mul(two, s)), sub(f.c(2*lo), mul(two, c)))
		return sel(expr.Le(a, f.c(0.5)), near, sel(gt(a, f.c(1)), f.c(math.NaN()),
			sel(lt(x, f.c(0)), left, right)))
	})
}

// atanParts returns hi and rest with atan(a) = hi + rest for a ≥ 0.
func (f form) atanParts(a node) (hi, rest node) {
	one := f.c(1)
	far := gt(a, f.c(2.414213562373095))
	mid := gt(a, f.c(0.41421356237309503))
	// atan(a) = π/2 - atan(1/a) = π/4 + atan((a-1)/(a+1))
	t := sel(far, div(f.c(-1), a), sel(mid, div(sub(a, one), add(a, one)), a))
	z := mul(t, t)
	tail := mul(mul(t, z), f.poly(z, pick(f, atan32, atan64)))
	h, l := f.halfPi()
	zero := f.c(0)
	hi = sel(far, f.c(h), sel(mid, f.c(h/2), zero))
	lo := sel(far, f.c(l), sel(mid, f.c(l/2), zero))
	return hi, add(t, add(tail, lo))
}

func (f form) atan() *expr.Func {
	return f.fn("atan", "atan(x) within 2 ulp.", func(x node) node {
		a := abs(x)
		hi, rest := f.atanParts(a)
		tiny := pick(f, 0x1p-13, 0x1p-28)
		return sel(lt(a, f.c(tiny)), x, f.copysign(add(hi, rest), x))
	})
}

func (f form) atan2(atan *expr.Func) *expr.Func {
	return f.fn2("atan2", "the angle of (x, y) within 3 ulp.", "y", "x", func(y, x node) node {
		ay, ax := abs(y), abs(x)
		zero := f.c(0)
		// Equal covers zeros and infinities, whose quotient is NaN.
		ratio := sel(expr.Eq(ay, ax), sel(expr.Eq(ay, zero), zero, f.c(1)), div(ay, ax))
		t := expr.CallFn(atan, ratio)
		hi, lo := f.halfPi()
		left := lt(f.copysign(f.c(1), x), zero)
		angle := sel(left, sub(f.c(2*hi), sub(t, f.c(2*lo))), t)
		nan := expr.Or(expr.Ne(x, x), expr.Ne(y, y))
		return sel(nan, add(x, y), f.copysign(angle, y))
	})
}
