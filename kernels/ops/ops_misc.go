package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// compositeOps are written in terms of others.
func compositeOps() []Op {
	return []Op{
		{
			Schema: "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
			Infer: func(c *Call) ([]ir.Type, error) {
				d, err := c.Promote("self", "other")
				return []ir.Type{ir.TensorOf(d)}, err
			},
			Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
				d := b.Op("aten.sub.Tensor", c.Arg("self"), c.Arg("other"))
				return []*ir.Value{b.Op("aten.linalg_vector_norm.default", d, c.Arg("p"))}, nil
			},
		},
		{
			Schema: "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
			Infer: func(c *Call) ([]ir.Type, error) {
				d, err := c.Promote("self", "other")
				if _, float, _ := toFloat(d); err == nil {
					d = float
				}
				t, ok := pointwiseType(d, c.Tensor("self"), c.Tensor("other"))
				if err == nil && !ok {
					err = c.Errorf("%s do not broadcast", describeSizes([]ir.Type{c.Tensor("self"),
						c.Tensor("other")}))
				}
				return []ir.Type{t}, err
			},
			Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
				return []*ir.Value{b.Op("aten.mul.Tensor", c.Arg("self"), b.Op("aten.pow.Scalar",
					2.0, c.Arg("other")))}, nil
			},
		},
		pointwise("aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
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
func floatPower(schema string) Op {
	double := func(ir.DType) (ir.DType, ir.DType, bool) { return ir.Float64, ir.Float64, true }
	return pointwise(schema, "self exponent", double, func(p *point) *expr.Expr {
		return power(p.x[0], p.x[1])
	})
}
