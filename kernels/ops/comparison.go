package ops

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

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
		}).core(asNodes),
		unary("aten::isneginf(Tensor self) -> Tensor", toBool, func(x *expr.Expr) *expr.Expr {
			return isInf(x, false, true)
		}).core(asNodes),
		unary("aten::isfinite(Tensor self) -> Tensor", toBool, func(x *expr.Expr) *expr.Expr {
			if !x.DType.IsFloat() {
				return expr.Bool(true)
			}
			return expr.Not(expr.Or(expr.IsNaN(x), isInf(x, true, true)))
		}).core(asNodes),
		unary("aten::signbit(Tensor self) -> Tensor", toBool,
			signbit).core(func(b *Builder, c *Call) *ir.Value {
			// Finds the sign of a zero by its direction in the plane.
			x := c.Value("self")
			if x.Type.DType == ir.Bool || x.Type.DType.IsUnsigned() {
				return b.aten("full_like", x, false, Kw("dtype", ir.Bool))
			}
			return b.negative(x)
		}),
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
			"?condition self other", same, choose).core(asNodes),
		pointwise("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
			"?condition self other", same, choose).core(asNodes),
		pointwise("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
			"?condition self other", same, choose).core(asNodes),
		maskedFill("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor").core(
			asNodes),
		maskedFill("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor").core(
			asNodes),
		pointwise("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, "+
			"float? neginf=None) -> Tensor", "self", same, func(p *point) *expr.Expr {
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
		}).core(asNodes),
		pointwise("aten::heaviside(Tensor self, Tensor values) -> Tensor", "self values", same,
			func(p *point) *expr.Expr {
				x := p.x[0]
				if x.DType == ir.Bool {
					return expr.Or(x, p.x[1])
				}
				return expr.Select(expr.Eq(x, like(x, 0)), p.x[1],
					expr.Cast(p.dt, expr.Gt(x, like(x, 0))))
			}).core(asNodes),
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
			panic(c.Errorf("the value has %d dimensions, not 0", c.operands[k].Type.Rank()))
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

// ofTensors is op with tensors in the place of numbers.
func ofTensors(op string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		d := c.Outs[0].DType
		return b.Op(op, b.tensor(c, "self", d), b.tensor(c, "other", d))
	}
}

func swapped2(op string) coreForm {
	return func(b *Builder, c *Call) *ir.Value { return b.Op(op, c.Arg("other"), c.Arg("self")) }
}
