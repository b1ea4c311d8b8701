package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	functions "github.com/etgen/etgen/kernels/math"
)

// transcendentalOps are roots, powers, exponentials and their like.
func transcendentalOps() []entry {
	return []entry{
		unary("aten::sqrt(Tensor self) -> Tensor", toFloat, expr.Sqrt),
		unary("aten::rsqrt(Tensor self) -> Tensor", toFloat, rsqrt),
		unary("aten::exp(Tensor self) -> Tensor", toFloat, fn("exp")),
		unary("aten::exp2(Tensor self) -> Tensor", toFloat, fn("exp2")).core(exp2Core),
		unary("aten::expm1(Tensor self) -> Tensor", toFloat, fn("expm1")),
		unary("aten::log(Tensor self) -> Tensor", toFloat, fn("log")),
		unary("aten::log2(Tensor self) -> Tensor", toFloat, fn("log2")),
		unary("aten::log10(Tensor self) -> Tensor", toFloat, fn("log10")),
		unary("aten::log1p(Tensor self) -> Tensor", toFloat, fn("log1p")),
		unary("aten::sin(Tensor self) -> Tensor", toFloat, fn("sin")),
		unary("aten::cos(Tensor self) -> Tensor", toFloat, fn("cos")),
		unary("aten::tan(Tensor self) -> Tensor", toFloat, fn("tan")),
		unary("aten::asin(Tensor self) -> Tensor", toFloat, fn("asin")),
		unary("aten::acos(Tensor self) -> Tensor", toFloat, fn("acos")),
		unary("aten::atan(Tensor self) -> Tensor", toFloat, fn("atan")),
		unary("aten::sinh(Tensor self) -> Tensor", toFloat, fn("sinh")),
		unary("aten::cosh(Tensor self) -> Tensor", toFloat, fn("cosh")),
		unary("aten::tanh(Tensor self) -> Tensor", toFloat, fn("tanh")),
		unary("aten::asinh(Tensor self) -> Tensor", toFloat, fn("asinh")),
		unary("aten::acosh(Tensor self) -> Tensor", toFloat, fn("acosh")),
		unary("aten::atanh(Tensor self) -> Tensor", toFloat, fn("atanh")),
		unary("aten::erf(Tensor self) -> Tensor", toFloat, fn("erf")),
		unary("aten::erfc(Tensor self) -> Tensor", toFloat, fn("erfc")).core(
			opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value {
				return b.sub(b.scalar(1, x.Type.DType), b.aten("erf", x))
			})),
		unary("aten::deg2rad(Tensor self) -> Tensor", toFloat, func(x *expr.Expr) *expr.Expr {
			return expr.Mul(x, like(x, math.Pi/180))
		}).core(asNodes),
		unary("aten::rad2deg(Tensor self) -> Tensor", toFloat, func(x *expr.Expr) *expr.Expr {
			return expr.Mul(x, like(x, 180/math.Pi))
		}).core(asNodes),
		unary("aten::sinc(Tensor self) -> Tensor", toFloat, sinc).core(asNodes),

		powOp("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"),
		powOp("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"),
		powOp("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor"),
		binary("aten::atan2(Tensor self, Tensor other) -> Tensor", toFloat, fn2("atan2")),
		binary("aten::hypot(Tensor self, Tensor other) -> Tensor", floatOnly,
			func(a, b *expr.Expr) *expr.Expr {
				// Scales by the larger operand, so that squares do not overflow.
				a, b = expr.Abs(a), expr.Abs(b)
				big, small := maxNaN(a, b), minNaN(a, b)
				r := expr.Div(small, big)
				h := expr.Mul(big, expr.Sqrt(expr.Add(like(a, 1), expr.Mul(r, r))))
				flat := expr.Or(expr.Eq(big, like(a, 0)), expr.Eq(big, like(a, inf)))
				anyInf := expr.Or(isInf(a, true, false), isInf(b, true, false))
				return expr.Select(anyInf, like(a, inf), expr.Select(flat, big, h))
			}).core(asNodes),
		binary("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", toFloat,
			copysign).core(copysignCore),
		binary("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", toFloat,
			copysign).core(copysignCore),
		binary("aten::logaddexp(Tensor self, Tensor other) -> Tensor", inexact,
			func(a, b *expr.Expr) *expr.Expr {
				return logAddExp(a, b)
			}).core(asNodes),
		binary("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", floatOnly,
			func(a, b *expr.Expr) *expr.Expr {
				// Log2(2^a + 2^b) without overflow.
				far := fn("exp2")(expr.Neg(expr.Abs(expr.Sub(a, b))))
				r := expr.Add(maxNaN(a, b), expr.Mul(fn("log1p")(far), like(a, math.Log2E)))
				same := expr.And(expr.Eq(a, b), isInf(a, true, true))
				return expr.Select(same, a, r)
			}).core(asNodes),
		binary("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", toFloat,
			xlog1py).core(asNodes),
		binary("aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", toFloat,
			xlog1py).core(asNodes),
		binary("aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", toFloat,
			xlog1py).core(asNodes),
		unary("aten::special_entr(Tensor self) -> Tensor", toFloat, func(x *expr.Expr) *expr.Expr {
			// -x·log(x), 0 at 0 and -∞ below.
			r := expr.Neg(expr.Mul(x, fn("log")(x)))
			r = expr.Select(expr.Eq(x, like(x, 0)), like(x, 0), r)
			return expr.Select(expr.Lt(x, like(x, 0)), like(x, -inf), r)
		}).core(asNodes),
		unary("aten::special_ndtr(Tensor self) -> Tensor", toFloat, func(x *expr.Expr) *expr.Expr {
			// The probability that a standard normal variable is at most x.
			return expr.Mul(fn("erfc")(expr.Mul(x, like(x, -math.Sqrt2/2))), like(x, 0.5))
		}).core(asNodes),
		binary("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", toFloat, xlogy).core(asNodes),
		binary("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", toFloat,
			xlogy).core(asNodes),
		binary("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", toFloat,
			xlogy).core(asNodes),
	}
}

