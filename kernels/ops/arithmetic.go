package ops

import (
	"math"
	"strings"

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
			"self other", noBool, rsub).core(rsubCore),
		pointwise("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
			"self other", noBool, rsub).core(rsubCore),
		binary("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", same, multiply),
		binary("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", same, multiply),
		binary("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", toFloat, expr.Div),
		binary("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", toFloat, expr.Div),
		binary("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", toFloat,
			expr.Div).core(sameAs("aten.div.Tensor")),
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
			return b.Op("aten.remainder.Tensor", b.tensor(c, "self", c.Outs[0].DType),
				c.Value("other"))
		}),

		unary("aten::neg(Tensor self) -> Tensor", noBool, expr.Neg),
		unary("aten::abs(Tensor self) -> Tensor", noBool, absolute),
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
			}).core(fmaxCore("aten.maximum.default")),
		binary("aten::fmin(Tensor self, Tensor other) -> Tensor", same,
			func(a, b *expr.Expr) *expr.Expr {
				return expr.Select(expr.IsNaN(b), a, expr.Min(a, b))
			}).core(fmaxCore("aten.minimum.default")),

		pointwise("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", "self tensor1 tensor2", noBool,
			func(p *point) *expr.Expr {
				return expr.Add(p.x[0], expr.Mul(expr.Mul(p.num("value"), p.x[1]), p.x[2]))
			}).core(addcCore("aten.mul.Tensor")),
		pointwise("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", "self tensor1 tensor2", floatOnly,
			func(p *point) *expr.Expr {
				return expr.Add(p.x[0], expr.Div(expr.Mul(p.num("value"), p.x[1]), p.x[2]))
			}).core(addcCore("aten.div.Tensor")),
		pointwise("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
			"self end", floatOnly,
			func(p *point) *expr.Expr { return lerp(p.x[0], p.x[1], p.num("weight")) }).core(lerpCore),
		pointwise("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
			"self end weight", floatOnly,
			func(p *point) *expr.Expr { return lerp(p.x[0], p.x[1], p.x[2]) }).core(lerpCore),
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
			return binary(schema, round, truncDivide)
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
			panic(c.fail("rounding_mode %q is neither trunc nor floor", m))
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

// truncDivide is a/b rounded towards zero.
func truncDivide(a, b *expr.Expr) *expr.Expr {
	if a.DType.IsFloat() {
		return expr.Trunc(expr.Div(a, b))
	}
	return guardZero(b, func() *expr.Expr { return expr.Div(a, b) })
}

// remainderC is the remainder with the sign of a. On floats it is NaN where a/b
// overflows, as PyTorch's vector code has it.
func remainderC(a, b *expr.Expr) *expr.Expr {
	if a.DType.IsFloat() {
		over := expr.Eq(expr.Abs(expr.Div(a, b)), like(a, inf))
		return expr.Select(over, like(a, math.NaN()), expr.Rem(a, b))
	}
	return guardZero(b, func() *expr.Expr { return expr.Rem(a, b) })
}

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
	q := expr.Div(expr.Sub(a, m), b)
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
		unary("aten::fix(Tensor self) -> Tensor", noBool, whole(expr.Trunc)).core(
			sameAs("aten.trunc.default")),
		unary("aten::round(Tensor self) -> Tensor", noBool, whole(expr.Round)),
		pointwise("aten::round.decimals(Tensor self, *, int decimals) -> Tensor", "self", noBool,
			roundDecimals).core(
			opmathForm(roundDecimalsCore)),
		unary("aten::frac(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Sub(x, expr.Trunc(x))
		}).core(opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value {
			return b.sub(x, b.Op("aten.trunc.default", x))
		})),
	}
}

// roundDecimals scales by a power of ten, rounds and scales back.
func roundDecimals(p *point) *expr.Expr {
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
}

type binaryFn = func(a, b *expr.Expr) *expr.Expr

