package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// upsampleAAOps resample with a triangular filter that widens with the
// distance of two outputs, so that no input is left out when an image shrinks.
func upsampleAAOps() []Op {
	ops := []Op{
		upsample("aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", 2, nil, true),
		upsample("aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", 2, nil, true),
	}
	for i, input := range []string{"self", "input"} {
		ops[i].Compute = func(c *Call) ([]expr.Tensor, error) {
			axes := must(upsampleAxes(c, input, 2))
			d := c.Outs[0].DType
			m := opmath(d)
			vars, at := indexVars(c.Outs[0].Sizes)
			x, over, weight := at[:2:2], []*sym.Symbol(nil), expr.Num(m, 1)
			for k, a := range axes {
				f := a.triangle(m, "k"+itoa(k), at[2+k])
				x, over, weight = append(x, f.at), append(over, f.over), expr.Mul(weight, f.weight)
			}
			sum := expr.Sum(over, expr.Mul(weight, expr.Cast(m, c.Load(input, x...))))
			return []expr.Tensor{{DType: d, Vars: vars, Body: expr.Cast(d, sum)}}, nil
		}
	}
	return ops
}

// filter is a weighted sum over inputs along one dimension.
type filter struct {
	over   *sym.Symbol
	at     sym.Expr
	weight *expr.Expr
}

// triangle weighs the inputs around output o by their distance; the weights
// come to 1.
func (a axis) triangle(m ir.DType, name string, o sym.Expr) filter {
	num := func(x float64) *expr.Expr { return expr.Num(m, x) }
	step := a.step(m)
	support := expr.Max(step, num(1))
	center := expr.Mul(step, expr.Add(expr.Idx(m, o), num(0.5)))
	edge := func(x *expr.Expr) *expr.Expr { return expr.Cast(ir.Int64, expr.Add(x, num(0.5))) }
	first := expr.Max(edge(expr.Sub(center, support)), expr.Int(ir.Int64, 0))
	end := expr.Min(edge(expr.Add(center, support)), expr.Idx(ir.Int64, a.in))
	n := a.in // no more inputs than there are
	if step.Op == expr.OpConst {
		n = sym.Min(n, sym.Int(int64(math.Ceil(2*math.Max(step.Float, 1)))+1))
	}
	weigh := func(v *sym.Symbol) (i, w *expr.Expr) {
		i = expr.Add(first, expr.Idx(ir.Int64, v.Expr()))
		x := expr.Add(expr.Sub(expr.Cast(m, i), center), num(0.5))
		w = expr.Max(num(0), expr.Sub(num(1), expr.Abs(expr.Div(x, support))))
		return i, expr.Select(expr.Lt(i, end), w, num(0))
	}
	each, all := sym.NewVar(name, n), sym.NewVar(name+"_all", n)
	i, w := weigh(each)
	_, part := weigh(all)
	return filter{over: each, at: clampedIndex(name+"_at", i, a.in, false).Expr(),
		weight: expr.Div(w, expr.Sum([]*sym.Symbol{all}, part))}
}