func powOp(schema string) entry {
	return pointwise(schema, "self exponent", same, func(p *point) *expr.Expr {
		return power(p.x[0], p.x[1])
	})
}

func rsqrt(x *expr.Expr) *expr.Expr { return expr.Div(like(x, 1), expr.Sqrt(x)) }

func sinc(x *expr.Expr) *expr.Expr {
	px := expr.Mul(x, like(x, math.Pi))
	return expr.Select(expr.Eq(x, like(x, 0)), like(x, 1), expr.Div(fn("sin")(px), px))
}

func copysign(a, b *expr.Expr) *expr.Expr {
	m := expr.Abs(a)
	return expr.Select(signbit(b), expr.Neg(m), m)
}

// logAddExp is log(exp(a) + exp(b)) without overflow.
func logAddExp(a, b *expr.Expr) *expr.Expr {
	m := maxNaN(a, b)
	r := expr.Add(m, fn("log1p")(fn("exp")(expr.Neg(expr.Abs(expr.Sub(a, b))))))
	same := expr.And(expr.Eq(a, b), isInf(a, true, true))
	return expr.Select(same, a, r)
}

// xlogy is a·log(b), 0 where a is 0 unless b is NaN.
func xlogy(a, b *expr.Expr) *expr.Expr {
	r := expr.Mul(a, fn("log")(b))
	return expr.Select(expr.IsNaN(b), b, expr.Select(expr.Eq(a, like(a, 0)), like(a, 0), r))
}

// xlog1py is a·log(1+b), 0 where a is 0 unless b is NaN.
func xlog1py(a, b *expr.Expr) *expr.Expr {
	r := expr.Mul(a, fn("log1p")(b))
	return expr.Select(expr.IsNaN(b), b, expr.Select(expr.Eq(a, like(a, 0)), like(a, 0), r))
}

// power is a to the power of b. The exponents that PyTorch treats apart are
// products and roots.
func power(a, b *expr.Expr) *expr.Expr {
	switch {
	case a.DType == ir.Bool:
		return expr.Or(a, expr.Not(b))
	case !a.DType.IsFloat():
		return intPower(a, b)
	case b.Op != expr.OpConst:
		return fn2("pow")(a, b)
	}
	recip := func(x *expr.Expr) *expr.Expr { return expr.Div(like(x, 1), x) }
	switch square := expr.Mul(a, a); b.Float {
	case 0:
		return like(a, 1)
	case 1:
		return a
	case 2:
		return square
	case 3:
		return expr.Mul(square, a)
	case 0.5:
		return expr.Sqrt(a)
	case -0.5:
		return rsqrt(a)
	case -1:
		return recip(a)
	case -2:
		return recip(square)
	}
	return fn2("pow")(a, b)
}

// intPower squares and multiplies, wrapping around. A negative exponent gives
// what truncating a reciprocal gives: ±1 for bases ±1, else 0.
func intPower(a, b *expr.Expr) *expr.Expr {
	one := like(a, 1)
	if b.Op == expr.OpConst && b.Int >= 0 {
		r, sq := one, a
		for n := b.Int; n > 0; n >>= 1 {
			if n&1 != 0 {
				r = expr.Mul(r, sq)
			}
			if n > 1 {
				sq = expr.Mul(sq, sq)
			}
		}
		return r
	}
	r, sq := one, a
	bits := 8 * a.DType.Size()
	if !a.DType.IsUnsigned() {
		bits--
	}
	for i := range bits {
		bit := expr.And(expr.Shr(b, like(b, float64(i))), like(b, 1))
		r = expr.Mul(r, expr.Select(expr.Ne(bit, like(b, 0)), sq, one))
		sq = expr.Mul(sq, sq)
	}
	if a.DType.IsUnsigned() {
		return r
	}
	odd := expr.Ne(expr.And(b, like(b, 1)), like(b, 0))
	neg := expr.Select(expr.Eq(a, one), one,
		expr.Select(expr.Eq(a, like(a, -1)), expr.Select(odd, like(a, -1), one), like(a, 0)))
	return expr.Select(expr.Lt(b, like(b, 0)), neg, r)
}