// comparisonOps are comparisons, logic and operators on bits.
func comparisonOps() []entry {
	var ops []entry
	for _, x := range []struct {
		name string
		f    binaryFn
	}{
		{"eq", expr.Eq}, {"ne", expr.Ne}, {"lt", expr.Lt}, {"le", expr.Le}, {"gt", expr.Gt},
		{"ge", expr.Ge},
	} {
		ops = append(ops, binary("aten::"+x.name+".Tensor(Tensor self, Tensor other) -> Tensor",
			toBool, comparable(x.f)), binary(
			"aten::"+x.name+".Scalar(Tensor self, Scalar other) -> Tensor", toBool,
			comparable(x.f)))
	}
	for _, x := range []struct {
		name string
		f    binaryFn
	}{
		{"and", expr.And}, {"or", expr.Or}, {"xor", expr.Xor},
	} {
		for _, form := range []string{".Tensor(Tensor self, Tensor other)",
			".Scalar(Tensor self, Scalar other)"} {
			ops = append(ops, binary("aten::bitwise_"+x.name+form+" -> Tensor", intOrBool, x.f),
				binary("aten::__"+x.name+"__"+form+" -> Tensor", intOrBool,
					x.f).core(sameAs("aten.bitwise_"+x.name+form[:strings.Index(form, "(")])))
		}
		ops = append(ops,
			binary("aten::bitwise_"+x.name+".Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
				intOrBool, x.f).core(swapped2("aten.bitwise_"+x.name+".Scalar")),
			binary("aten::logical_"+x.name+"(Tensor self, Tensor other) -> Tensor", logical, x.f))
	}
	for _, x := range []struct{ form, as string }{{".Tensor(Tensor self, Tensor other)", ".Tensor"},
		{".Scalar(Tensor self, Scalar other)", ".Tensor_Scalar"}} {
		ops = append(ops, binary("aten::__lshift__"+x.form+" -> Tensor", intOnly,
			shiftLeft).core(sameAs("aten.bitwise_left_shift"+x.as)),
			binary("aten::__rshift__"+x.form+" -> Tensor", intOnly,
				shiftRight).core(sameAs("aten.bitwise_right_shift"+x.as)))
	}
	for _, form := range []string{".Tensor(Tensor self, Tensor other)",
		".Tensor_Scalar(Tensor self, Scalar other)", ".Scalar_Tensor(Scalar self, Tensor other)"} {
		left := binary("aten::bitwise_left_shift"+form+" -> Tensor", intOnly, shiftLeft)
		right := binary("aten::bitwise_right_shift"+form+" -> Tensor", intOnly, shiftRight)
		if strings.HasPrefix(form, ".Scalar_Tensor") {
			left, right = left.core(ofTensors("aten.bitwise_left_shift.Tensor")),
				right.core(ofTensors("aten.bitwise_right_shift.Tensor"))
		}
		ops = append(ops, left, right)
	}
	return append(ops,
		unary("aten::bitwise_not(Tensor self) -> Tensor", intOrBool, expr.Not),
		unary("aten::logical_not(Tensor self) -> Tensor", logical, expr.Not),
		unary("aten::isnan(Tensor self) -> Tensor", toBool, expr.IsNaN),
		unary("aten::isinf(Tensor self) -> Tensor", toBool, func(x *expr.Expr) *expr.Expr {
			return isInf(x, true, true)
		}),
		unary("aten::isposinf(Tensor self) -> Tensor", toBool, func(x *expr.Expr) *expr.Expr {
			return isInf(x, true, false)
		}).core(infCore(inf)),
		unary("aten::isneginf(Tensor self) -> Tensor", toBool, func(x *expr.Expr) *expr.Expr {
			return isInf(x, false, true)
		}).core(infCore(-inf)),
		unary("aten::isfinite(Tensor self) -> Tensor", toBool, func(x *expr.Expr) *expr.Expr {
			if !x.DType.IsFloat() {
				return expr.Bool(true)
			}
			return expr.Not(expr.Or(expr.IsNaN(x), isInf(x, true, true)))
		}).core(isFiniteCore),
		unary("aten::signbit(Tensor self) -> Tensor", toBool, signbit).core(signbitCore),
	)
}

// intOnly keeps integers and rejects the rest.
var intOnly rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return d, d, d.IsInt() }

// comparable compares bools as numbers.
func comparable(f binaryFn) binaryFn {
	return func(a, b *expr.Expr) *expr.Expr {
		if a.DType == ir.Bool {
			a, b = expr.Cast(ir.Uint8, a), expr.Cast(ir.Uint8, b)
		}
		return f(a, b)
	}
}

func isInf(x *expr.Expr, pos, neg bool) *expr.Expr {
	if !x.DType.IsFloat() {
		return expr.Bool(false)
	}
	r := expr.Bool(false)
	if pos {
		r = expr.Or(r, expr.Eq(x, expr.Float(x.DType, inf)))
	}
	if neg {
		r = expr.Or(r, expr.Eq(x, expr.Float(x.DType, -inf)))
	}
	return r
}

