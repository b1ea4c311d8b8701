package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// The names of softmax of integers.
const (
	IntegerSoftmax = "etgen.integer_softmax.default"
	FixedSoftmax   = "etgen.fixed_softmax.default"
)

// integerSoftmaxes are softmax of int8 along one dimension. How much less than the largest of its
// row an element is, is an index into a table of exponentials, the sum of which is exact.
func integerSoftmaxes() []entry {
	const head = "softmax(Tensor input, Tensor exps, int dim, "
	return []entry{
		{
			// The share of an element's exponential in the sum, times scale, in float32.
			Schema: "etgen::integer_" + head + "float scale) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				scale := float32(must(c.Float("scale")))
				c.errorIf(!(scale > 0) || scale > maxScale, "a scale of %g", scale)
				return one(ir.TensorOf(ir.Float32, c.softmaxInput().Sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				e, sum := c.exponentials(at)
				return expr.Mul(expr.Cast(ir.Float32, e), expr.Div(
					expr.Float(ir.Float32, must(c.Float("scale"))), expr.Cast(ir.Float32, sum)))
			}),
		},
		{
			// The share has 30 fractional bits, and is scaled to int8.
			Schema: "etgen::fixed_" + head +
				"int output_zero_point, int output_multiplier, int output_shift, int activation_min, int activation_max) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.rescaleArg("output")
				c.int32Args("output_zero_point", "activation_min", "activation_max")
				return one(ir.TensorOf(ir.Int8, c.softmaxInput().Sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				e, sum := c.exponentials(at)
				n := c.int32Args("output_zero_point", "activation_min", "activation_max")
				zeros := fixed.LeadingZeros(sum)
				m := expr.Xor(expr.Shl(sum, zeros), expr.Int(ir.Int32, -1<<31))
				p := fixed.HighMul(expr.Shl(e, expr.Sub(zeros, expr.Int(ir.Int32, 1))),
					fn("inverse_fixed")(m))
				return finish(c.rescaleArg("output").of(p), n[0], n[1], n[2])
			}),
		},
	}
}

// maxScale is a float32 that a sum of exponentials may be divided into.
const maxScale = 1e30

// softmaxInput is the type of the input of such a call.
func (c *Call) softmaxInput() ir.Type {
	t, exps := c.int8Input("input", 0), c.Tensor("exps")
	c.dim("dim", t.Rank())
	c.errorIf(t.Rank() == 0, "an input without dimensions")
	c.errorIf(exps.DType != ir.Int32 || exps.Rank() != 1 || !exps.Sizes[0].Is(256), "a table of %s",
		sizesOf{exps})
	return t
}

// exponentials are that of the element at and the sum of its row, at least 1 and below 2^31.
func (c *Call) exponentials(at []sym.Expr) (e, sum *expr.Expr) {
	t := c.Tensor("input")
	d := c.dim("dim", t.Rank())
	load := func(at []sym.Expr) *expr.Expr { return expr.Cast(ir.Int32, c.Load("input", at...)) }
	along := func(name string) ([]*sym.Symbol, *expr.Expr) {
		v := sym.NewVar(name, t.Sizes[d])
		in := append([]sym.Expr(nil), at...)
		in[d] = v.Expr()
		return []*sym.Symbol{v}, load(in)
	}
	over, x := along("r")
	most := expr.MaxOf(over, x)
	exp := func(name string, x *expr.Expr) *expr.Expr {
		return c.Load("exps", expr.Bind(name, expr.Sub(most, x), sym.Int(256)).Expr())
	}
	over, x = along("s")
	return exp("at", load(at)), expr.Max(expr.Sum(over, exp("less", x)), expr.Int(ir.Int32, 1))
}
