package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// mixedOperands checks the operands of a product of floats with an int8
// weight: the input is m·k, rows is the weight's dimension that meets k, and
// scales belong to its dimension scaled.
func (c *Call) mixedOperands(meets, scaled int) (x, w, s ir.Type, err error) {
	x, w, s = c.Tensor("input"), c.Tensor("weight"), c.Tensor("weight_scales")
	switch {
	case x.Rank() != 2 || w.Rank() != 2 || s.Rank() < 1 || s.Rank() > 2 || s.Rank() == 2 &&
		scaled == meets ||
		differ(x.Sizes[1], w.Sizes[meets]) || differ(s.Sizes[0], w.Sizes[scaled]):
		err = c.Errorf("input, weight and scales of %s", describeSizes([]ir.Type{x, w, s}))
	case !x.DType.IsFloat() || w.DType != ir.Int8 || s.DType != x.DType:
		err = c.Errorf("input, weight and scales of %s, %s and %s", x.DType, w.DType, s.DType)
	case c.Has("weight_zero_points"):
		err = c.Errorf("zero points of the weight are not supported")
	}
	return x, w, s, err
}

// mixedMM is a matrix product with a weight of int8, whose rows have scales.
func mixedMM() Op {
	return Op{
		Schema: quantNS +
			"mixed_mm(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			x, w, s, err := c.mixedOperands(0, 0)
			if err == nil && s.Rank() != 1 {
				err = c.Errorf("scales of %s", describeSizes([]ir.Type{s}))
			}
			if err != nil {
				return nil, err
			}
			return []ir.Type{ir.TensorOf(x.DType, x.Sizes[0], w.Sizes[1])}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out := c.Outs[0]
			m := opmath(out.DType)
			vars, at := indexVars(out.Sizes)
			k := sym.NewVar("k", c.Tensor("input").Sizes[1])
			x := expr.Mul(expr.Cast(m, c.Load("input", at[0], k.Expr())),
				expr.Cast(m, c.Load("weight", k.Expr(), at[1])))
			x = expr.Mul(x, expr.Cast(m, c.Load("weight_scales", k.Expr())))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType,
				expr.Sum([]*sym.Symbol{k}, x))}}, nil
		},
	}
}

// mixedLinear is a product with the transpose of a weight of int8, which has
// scales by row or by row and group of columns; the last group may be short.
func mixedLinear() Op {
	return Op{
		Schema: quantNS +
			"mixed_linear(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, ScalarType? dtype=None) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			x, w, s, err := c.mixedOperands(1, 0)
			if err == nil && s.Rank() == 2 && !sym.Less(sym.Int(0), s.Sizes[1]) {
				err = c.Errorf("%s groups", s.Sizes[1])
			}
			d := c.DType("dtype", x.DType)
			if err == nil && !d.IsFloat() {
				err = c.Errorf("the result would be %s, not a float", d)
			}
			if err != nil {
				return nil, err
			}
			return []ir.Type{ir.TensorOf(d, x.Sizes[0], w.Sizes[0])}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out, x, s := c.Outs[0], c.Tensor("input"), c.Tensor("weight_scales")
			m := opmath(out.DType)
			vars, at := indexVars(out.Sizes)
			n := x.Sizes[1]
			product := func(k sym.Expr) *expr.Expr {
				return expr.Mul(expr.Cast(m, c.Load("input", at[0], k)),
					expr.Cast(m, c.Load("weight", at[1], k)))
			}
			var body *expr.Expr
			if s.Rank() == 1 {
				k := sym.NewVar("k", n)
				body = expr.Mul(expr.Sum([]*sym.Symbol{k}, product(k.Expr())),
					expr.Cast(m, c.Load("weight_scales", at[1])))
			} else {
				size := sym.CeilDiv(n, s.Sizes[1])
				g, i := sym.NewVar("g", s.Sizes[1]), sym.NewVar("k", size)
				k := sym.Add(sym.Mul(g.Expr(), size), i.Expr())
				in := expr.Select(expr.IdxLt(k, n), product(k), expr.Num(m, 0))
				part := expr.Mul(expr.Sum([]*sym.Symbol{i}, in),
					expr.Cast(m, c.Load("weight_scales", at[1], g.Expr())))
				body = expr.Sum([]*sym.Symbol{g}, part)
			}
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, body)}},
				nil
		},
	}
}

// quantAdd dequantizes both operands, adds and quantizes the sum.
func quantAdd() Op {
	return Op{
		Schema: quantNS +
			"add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, int out_quant_min, int out_quant_max) -> Tensor qc",
		Infer: func(c *Call) ([]ir.Type, error) {
			a, b := c.Tensor("a"), c.Tensor("b")
			if !a.DType.IsInt() || a.DType != b.DType ||
				!slices.EqualFunc(a.Sizes, b.Sizes, sym.Expr.Equal) {
				return nil, c.Errorf("operands of %s and %s and of %s", a.DType, b.DType,
					describeSizes([]ir.Type{a, b}))
			}
			t, _ := pointwiseType(a.DType, a, b)
			return []ir.Type{t}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out := c.Outs[0]
			vars, at := indexVars(out.Sizes)
			value := func(name string) *expr.Expr {
				return dequantized(c.Load(name, at...), c.number(c.Arg(name+"_zero_point"),
					ir.Int64), c.number(c.Arg(name+"_scale"), ir.Float32))
			}
			q := quantized(expr.Add(value("a"), value("b")), c.number(c.Arg("out_scale"),
				ir.Float32), c.number(c.Arg("out_zero_point"), ir.Float32),
				c.Arg("out_quant_min"), c.Arg("out_quant_max"), out.DType, c)
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: q}}, nil
		},
	}
}
