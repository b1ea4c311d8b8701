package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// floatBitOps take floats apart, or look at bits as they are.
func floatBitOps() []Op {
	return []Op{
		{
			Schema: "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
			Infer: func(c *Call) ([]ir.Type, error) {
				t := c.Tensor("self")
				if !t.DType.IsFloat() {
					return nil, c.Errorf("not defined on %s", t.DType)
				}
				return []ir.Type{likeType(t, t.DType), likeType(t, ir.Int32)}, nil
			},
			Compute: func(c *Call) ([]expr.Tensor, error) {
				t := c.Tensor("self")
				var out []expr.Tensor
				for i, o := range c.Outs {
					vars, at := indexVars(o.Sizes)
					m, e := frexp(expr.Cast(opmath(t.DType), c.Load("self", at...)))
					out = append(out, expr.Tensor{DType: o.DType, Vars: vars,
						Body: expr.Cast(o.DType, []*expr.Expr{m, e}[i])})
				}
				return out, nil
			},
		},
		viewDType(),
		binary("aten::nextafter(Tensor self, Tensor other) -> Tensor",
			func(d ir.DType) (ir.DType, ir.DType, bool) {
				return d, d, d == ir.Float32 || d == ir.Float64
			}, nextAfter),
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

// nextAfter is the number next to a in the direction of b.
func nextAfter(a, b *expr.Expr) *expr.Expr {
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
}
