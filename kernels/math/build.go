package math

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// node is short for what everything here is made of.
type node = *expr.Expr

// form is the floating-point format a function is written for.
type form struct {
	d    ir.DType
	name string // suffix of functions
	bits ir.DType
	man  int64 // mantissa bits
	bias int64
	// half keeps the upper half of the mantissa: products of two such numbers
	// are exact.
	half int64
}

var (
	f32 = form{d: ir.Float32, name: "_f32", bits: ir.Int32, man: 23, bias: 127, half: -1 << 12}
	f64 = form{d: ir.Float64, name: "_f64", bits: ir.Int64, man: 52, bias: 1023, half: -1 << 27}
)

// pick returns the alternative for the format.
func pick[T any](f form, single, double T) T {
	if f.d == ir.Float32 {
		return single
	}
	return double
}

func (f form) c(x float64) node { return expr.Float(f.d, x) }
func (f form) i(n int64) node   { return expr.Int(f.bits, n) }

func add(a, b node) node                    { return expr.Add(a, b) }
func sub(a, b node) node                    { return expr.Sub(a, b) }
func mul(a, b node) node                    { return expr.Mul(a, b) }
func div(a, b node) node                    { return expr.Div(a, b) }
func neg(a node) node                       { return expr.Neg(a) }
func abs(a node) node                       { return expr.Abs(a) }
func lt(a, b node) node                     { return expr.Lt(a, b) }
func gt(a, b node) node                     { return expr.Gt(a, b) }
func sel(c, a, b node) node                 { return expr.Select(c, a, b) }
func (f form) scale(k float64, a node) node { return mul(f.c(k), a) }

// poly evaluates the polynomial with coefficients cs, highest power first.
func (f form) poly(x node, cs []float64) node {
	p := f.c(cs[0])
	for _, c := range cs[1:] {
		p = add(mul(p, x), f.c(c))
	}
	return p
}

// asBits and asFloat reinterpret.
func (f form) asBits(x node) node  { return expr.Bitcast(f.bits, x) }
func (f form) asFloat(n node) node { return expr.Bitcast(f.d, n) }

// upper clears the lower half of the mantissa.
func (f form) upper(x node) node { return f.asFloat(expr.And(f.asBits(x), f.i(f.half))) }

// nearest returns x rounded to an integer as a float and as an integer, for
// |x| < 2^(man-2). Adding a large number does it: targets without a rounding
// instruction are fast, and NaN gives some integer rather than none.
func (f form) nearest(x node) (float, integer node) {
	magic := f.c(0x1.8p0 * math.Ldexp(1, int(f.man)))
	t := add(x, magic)
	return sub(t, magic), sub(f.asBits(t), f.asBits(magic))
}

// pow2 returns 2^n for an integer n in the range of normal exponents.
func (f form) pow2(n node) node { return f.asFloat(expr.Shl(add(n, f.i(f.bias)), f.i(f.man))) }

// ldexp returns p·2^n for normal p near 1, rounded once when the result is
// subnormal, infinite when it is too large. |n| < 2·bias.
func (f form) ldexp(p, n node) node {
	half := expr.Shr(n, f.i(1))
	return mul(mul(p, f.pow2(half)), f.pow2(sub(n, half)))
}

// copysign returns |x| with the sign of s.
func (f form) copysign(x, s node) node {
	return f.withSign(f.asFloat(expr.And(f.asBits(x), f.i(^f.signBit()))), s)
}

// withSign returns x, which is not negative, with the sign of s.
func (f form) withSign(x, s node) node {
	return f.asFloat(expr.Or(f.asBits(x), expr.And(f.asBits(s), f.i(f.signBit()))))
}

func (f form) signBit() int64 { return pick(f, int64(math.MinInt32), int64(math.MinInt64)) }

// clamp limits x to [lo, hi] and lets NaN through.
func (f form) clamp(x node, lo, hi float64) node { return expr.Max(f.c(lo), expr.Min(f.c(hi), x)) }

// fn makes a function of one argument.
func (f form) fn(name, doc string, body func(x node) node) *expr.Func {
	x := &expr.Var{Name: "x", DType: f.d}
	return &expr.Func{Name: name + f.name, Params: []*expr.Var{x},
		Body: body(expr.Get(x)), Doc: doc}
}

// fn2 makes a function of two arguments.
func (f form) fn2(name, doc, first, second string, body func(a, b node) node) *expr.Func {
	a, b := &expr.Var{Name: first, DType: f.d}, &expr.Var{Name: second, DType: f.d}
	return &expr.Func{Name: name + f.name, Params: []*expr.Var{a, b}, Body: body(expr.Get(a),
		expr.Get(b)), Doc: doc}
}