// fn returns the function of kernels/math called name, for an operand of
// dtype Float32 or Float64.
func fn(name string) func(x *expr.Expr) *expr.Expr {
	return func(x *expr.Expr) *expr.Expr { return expr.CallFn(functions.Func(name, x.DType), x) }
}

// fn2 is fn for functions of two operands.
func fn2(name string) func(a, b *expr.Expr) *expr.Expr {
	return func(a, b *expr.Expr) *expr.Expr {
		return expr.CallFn(functions.Func(name, a.DType), a, b)
	}
}

// floatBitOps take floats apart, or look at bits as they are.
func floatBitOps() []entry {
	return []entry{
		{
			Schema: "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("self")
				c.errorIf(!t.DType.IsFloat(), "not defined on %s", t.DType)
				return []ir.Type{likeType(t, t.DType), likeType(t, ir.Int32)}
			},
			Compute: func(c *Call) []expr.Tensor {
				t := c.Tensor("self")
				return c.elements(func(i int, at []sym.Expr) *expr.Expr {
					m, e := frexp(expr.Cast(opmath(t.DType), c.Load("self", at...)))
					return []*expr.Expr{m, e}[i]
				})
			},
		},
		viewDType(),
		binary("aten::nextafter(Tensor self, Tensor other) -> Tensor",
			func(d ir.DType) (ir.DType, ir.DType, bool) {
				return d, d, d == ir.Float32 || d == ir.Float64
			}, func(a, b *expr.Expr) *expr.Expr {
				// The number next to a in the direction of b.
				bits := ir.Int32
				if a.DType == ir.Float64 {
					bits = ir.Int64
				}
				num := func(n int64) *expr.Expr { return expr.Int(bits, n) }
				zero := like(a, 0)
				away := expr.Eq(expr.Lt(a, b), expr.Gt(a, zero)) // from zero
				step := expr.Add(expr.Bitcast(bits, a), expr.Select(away, num(1), num(-1)))
				least := copysign(expr.Bitcast(a.DType, num(1)), b)
				r := expr.Select(expr.Eq(a, zero), least, expr.Bitcast(a.DType, step))
				r = expr.Select(expr.Eq(a, b), b, r)
				return expr.Select(expr.Or(expr.IsNaN(a), expr.IsNaN(b)), expr.Add(a, b), r)
			}),
	}
}

// frexp splits x, a Float32 or Float64, into a number in [½, 1) and a power of
// 2; zero, infinities and NaN stay, with power 0.
func frexp(x *expr.Expr) (mantissa, exponent *expr.Expr) {
	bits, man, bias, lift := ir.Int32, int64(23), int64(127), 0x1p64
	if x.DType == ir.Float64 {
		bits, man, bias = ir.Int64, 52, 1023
	}
	num := func(n int64) *expr.Expr { return expr.Int(bits, n) }
	field := 2*bias + 1
	raw := func(v *expr.Expr) *expr.Expr {
		return expr.And(expr.Shr(expr.Bitcast(bits, v), num(man)), num(field))
	}
	tiny := expr.Eq(raw(x), num(0)) // zero and subnormals
	y := expr.Select(tiny, expr.Mul(x, like(x, lift)), x)
	e := expr.Sub(expr.Sub(raw(y), num(bias-1)), expr.Select(tiny, num(64), num(0)))
	keep := expr.Or(expr.Eq(x, like(x, 0)), expr.Eq(raw(x), num(field)))
	m := expr.Bitcast(x.DType, expr.Or(expr.And(expr.Bitcast(bits, y), num(^(field<<man))),
		num((bias-1)<<man)))
	return expr.Select(keep, x, m), expr.Select(keep, num(0), e)
}

// compositeOps are written in terms of others.
func compositeOps() []entry {
	return []entry{
		derived("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				d := b.aten("sub.Tensor", c.Arg("self"), c.Arg("other"))
				return b.aten("linalg_vector_norm", d, c.Arg("p"))
			}),
		derived("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.mul(c.Arg("self"), b.aten("pow.Scalar", 2.0, c.Arg("other")))
			}),
		pointwise("aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, "+
			"float atol=1e-08, bool equal_nan=False) -> Tensor",
			"self other", toBool, isClose).core(isCloseCore),
		floatPower("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor").core(
			floatPowerCore),
		floatPower("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor").core(
			floatPowerCore),
		floatPower("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor").core(
			floatPowerCore),
	}
}