// bitsOf returns the signed integer dtype of the size of a float dtype.
func bitsOf(d ir.DType) ir.DType {
	if d == ir.Float64 {
		return ir.Int64
	}
	return ir.Int32
}

// signbit reads the sign, also that of zeros and NaN.
func signbit(x *expr.Expr) *expr.Expr {
	switch {
	case x.DType.IsFloat():
		b := expr.Bitcast(bitsOf(x.DType), x)
		return expr.Lt(b, like(b, 0))
	case x.DType == ir.Bool || x.DType.IsUnsigned():
		return expr.Bool(false)
	}
	return expr.Lt(x, like(x, 0))
}

// shiftLeft gives 0 for shifts outside of the type's bits.
func shiftLeft(a, b *expr.Expr) *expr.Expr {
	bits := like(b, float64(8*b.DType.Size()))
	out := expr.Or(expr.Lt(b, like(b, 0)), expr.Ge(b, bits))
	return expr.Select(out, like(a, 0), expr.Shl(a, b))
}

// shiftRight gives the sign (0 or -1) for shifts outside of the type's bits.
func shiftRight(a, b *expr.Expr) *expr.Expr {
	last := like(b, float64(8*b.DType.Size()-1))
	out := expr.Or(expr.Lt(b, like(b, 0)), expr.Gt(b, last))
	if a.DType.IsUnsigned() {
		return expr.Select(out, like(a, 0), expr.Shr(a, b))
	}
	return expr.Shr(a, expr.Select(out, last, b))
}

// selectionOps choose between elements by a mask.
func selectionOps() []entry {
	choose := func(p *point) *expr.Expr {
		return expr.Select(expr.Cast(ir.Bool, p.x[0]), p.x[1], p.x[2])
	}
	return []entry{
		pointwise("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
			"?condition self other", same, choose),
		pointwise("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
			"?condition self other", same, choose).core(whereCore),
		pointwise("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
			"?condition self other", same, choose).core(whereCore),
		pointwise("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
			"?condition self other", same, choose).core(whereCore),
		maskedFill("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor").core(maskedFillCore),
		maskedFill("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor").core(maskedFillCore),
		pointwise("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", "self", same, nanToNum).core(nanToNumCore),
		pointwise("aten::heaviside(Tensor self, Tensor values) -> Tensor", "self values", same,
			func(p *point) *expr.Expr {
				x := p.x[0]
				if x.DType == ir.Bool {
					return expr.Or(x, p.x[1])
				}
				return expr.Select(expr.Eq(x, like(x, 0)), p.x[1],
					expr.Cast(p.dt, expr.Gt(x, like(x, 0))))
			}).core(heavisideCore),
	}
}

// maskedFill keeps the dtype of self; the value is converted to it.
func maskedFill(schema string) entry {
	op := pointwise(schema, "self ?mask ?value", same, func(p *point) *expr.Expr {
		return expr.Select(expr.Cast(ir.Bool, p.x[1]), expr.Cast(p.dt, p.x[2]), p.x[0])
	})
	strided := op.Infer
	op.Infer = func(c *Call) []ir.Type {
		ts := strided(c)
		if k := c.Operand("value"); k >= 0 && c.operands[k].Type.Rank() > 0 {
			panic(c.fail("the value has %d dimensions, not 0", c.operands[k].Type.Rank()))
		}
		return []ir.Type{ts[0].Dense()}
	}
	return op
}

// The largest finite values.
var largest = map[ir.DType]float64{
	ir.Float16: 65504, ir.BFloat16: 0x1.fep127, ir.Float32: 0x1.fffffep127,
	ir.Float64: 0x1.fffffffffffffp1023,
}

func nanToNum(p *point) *expr.Expr {
	x := p.x[0]
	if !x.DType.IsFloat() {
		return x
	}
	or := func(name string, def float64) *expr.Expr {
		if p.c.Has(name) {
			return p.num(name)
		}
		return p.konst(def)
	}
	top := largest[p.c.Outs[0].DType]
	x = expr.Select(expr.Eq(p.x[0], p.konst(inf)), or("posinf", top), x)
	x = expr.Select(expr.Eq(p.x[0], p.konst(-inf)), or("neginf", -top), x)
	return expr.Select(expr.IsNaN(p.x[0]), or("nan", 0), x)
}
