package math

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// quadrant returns r and the integer n (of which the last two bits matter)
// with x = n·π/2 + r, |r| ≤ π/4.
func (f form) quadrant(x node) (r, n node) {
	if f == f32 {
		return f.quadrant32(x)
	}
	return f.quadrant64(x)
}

// halfPi is π/2 in parts that, but for the last, have so few bits that their
// products with n are exact.
var (
	halfPi32 = [3]float64{0x1.921ep+0, 0x1.b544p-16, 0x1.0b4611a62633145c06ep-34}
	halfPi64 = [3]float64{0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e03707344a4p-69}
)

func (f form) cody(x node, parts [3]float64) (r, n node) {
	nf, n := f.nearest(mul(x, f.c(2/math.Pi)))
	r = x
	for _, p := range parts {
		r = sub(r, mul(nf, f.c(p)))
	}
	return r, n
}

// Beyond these arguments n has too many bits for the parts above.
const (
	near32 = 400
	near64 = 1 << 20
)

func (f form) quadrant32(x node) (r, n node) {
	r, n = f.cody(x, halfPi32)
	far := expr.Not(expr.Le(abs(x), f.c(near32)))
	fr, fn := farQuadrant(x)
	return sel(far, fr, r), sel(far, fn, n)
}

// quadrant64 gives way beyond near64: it first takes off multiples of the
// rounded 2π, which is off by up to |x|·2^-53.
func (f form) quadrant64(x node) (r, n node) {
	far := expr.Not(expr.Le(abs(x), f.c(near64)))
	return f.cody(sel(far, expr.Rem(x, f.c(2*math.Pi)), x), halfPi64)
}

// twoOverPi is 2/π after the point in words of 32 bits, led by a zero word.
var twoOverPi = [8]int64{0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041,
	0xFE5163AB}

// turns returns |x|·2/π modulo 4 of a float32 with |x| ≥ near32, its point
// after two bits of 64, by the method of Payne and Hanek: x is m·2^e; of
// m·2^e·2/π only the bits below 4 matter, and 96 bits of 2/π from there on
// give the remainder to 62 bits. It is a function of its own, for it is long
// and rarely called.
var turns = f32.fn("turns", "|x|·2/π modulo 4 for |x| ≥ 400, in units of 2^-62.",
	func(x node) node {
		u32 := func(k int64) node { return expr.Int(ir.Uint32, k) }
		wide := func(a node) node { return expr.Cast(ir.Uint64, a) }
		bits := expr.And(expr.Bitcast(ir.Uint32, x), u32(0x7fffffff))
		m := expr.Or(expr.And(bits, u32(0x7fffff)), u32(0x800000))
		// The window starts at bit 32 + (e - 2) of the words, e = exponent - 150.
		start := sub(expr.Shr(bits, u32(23)), u32(150-30))
		shift := wide(sub(u32(32), expr.And(start, u32(31))))
		// The window is in four words from start/32 ≤ 4 on: of eight words those
		// from an even one on, then of five from the first or second.
		far, even := gt(start, u32(127)), expr.Ne(expr.And(start, u32(64)), u32(0))
		odd := expr.Ne(expr.And(start, u32(32)), u32(0))
		pairs := make([]node, 5)
		for i := range pairs {
			last := u32(twoOverPi[min(4+i, 7)])
			pairs[i] = sel(far, last, sel(even, u32(twoOverPi[2+i]), u32(twoOverPi[i])))
		}
		window := func(i int) node {
			word := func(i int) node { return sel(odd, pairs[i+1], pairs[i]) }
			pair := expr.Or(expr.Shl(wide(word(i)), expr.Int(ir.Uint64, 32)), wide(word(i+1)))
			return wide(expr.Cast(ir.Uint32, expr.Shr(pair, shift)))
		}
		wm := wide(m)
		return add(add(expr.Shl(mul(wm, window(0)), expr.Int(ir.Uint64, 32)), mul(wm, window(1))),
			expr.Shr(mul(wm, window(2)), expr.Int(ir.Uint64, 32)))
	})

// farQuadrant is the quadrant of any float32 with |x| ≥ near32.
func farQuadrant(x node) (r, n node) {
	y := expr.CallFn(turns, x)
	un := expr.Shr(add(y, expr.Int(ir.Uint64, 1<<61)), expr.Int(ir.Uint64, 62))
	frac := sub(y, expr.Shl(un, expr.Int(ir.Uint64, 62)))
	hi := expr.Bitcast(ir.Int32, expr.Cast(ir.Uint32, expr.Shr(frac, expr.Int(ir.Uint64, 32))))
	lo := expr.Cast(ir.Uint32, frac)
	turn := add(mul(expr.Cast(ir.Float32, hi), f32.c(0x1p-30)), mul(expr.Cast(ir.Float32, lo),
		f32.c(0x1p-62)))
	r = mul(turn, f32.c(math.Pi/2))
	n = expr.Bitcast(ir.Int32, expr.Cast(ir.Uint32, un))
	below := lt(x, f32.c(0))
	nan := expr.Not(lt(abs(x), f32.c(math.Inf(1))))
	return sel(nan, f32.c(math.NaN()), sel(below, neg(r), r)), sel(below, neg(n), n)
}

func (f form) sinNear(r node) node {
	z := mul(r, r)
	return add(r, mul(mul(r, z), f.poly(z, pick(f, sin32, sin64))))
}

func (f form) cosNear(r node) node {
	z := mul(r, r)
	return add(sub(f.c(1), mul(f.c(0.5), z)), mul(mul(z, z), f.poly(z, pick(f, cos32, cos64))))
}

func (f form) bit(n node, k int64) node { return expr.Ne(expr.And(n, f.i(k)), f.i(0)) }

// trigDoc states the error of near, in ulp, and what follows beyond the range
// of the fast reduction.
func (f form) trigDoc(name, near, far string) string {
	return name + " within " + pick(f, far+" ulp ("+near+" up to |x| = 400).",
		near+" ulp up to |x| = 2^20; beyond it a relative error of 2^-52 in x.")
}

func (f form) sin() *expr.Func {
	return f.fn("sin", f.trigDoc("sin(x)", "2", "3"), func(x node) node {
		r, n := f.quadrant(x)
		y := sel(f.bit(n, 1), f.cosNear(r), f.sinNear(r))
		return sel(lt(abs(x), f.c(pick(f, 0x1p-12, 0x1p-27))), x, sel(f.bit(n, 2), neg(y), y))
	})
}

func (f form) cos() *expr.Func {
	return f.fn("cos", f.trigDoc("cos(x)", "2", "3"), func(x node) node {
		r, n := f.quadrant(x)
		y := sel(f.bit(n, 1), f.sinNear(r), f.cosNear(r))
		return sel(f.bit(add(n, f.i(1)), 2), neg(y), y)
	})
}

func (f form) tan() *expr.Func {
	return f.fn("tan", f.trigDoc("tan(x)", "4", "5"), func(x node) node {
		r, n := f.quadrant(x)
		s, c := f.sinNear(r), f.cosNear(r)
		y := sel(f.bit(n, 1), neg(div(c, s)), div(s, c))
		return sel(lt(abs(x), f.c(pick(f, 0x1p-12, 0x1p-27))), x, y)
	})
}
