package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// cortexMConversions are float32 to int8 or int16 and back, in float32: unlike
// quantized_decomposed, which takes the reciprocal of a scale in float64.
func cortexMConversions() []Op {
	const args = "(Tensor input, float scale, int zero_point, " + quantRange + ") -> Tensor"
	return []Op{
		{
			Schema: cm + "quantize_per_tensor" + args,
			Infer: func(c *Call) ([]ir.Type, error) {
				t, d := c.Tensor("input"), c.DType("dtype", ir.InvalidDType)
				if t.DType != ir.Float32 || d != ir.Int8 && d != ir.Int16 {
					return nil, c.Errorf("%s to %s; float32 to int8 and int16 are defined",
						t.DType, d)
				}
				return []ir.Type{likeType(t, d)}, c.quantLimits(d)
			},
			Compute: elementsOf("input", func(c *Call, x *expr.Expr) (*expr.Expr, error) {
				scale := must(c.Float("scale"))
				n := must(c.int32Args("zero_point", "quant_min", "quant_max"))
				// Limited before it is an integer: what does not fit one stays on
				// its side, NaN is the least.
				limit := func(k int) *expr.Expr {
					return expr.Cast(ir.Float32, expr.Sub(n[k], n[0]))
				}
				inverse := expr.Div(like(x, 1), expr.Float(ir.Float32, scale))
				q := expr.Min(expr.Max(expr.Round(expr.Mul(inverse, x)), limit(1)), limit(2))
				return expr.Add(expr.Cast(ir.Int32, q), n[0]), nil
			}),
		},
		{
			Schema: cm + "dequantize_per_tensor" + args,
			Infer: func(c *Call) ([]ir.Type, error) {
				t, d := c.Tensor("input"), c.DType("dtype", ir.InvalidDType)
				if t.DType != d || d != ir.Int8 && d != ir.Int16 {
					return nil, c.Errorf("an input of %s as %s; int8 and int16 are defined",
						t.DType, d)
				}
				return []ir.Type{likeType(t, ir.Float32)}, c.quantLimits(d)
			},
			Compute: elementsOf("input", func(c *Call, x *expr.Expr) (*expr.Expr, error) {
				scale := must(c.Float("scale"))
				zero := must(c.int32Arg("zero_point"))
				x = expr.Cast(ir.Float32, expr.Sub(expr.Cast(ir.Int32, x), zero))
				return expr.Mul(x, expr.Float(ir.Float32, scale)), nil
			}),
		},
	}
}

// quantLimits checks quant_min and quant_max against the range of d.
func (c *Call) quantLimits(d ir.DType) error {
	lo := must(c.Int("quant_min"))
	hi := must(c.Int("quant_max"))
	if least, most := expr.IntRange(d); lo < least || hi > most || lo > hi {
		return c.Errorf("limits %d and %d of %s", lo, hi, d)
	}
	return nil
}

// elementsOf maps each element of an operand to that of the only result, of
// which f gives the value in any dtype.
func elementsOf(name string,
	f func(c *Call, x *expr.Expr) (*expr.Expr, error)) func(*Call) ([]expr.Tensor, error) {
	return func(c *Call) ([]expr.Tensor, error) {
		out := c.Outs[0]
		vars, coords := indexVars(out.Sizes)
		y := must(f(c, c.Load(name, coords...)))
		return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, y)}}, nil
	}
}
