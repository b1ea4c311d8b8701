package math

import (
	"math"

	"github.com/etgen/etgen/kernels/expr"
)

// split returns m in [√½, √2) and the integer k with x = m·2^k, for finite
// x > 0, subnormals included.
func (f form) split(x node) (m, k node) {
	tiny := lt(x, f.c(math.Ldexp(1, int(1-f.bias))))
	up := f.man + 2
	bits := f.asBits(sel(tiny, mul(x, f.c(math.Ldexp(1, int(up)))), x))
	// Biased such that the exponent changes at √½.
	root := f.asBits(f.c(math.Sqrt2 / 2))
	k = expr.Shr(sub(bits, root), f.i(f.man))
	m = f.asFloat(sub(bits, expr.Shl(k, f.i(f.man))))
	return m, sub(k, sel(tiny, f.i(up), f.i(0)))
}

// logParts returns hfsq and t with log(1+g) = g - (hfsq - t), as exact as
// that allows.
func (f form) logParts(g node) (hfsq, t node) {
	s := div(g, add(f.c(2), g))
	z := mul(s, s)
	hfsq = mul(mul(f.c(0.5), g), g)
	// log(1+g) = 2·atanh(s) = g - s·g + s·z·P and s·g = hfsq - s·hfsq.
	return hfsq, mul(s, add(hfsq, mul(z, f.poly(z, pick(f, log32, log64)))))
}

// logSpecial gives what logarithms are at and beyond the ends of their domain
// (x ≤ 0, infinity, NaN), else y.
func (f form) logSpecial(x, y node) node {
	zero := f.c(0)
	return sel(gt(x, zero), sel(lt(x, f.c(math.Inf(1))), y, x), sel(expr.Eq(x, zero),
		f.c(math.Inf(-1)), f.c(math.NaN())))
}

func (f form) float(n node) node { return expr.Cast(f.d, n) }

func (f form) log() *expr.Func {
	return f.fn("log", "log(x) within 1 ulp.", func(x node) node {
		m, k := f.split(x)
		g := sub(m, f.c(1))
		kf := f.float(k)
		hfsq, t := f.logParts(g)
		y := sub(mul(kf, f.ln2Hi()), sub(sub(hfsq, add(t, mul(kf, f.ln2Lo()))), g))
		return f.logSpecial(x, y)
	})
}

func (f form) log1p() *expr.Func {
	return f.fn("log1p", "log(1 + x) within 2 ulp.", func(x node) node {
		one := f.c(1)
		u := add(one, x)
		m, k := f.split(u)
		// What adding 1 lost, relative to u.
		lost := sel(gt(x, one), sub(one, sub(u, x)), sub(x, sub(u, one)))
		near := expr.Eq(k, f.i(0))
		g := sel(near, x, sub(m, one))
		c := sel(near, f.c(0), div(lost, u))
		kf := f.float(k)
		hfsq, t := f.logParts(g)
		y := sub(mul(kf, f.ln2Hi()), sub(sub(hfsq, add(t, add(mul(kf, f.ln2Lo()), c))), g))
		tiny := pick(f, 0x1p-25, 0x1p-54)
		return sel(lt(abs(x), f.c(tiny)), x, f.logSpecial(u, y))
	})
}

// pair is a constant as hi + lo, hi of so few bits that products with other
// such numbers are exact.
type pair struct{ hi, lo float64 }

// The constants, exactly to the last bit of lo.
const (
	log2E32, log2E64   = 0x1.714p+0, 0x1.715476p+0
	log10E32, log10E64 = 0x1.bcap-2, 0x1.bcb7b1p-2
	log10of2           = math.Ln2 / math.Ln10
	octave32, octave64 = 0x1.344p-2, 0x1.34413509f7p-2
)

// logBase is log(x)/log(base), given 1/log(base) and log(2)/log(base).
func (f form) logBase(name, doc string, scale, octave pair) *expr.Func {
	return f.fn(name, doc, func(x node) node {
		m, k := f.split(x)
		g := sub(m, f.c(1))
		kf := f.float(k)
		hfsq, t := f.logParts(g)
		hi := f.upper(sub(g, hfsq))
		lo := add(sub(sub(g, hi), hfsq), t)
		y := add(add(mul(add(lo, hi), f.c(scale.lo)), mul(lo, f.c(scale.hi))),
			mul(kf, f.c(octave.lo)))
		// Adding k last loses least: it is exact times its factor.
		return f.logSpecial(x, add(add(y, mul(hi, f.c(scale.hi))), mul(kf, f.c(octave.hi))))
	})
}

func (f form) log2() *expr.Func {
	scale := pick(f, pair{log2E32, math.Log2E - log2E32}, pair{log2E64, math.Log2E - log2E64})
	return f.logBase("log2", "log2(x) within 2 ulp.", scale, pair{1, 0})
}

func (f form) log10() *expr.Func {
	scale := pick(f, pair{log10E32, math.Log10E - log10E32}, pair{log10E64, math.Log10E - log10E64})
	octave := pick(f, pair{octave32, log10of2 - octave32}, pair{octave64, log10of2 - octave64})
	return f.logBase("log10", "log10(x) within 2 ulp.", scale, octave)
}
