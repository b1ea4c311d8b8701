package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// arithmeticOps are the elementwise operators of arithmetic.
func arithmeticOps() []entry {
	add := func(p *point) *expr.Expr { return addAlpha(p, p.x[0], p.x[1]) }
	sub := func(p *point) *expr.Expr { return subAlpha(p, p.x[0], p.x[1]) }
	rsub := func(p *point) *expr.Expr { return subAlpha(p, p.x[1], p.x[0]) }
	return []entry{
		pointwise("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
			"self other", same, add),
		pointwise("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
			"self other", same, add),
		pointwise("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
			"self other", noBool, sub),
		pointwise("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
			"self other", noBool, sub),
		pointwise("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
			"self other", noBool, rsub).core(asNodes),
		pointwise("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
			"self other", noBool, rsub).core(asNodes),
		binary("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", same, multiply),
		binary("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", same, multiply),
		binary("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", toFloat, expr.Div),
		binary("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", toFloat, expr.Div),
		binary("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", toFloat,
			expr.Div).core(sameAs("aten.div.Tensor")),
		binary("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", toFloat,
			expr.Div).core(sameAs("aten.div.Scalar")),
		divMode("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
		divMode("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
		binary("aten::floor_divide(Tensor self, Tensor other) -> Tensor", noBool, floorDivide).core(
			sameAs("aten.div.Tensor_mode", Kw("rounding_mode", "floor"))),
		binary("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", noBool,
			floorDivide).core(sameAs("aten.div.Scalar_mode", Kw("rounding_mode", "floor"))),
		binary("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", noBool, remainderC),
		binary("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", noBool, remainderC),
		binary("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", noBool, floorMod),
		binary("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", noBool, floorMod),
		binary("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", noBool,
			floorMod).core(func(b *Builder, c *Call) *ir.Value {
			return b.aten("remainder.Tensor", b.tensor(c, "self", c.Outs[0].DType),
				c.Value("other"))
		}),

		unary("aten::neg(Tensor self) -> Tensor", noBool, expr.Neg),
		unary("aten::abs(Tensor self) -> Tensor", magnitude, absolute),
		unary("aten::square(Tensor self) -> Tensor", boolToInt, func(x *expr.Expr) *expr.Expr {
			return multiply(x, x)
		}).core(sameAs("aten.pow.Tensor_Scalar", 2)),
		unary("aten::reciprocal(Tensor self) -> Tensor", toFloat, func(x *expr.Expr) *expr.Expr {
			return expr.Div(like(x, 1), x)
		}),
		unary("aten::sign(Tensor self) -> Tensor", same, sign),
		unary("aten::sgn(Tensor self) -> Tensor", same, sign).core(sameAs("aten.sign.default")),

		binary("aten::maximum(Tensor self, Tensor other) -> Tensor", same, maxNaN),
		binary("aten::minimum(Tensor self, Tensor other) -> Tensor", same, minNaN),
		binary("aten::max.other(Tensor self, Tensor other) -> Tensor", same, maxNaN).core(
			sameAs("aten.maximum.default")),
		binary("aten::min.other(Tensor self, Tensor other) -> Tensor", same, minNaN).core(
			sameAs("aten.minimum.default")),
		binary("aten::fmax(Tensor self, Tensor other) -> Tensor", same,
			func(a, b *expr.Expr) *expr.Expr {
				return expr.Select(expr.IsNaN(b), a, expr.Max(a, b))
			}).core(asNodes),
		binary("aten::fmin(Tensor self, Tensor other) -> Tensor", same,
			func(a, b *expr.Expr) *expr.Expr {
				return expr.Select(expr.IsNaN(b), a, expr.Min(a, b))
			}).core(asNodes),

		pointwise("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, "+
			"Scalar value=1) -> Tensor", "self tensor1 tensor2", noBool,
			func(p *point) *expr.Expr {
				return expr.Add(p.x[0], expr.Mul(expr.Mul(p.num("value"), p.x[1]), p.x[2]))
			}).core(asNodes),
		pointwise("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, "+
			"Scalar value=1) -> Tensor", "self tensor1 tensor2", inexact,
			func(p *point) *expr.Expr {
				return expr.Add(p.x[0], expr.Div(expr.Mul(p.num("value"), p.x[1]), p.x[2]))
			}).core(asNodes),
		pointwise("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
			"self end", inexact,
			func(p *point) *expr.Expr {
				return lerp(p.x[0], p.x[1], p.num("weight"))
			}).core(asNodes),
		pointwise("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
			"self end weight", inexact,
			func(p *point) *expr.Expr { return lerp(p.x[0], p.x[1], p.x[2]) }).core(asNodes),
	}
}

// boolToInt computes bool in int64.
var boolToInt rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
	if d == ir.Bool {
		d = ir.Int64
	}
	return opmath(d), d, true
}

// multiply is the product, on bool the conjunction.
func multiply(a, b *expr.Expr) *expr.Expr {
	if a.DType == ir.Bool {
		return expr.And(a, b)
	}
	return expr.Mul(a, b)
}

// addAlpha is a + alpha·b, on bool a ∨ b.
func addAlpha(p *point, a, b *expr.Expr) *expr.Expr {
	b = multiply(p.num("alpha"), b)
	if p.dt == ir.Bool {
		return expr.Or(a, b)
	}
	return expr.Add(a, b)
}

func subAlpha(p *point, a, b *expr.Expr) *expr.Expr {
	return expr.Sub(a, expr.Mul(p.num("alpha"), b))
}

func absolute(x *expr.Expr) *expr.Expr {
	if x.DType.IsUnsigned() {
		return x
	}
	return expr.Abs(x)
}

// sign is -1, 0 or 1; NaN gives 0.
func sign(x *expr.Expr) *expr.Expr {
	if x.DType == ir.Bool {
		return x
	}
	zero := like(x, 0)
	pos := expr.Cast(x.DType, expr.Lt(zero, x))
	if x.DType.IsUnsigned() {
		return pos
	}
	return expr.Sub(pos, expr.Cast(x.DType, expr.Lt(x, zero)))
}

// maxNaN is the larger operand, NaN if either is.
func maxNaN(a, b *expr.Expr) *expr.Expr { return expr.Select(expr.IsNaN(a), a, expr.Max(a, b)) }

// minNaN is the smaller operand, NaN if either is.
func minNaN(a, b *expr.Expr) *expr.Expr { return expr.Select(expr.IsNaN(a), a, expr.Min(a, b)) }

// lerp interpolates from the nearer end, as PyTorch does.
func lerp(a, b, w *expr.Expr) *expr.Expr {
	d := expr.Sub(b, a)
	return expr.Select(expr.Lt(expr.Abs(w), like(w, 0.5)), expr.Add(a, expr.Mul(w, d)),
		expr.Sub(b, expr.Mul(d, expr.Sub(like(w, 1), w))))
}

// divMode is the division that rounds as its rounding_mode says.
func divMode(schema string) entry {
	round := func(d ir.DType) (ir.DType, ir.DType, bool) { return opmath(d), d, d != ir.Bool }
	var op entry
	byMode := func(c *Call) entry {
		switch c.Str("rounding_mode") {
		case "trunc":
			return binary(schema, round, func(a, b *expr.Expr) *expr.Expr {
				// A/b rounded towards zero.
				if a.DType.IsFloat() {
					return expr.Trunc(expr.Div(a, b))
				}
				return guardZero(b, func() *expr.Expr { return expr.Div(a, b) })
			})
		case "floor":
			return binary(schema, round, floorDivide)
		}
		return binary(schema, toFloat, expr.Div)
	}
	roundingNamed := func(c *Call) {
		switch m := c.Str("rounding_mode"); m {
		case "", "trunc", "floor":
			return
		default:
			panic(c.Errorf("rounding_mode %q is neither trunc nor floor", m))
		}
	}
	op = pointwise(schema, "self other", round, nil)
	op.Infer = func(c *Call) []ir.Type {
		roundingNamed(c)
		return byMode(c).Infer(c)
	}
	op.Compute = func(c *Call) []expr.Tensor { return byMode(c).Compute(c) }
	return op
}

// guardZero evaluates f only for a divisor other than zero; an integer divided
// by zero is 0 (eager PyTorch raises).
func guardZero(b *expr.Expr, f func() *expr.Expr) *expr.Expr {
	if b.DType.IsFloat() || b.Op == expr.OpConst && b.Int != 0 {
		return f()
	}
	return expr.Select(expr.Eq(b, like(b, 0)), like(b, 0), f())
}

// remainderC is the remainder with the sign of a. On floats it is NaN where a/b
// overflows, as PyTorch's vector code has it.
func remainderC(a, b *expr.Expr) *expr.Expr {
	if a.DType.IsFloat() {
		return expr.Select(infinite(expr.Div(a, b)), like(a, math.NaN()), expr.Rem(a, b))
	}
	return guardZero(b, func() *expr.Expr { return expr.Rem(a, b) })
}

func infinite(x *expr.Expr) *expr.Expr { return expr.Eq(expr.Abs(x), like(x, inf)) }

// opposite reports whether a and b, both not zero, have different signs.
func opposite(a, b *expr.Expr) *expr.Expr {
	return expr.Xor(expr.Lt(a, like(a, 0)), expr.Lt(b, like(b, 0)))
}

// floorMod is the remainder with the sign of b.
func floorMod(a, b *expr.Expr) *expr.Expr {
	return guardZero(b, func() *expr.Expr {
		m := remainderC(a, b)
		if a.DType.IsUnsigned() {
			return m
		}
		fix := expr.And(expr.Ne(m, like(m, 0)), opposite(m, b))
		return expr.Select(fix, expr.Add(m, b), m)
	})
}

// floorDivide is a/b rounded down, as Python's //: on floats by way of the
// exact remainder.
func floorDivide(a, b *expr.Expr) *expr.Expr {
	if !a.DType.IsFloat() {
		return guardZero(b, func() *expr.Expr {
			q := expr.Div(a, b)
			if a.DType.IsUnsigned() {
				return q
			}
			fix := expr.And(expr.Ne(expr.Rem(a, b), like(a, 0)), opposite(a, b))
			return expr.Select(fix, expr.Sub(q, like(q, 1)), q)
		})
	}
	zero, one := like(a, 0), like(a, 1)
	m := remainderC(a, b)
	over := infinite(expr.Div(a, b)) // then m is NaN
	if b.Op == expr.OpConst && math.Abs(b.Float) >= 1 {
		over = expr.Bool(false) // but for an infinite a
	}
	finite := expr.Ne(expr.Abs(a), like(a, inf))
	q := expr.Div(expr.Select(expr.And(over, finite), a, expr.Sub(a, m)), b)
	q = expr.Select(expr.And(expr.Ne(m, zero), opposite(m, b)), expr.Sub(q, one), q)
	f := expr.Floor(q)
	f = expr.Select(expr.Gt(expr.Sub(q, f), like(a, 0.5)), expr.Add(f, one), f)
	// A quotient of zero has the sign of a/b, division by zero gives a/b.
	simple := expr.Div(a, b)
	return expr.Select(expr.Eq(b, zero), simple, expr.Select(expr.Eq(q, zero),
		expr.Mul(simple, zero), f))
}

// integerOps are operators of number theory.
func integerOps() []entry {
	return []entry{
		gcdOp("aten::gcd(Tensor self, Tensor other) -> Tensor",
			func(a, b, g *expr.Expr) *expr.Expr { return g }),
		gcdOp("aten::lcm(Tensor self, Tensor other) -> Tensor",
			func(a, b, g *expr.Expr) *expr.Expr {
				zero := expr.Eq(g, like(g, 0))
				return expr.Select(zero, g,
					absolute(expr.Mul(expr.Div(a, expr.Select(zero, like(g, 1), g)), b)))
			}),
	}
}

// gcdOp runs Euclid's algorithm per element; result makes the element of the
// operands and their greatest common divisor.
func gcdOp(schema string, result func(a, b, g *expr.Expr) *expr.Expr) entry {
	op := binary(schema, intOnly, func(a, b *expr.Expr) *expr.Expr { return a })
	op.Compute = nil
	op.Loops = func(c *Call) *loop.Func {
		out := c.Outs[0]
		d := out.DType
		vars, coords := indexVars(out.Sizes)
		load := func(name string) *expr.Expr {
			k := c.Operand(name)
			at := sym.RowMajor(c.operands[k].Type.Sizes, broadcastCoords(c.operands[k].Type,
				out.Sizes, coords))
			return expr.Cast(d, expr.At(1+k, c.operands[k].Type.DType, at))
		}
		for _, name := range []string{"self", "other"} {
			c.errorIf(c.Operand(name) < 0, "argument %s is a number", name)
		}
		a, b := load("self"), load("other")
		x, y, rest := newCounter("x", d), newCounter("y", d), newCounter("rest", d)
		body := []loop.Stmt{
			x.start(absolute(a)), y.start(absolute(b)),
			&loop.While{Cond: expr.Ne(y.get(), expr.Int(d, 0)), Body: []loop.Stmt{
				rest.fixed(expr.Rem(x.get(), y.get())),
				x.set(y.get()),
				y.set(rest.get()),
			}},
			&loop.Store{Buf: 0, At: sym.RowMajor(out.Sizes, coords), Value: result(a, b, x.get())},
		}
		for i := len(vars) - 1; i >= 0; i-- {
			body = []loop.Stmt{&loop.For{Var: vars[i], Extent: out.Sizes[i], Body: body}}
		}
		return &loop.Func{Name: "gcd", Bufs: c.buffers(), Body: body}
	}
	return op
}

var inf = math.Inf(1)

// roundingOps round to integers; integers stay.
func roundingOps() []entry {
	whole := func(f func(*expr.Expr) *expr.Expr) func(*expr.Expr) *expr.Expr {
		return func(x *expr.Expr) *expr.Expr {
			if !x.DType.IsFloat() {
				return x
			}
			return f(x)
		}
	}
	return []entry{
		unary("aten::floor(Tensor self) -> Tensor", noBool, whole(expr.Floor)),
		unary("aten::ceil(Tensor self) -> Tensor", noBool, whole(expr.Ceil)),
		unary("aten::trunc(Tensor self) -> Tensor", noBool, whole(expr.Trunc)),
		unary("aten::round(Tensor self) -> Tensor", noBool, whole(expr.Round)),
		pointwise("aten::round.decimals(Tensor self, *, int decimals) -> Tensor", "self", noBool,
			func(p *point) *expr.Expr {
				// Scales by a power of ten, rounds and scales back.
				x := p.x[0]
				n, err := p.c.Int("decimals")
				if err != nil || !x.DType.IsFloat() {
					return x
				}
				ten := like(x, math.Pow10(int(max(n, -n))))
				switch {
				case n > 0:
					return expr.Div(expr.Round(expr.Mul(x, ten)), ten)
				case n < 0:
					return expr.Mul(expr.Round(expr.Div(x, ten)), ten)
				}
				return expr.Round(x)
			}).core(
			opmathForm(func(b *Builder, c *Call, x *ir.Value) *ir.Value {
				n, err := c.Int("decimals")
				if err != nil || !x.Type.DType.IsFloat() {
					return b.aten("clone", x)
				}
				ten := math.Pow10(int(max(n, -n)))
				switch {
				case n > 0:
					return b.div(b.aten("round", b.mul(x, ten)), ten)
				case n < 0:
					return b.mul(b.aten("round", b.div(x, ten)), ten)
				}
				return b.aten("round", x)
			})),
		unary("aten::frac(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Sub(x, expr.Trunc(x))
		}).core(opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value {
			return b.sub(x, b.aten("trunc", x))
		})),
	}
}
