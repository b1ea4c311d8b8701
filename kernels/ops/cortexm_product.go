package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// cortexMProducts multiply matrices; the second one is transposed.
func cortexMProducts() []Op { return []Op{int8Linear(), int8BatchMatmul()} }

// int8Linear maps the last dimension of the input. The weight is [out, in].
//
// kernel_sum stands for what does not depend on the input, the bias included:
// input_offset times the sum of a row of the weight. It is there instead of the
// bias in programs for cores with Helium.
func int8Linear() Op {
	return Op{
		Schema: cm + "quantized_linear(Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, int input_offset, int filter_offset, int output_offset, int[] requantize_multipliers, int[] requantize_shifts, int activation_max, int activation_min) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			x := must(c.int8Input("input", 0))
			w := must(c.int8Input("weights", 2))
			if x.Rank() == 0 || differ(x.Sizes[x.Rank()-1], w.Sizes[1]) {
				return nil, c.Errorf("%s do not fit", describeSizes([]ir.Type{x, w}))
			}
			for _, name := range []string{"bias", "kernel_sum"} {
				if k := c.Operand(name); k >= 0 {
					if t := c.operands[k].Type; t.DType != ir.Int32 ||
						differ(t.Numel(), w.Sizes[0]) {
						return nil, c.Errorf("%s is %s of %s for %s rows", name, t.DType,
							describeSizes([]ir.Type{t}), w.Sizes[0])
					}
				}
			}
			sizes := append([]sym.Expr(nil), x.Sizes...)
			sizes[x.Rank()-1] = w.Sizes[0]
			return []ir.Type{ir.TensorOf(ir.Int8, sizes...)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			n := must(c.int32Args("input_offset", "filter_offset", "output_offset",
				"activation_min", "activation_max"))
			scale := must(c.firstRescale())
			vars, at := indexVars(c.Outs[0].Sizes)
			last := len(at) - 1
			row := at[last]
			k := sym.NewVar("k", c.Tensor("weights").Sizes[1])
			in := append([]sym.Expr(nil), at...)
			in[last] = k.Expr()
			x, w := c.Load("input", in...), c.Load("weights", row, k.Expr())
			constant, inOffset := "bias", n[0]
			if c.Has("kernel_sum") {
				constant, inOffset = "kernel_sum", expr.Int(ir.Int32, 0)
			}
			y := expr.Sum([]*sym.Symbol{k}, expr.Mul(offset(x, inOffset), offset(w, n[1])))
			if c.Has(constant) {
				t := c.Tensor(constant)
				y = expr.Add(y, c.Load(constant, unflatten(row, t.Sizes)...))
			}
			return []expr.Tensor{{DType: ir.Int8, Vars: vars, Body: finish(scale.of(y), n[2], n[3],
				n[4])}}, nil
		},
	}
}

// firstRescale is the scale of the first elements of requantize_multipliers and
// requantize_shifts: CMSIS-NN's product has one for all rows.
func (c *Call) firstRescale() (rescale, error) {
	ms := must(c.Ints("requantize_multipliers"))
	ss := must(c.Ints("requantize_shifts"))
	if len(ms) == 0 || len(ss) == 0 {
		return rescale{}, c.Errorf("no requantize_multipliers or requantize_shifts")
	}
	return c.rescaleOf("requantize", ms[0], ss[0])
}

// int8BatchMatmul multiplies lhs [b, m, k] by rhs [b, n, k], transposed. The
// zero points of the operands are passed negated: they are added.
func int8BatchMatmul() Op {
	return Op{
		Schema: cm + "quantized_batch_matmul(Tensor lhs, int lhs_zero_point, Tensor rhs_transposed, int rhs_zero_point, int output_zero_point, int output_multiplier, int output_shift, Tensor? scratch=None) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			a := must(c.int8Input("lhs", 3))
			b, err := c.int8Input("rhs_transposed", 3)
			if err == nil && (differ(a.Sizes[0], b.Sizes[0]) || differ(a.Sizes[2], b.Sizes[2])) {
				err = c.Errorf("%s do not fit", describeSizes([]ir.Type{a, b}))
			}
			if err != nil {
				return nil, err
			}
			return []ir.Type{ir.TensorOf(ir.Int8, a.Sizes[0], a.Sizes[1], b.Sizes[1])}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			n := must(c.int32Args("lhs_zero_point", "rhs_zero_point", "output_zero_point"))
			scale := must(c.rescaleArg("output"))
			vars, at := indexVars(c.Outs[0].Sizes)
			k := sym.NewVar("k", c.Tensor("lhs").Sizes[2])
			a, b := c.Load("lhs", at[0], at[1], k.Expr()), c.Load("rhs_transposed", at[0],
				at[2], k.Expr())
			y := expr.Sum([]*sym.Symbol{k}, expr.Mul(offset(a, n[0]), offset(b, n[1])))
			lo, hi := int8Limits(ir.Int32)
			return []expr.Tensor{{DType: ir.Int8, Vars: vars, Body: finish(scale.of(y), n[2],
				lo, hi)}}, nil
		},
	}
}
