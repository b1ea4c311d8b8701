package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// batchNormTrain normalises with the statistics of the batch itself and
// returns them; with running statistics it also returns those brought up to
// date, the variance without bias. Outside of training it takes the running
// statistics, and the others have no elements.
func batchNormTrain(schema string, running bool) Op {
	params := []string{"weight", "bias"}
	if running {
		params = append(params, "running_mean", "running_var")
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t, err := c.channels()
			if err == nil {
				err = c.perChannel(t, params...)
			}
			if err == nil && !c.Bool("training") && !running {
				err =
					c.Errorf("neither statistics nor training: there is nothing to normalise with")
			}
			if err != nil {
				return nil, err
			}
			s := ir.TensorOf(c.statsDType("weight", "bias"), t.Sizes[1])
			if !c.Bool("training") {
				s = ir.StaticTensor(s.DType, 0)
			}
			out := []ir.Type{batchNormType(t), s, s}
			if running {
				out = append(out, c.Tensor("running_mean").Dense(), c.Tensor("running_var").Dense())
			}
			return out, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("input")
			eps := must(c.Float("eps"))
			momentum := must(c.Float("momentum"))
			m := opmath(t.DType)
			over := allOf(t.Rank())
			over[1] = false
			n := countOver(t, over)
			stats := func(ch sym.Expr) (mean, variance *expr.Expr) {
				return moments(m, n, func() (*expr.Expr, []*sym.Symbol) {
					return c.inputOver(m, over, ch)
				})
			}
			training := c.Bool("training")
			if !training {
				stats = func(ch sym.Expr) (mean, variance *expr.Expr) {
					return c.paramAt("running_mean", m, ch), c.paramAt("running_var", m, ch)
				}
			}
			vars, at := indexVars(t.Sizes)
			mean, variance := stats(at[1])
			x := expr.Mul(expr.Sub(expr.Cast(m, c.Load("input", at...)), mean),
				inverseStd(variance, eps))
			y := affine(x, c.paramAt("weight", m, at[1]), c.paramAt("bias", m, at[1]))
			out := []expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Cast(t.DType, y)}}
			for i := 1; i < len(c.Outs); i++ {
				d := c.Outs[i].DType
				vars, at := indexVars(c.Outs[i].Sizes)
				mean, variance := stats(at[0])
				update := func(name string, now *expr.Expr) *expr.Expr {
					old := expr.Mul(expr.Num(m, 1-momentum), c.paramAt(name, m, at[0]))
					return expr.Add(old, expr.Mul(expr.Num(m, momentum), now))
				}
				var body *expr.Expr
				switch {
				case i <= 2 && !training:
					body = expr.Num(m, 0)
				case i == 1 || i == 3 && !training:
					body = mean
				case i == 4 && !training:
					body = variance
				case i == 2:
					body = inverseStd(variance, eps)
				case i == 3:
					body = update("running_mean", mean)
				default:
					unbiased := expr.Div(expr.Mul(variance, expr.Idx(m, n)),
						expr.Idx(m, sym.Sub(n, sym.Int(1))))
					body = update("running_var", unbiased)
				}
				out = append(out, expr.Tensor{DType: d, Vars: vars, Body: expr.Cast(d, body)})
			}
			return out, nil
		},
	}
}