// isClose is |a - b| ≤ atol + rtol·|b|, infinities only if equal.
func isClose(p *point) *expr.Expr {
	a, b := p.x[0], p.x[1]
	if a.DType == ir.Bool {
		return expr.Not(expr.Xor(a, b))
	}
	equal := expr.Eq(a, b)
	fd := a.DType
	if !fd.IsFloat() {
		fd = defaultFloat
	}
	num := func(name string) *expr.Expr { return p.c.number(p.c.Arg(name), fd) }
	bound := expr.Add(num("atol"), expr.Mul(num("rtol"), expr.Abs(expr.Cast(fd, b))))
	diff := expr.Abs(expr.Sub(expr.Cast(fd, a), expr.Cast(fd, b)))
	finite := expr.Lt(diff, expr.Float(fd, inf))
	r := expr.Or(equal, expr.And(finite, expr.Le(diff, bound)))
	if p.c.Bool("equal_nan") {
		r = expr.Or(r, expr.And(expr.IsNaN(a), expr.IsNaN(b)))
	}
	return r
}

// floatPower computes in double precision.
func floatPower(schema string) entry {
	double := func(d ir.DType) (ir.DType, ir.DType, bool) {
		if d.IsComplex() {
			return ir.Complex128, ir.Complex128, true
		}
		return ir.Float64, ir.Float64, true
	}
	return pointwise(schema, "self exponent", double, func(p *point) *expr.Expr {
		return power(p.x[0], p.x[1])
	})
}

// negative reports which elements have their sign set.
func (b *Builder) negative(x *ir.Value) *ir.Value {
	if x.Type.DType.IsFloat() {
		x = b.aten("atan2", x, b.scalar(-1.0, x.Type.DType))
	}
	return b.aten("lt.Scalar", x, 0)
}

func exp2Core(b *Builder, c *Call) *ir.Value {
	return b.aten("pow.Scalar", 2.0, b.cast(c.Value("self"), c.Outs[0].DType))
}

func copysignCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	size := b.aten("abs", b.tensor(c, "self", d))
	return b.where(b.negative(b.tensor(c, "other", d)), b.aten("neg", size), size, d)
}

func isCloseCore(b *Builder, c *Call) *ir.Value {
	x, y := c.Value("self"), c.Value("other")
	rtol := must(c.Float("rtol"))
	atol := must(c.Float("atol"))
	same := b.aten("eq.Tensor", x, y)
	float := x.Type.DType.IsFloat()
	if float && c.Bool("equal_nan") {
		nan := b.aten("logical_and", b.aten("isnan", x), b.aten("isnan", y))
		same = b.aten("logical_or", same, nan)
	}
	if rtol == 0 && atol == 0 {
		return same
	}
	d := x.Type.DType
	if !float {
		d = ir.Float32
		x, y = b.cast(x, d), b.cast(y, d)
	}
	m := opmath(d)
	x, y = b.cast(x, m), b.cast(y, m)
	allowed := b.add(b.aten("abs", b.mul(y, rtol)), atol)
	apart := b.aten("abs", b.sub(x, y))
	near := b.aten("le.Tensor", apart, allowed)
	if float { // not infinitely far apart
		near = b.aten("logical_and", near, b.aten("lt.Scalar", apart, inf))
	}
	return b.aten("logical_or", same, near)
}

// floatPowerCore is pow in float64.
func floatPowerCore(b *Builder, c *Call) *ir.Value {
	arg := func(name string) any {
		if c.Operand(name) >= 0 {
			return b.cast(c.Value(name), ir.Float64)
		}
		return c.Arg(name)
	}
	x, y := arg("self"), arg("exponent")
	switch {
	case c.Operand("self") < 0:
		return b.aten("pow.Scalar", x, y)
	case c.Operand("exponent") < 0:
		return b.aten("pow.Tensor_Scalar", x, y)
	}
	return b.aten("pow.Tensor_Tensor", x, y)
}

// logAddExp is log(exp(x) + exp(y)) of tensors of one dtype.
func (b *Builder) logAddExp(x, y *ir.Value) *ir.Value {
	top := b.aten("maximum", x, y)
	far := b.aten("neg", b.aten("abs", b.sub(x, y)))
	r := b.add(top, b.aten("log1p", b.aten("exp", far)))
	both := b.aten("logical_and", b.aten("eq.Tensor", x, y), b.aten("isinf", x))
	return b.where(both, x, r, r.Type.DType)
}
