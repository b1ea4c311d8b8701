package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// selectionOps choose between elements by a mask.
func selectionOps() []Op {
	choose := func(p *point) *expr.Expr {
		return expr.Select(expr.Cast(ir.Bool, p.x[0]), p.x[1], p.x[2])
	}
	return []Op{
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
func maskedFill(schema string) Op {
	op := pointwise(schema, "self ?mask ?value", same, func(p *point) *expr.Expr {
		return expr.Select(expr.Cast(ir.Bool, p.x[1]), expr.Cast(p.dt, p.x[2]), p.x[0])
	})
	strided := op.Infer
	op.Infer = func(c *Call) ([]ir.Type, error) {
		ts := must(strided(c))
		if k := c.Operand("value"); k >= 0 && c.operands[k].Type.Rank() > 0 {
			return nil, c.Errorf("the value has %d dimensions, not 0", c.operands[k].Type.Rank())
		}
		return []ir.Type{ts[0].Dense()}, nil
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
