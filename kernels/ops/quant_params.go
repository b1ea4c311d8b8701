package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// smallestScale is the least scale that choose_qparams gives.
var smallestScale = float64(float32(6.1e-5))

// chooseQParams takes scale and zero point from the range of the input, of the
// whole of it or of each token (all of the last dimension), as ExecuTorch's
// kernels do.
func chooseQParams(schema string) Op {
	perToken := func(c *Call) bool { return c.Op.sch.Index("quant_min") < 0 }
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("input")
			if t.DType != ir.Float32 {
				return nil, c.Errorf("the input is %s, not float32", t.DType)
			}
			sizes := []sym.Expr{sym.Int(1)}
			if perToken(c) {
				if t.Rank() == 0 {
					return nil, c.Errorf("an input without dimensions has no tokens")
				}
				sizes = append(append([]sym.Expr(nil), t.Sizes[:t.Rank()-1]...), sym.Int(1))
			}
			return []ir.Type{ir.TensorOf(ir.Float64, sizes...), ir.TensorOf(ir.Int64, sizes...)},
				nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			qmin, qmax := int64(math.MinInt8), int64(math.MaxInt8)
			if !perToken(c) {
				qmin = must(c.Int("quant_min"))
				qmax = must(c.Int("quant_max"))
				if qmin >= qmax || qmin < math.MinInt32 || qmax > math.MaxInt32 {
					return nil, c.Errorf("a range from %d to %d", qmin, qmax)
				}
			}
			t := c.Tensor("input")
			var out []expr.Tensor
			for i, o := range c.Outs {
				vars, coords := indexVars(o.Sizes)
				extreme := func(kind expr.ReduceKind) *expr.Expr {
					red, at := reductionVars(t.Sizes)
					if perToken(c) {
						n := t.Rank() - 1
						copy(at, coords[:n])
						red = red[n:]
					}
					return expr.Reduction(kind, red, c.Load("input", at...))
				}
				scale, zero := qparamsOf(extreme(expr.ReduceMin), extreme(expr.ReduceMax),
					qmin, qmax)
				out = append(out, expr.Tensor{DType: o.DType, Vars: vars,
					Body: [...]*expr.Expr{scale, zero}[i]})
			}
			return out, nil
		},
	}
}

// qparamsOf returns the scale, a Float64, and the zero point, an Int64, with
// which the integers from qmin to qmax cover lo to hi, Float32 values, and 0.
func qparamsOf(lo, hi *expr.Expr, qmin, qmax int64) (scale, zero *expr.Expr) {
	const d, f = ir.Float64, ir.Float32
	num := func(x float64) *expr.Expr { return expr.Float(d, x) }
	f32 := func(x float64) *expr.Expr { return expr.Float(f, x) }
	wide := func(x *expr.Expr) *expr.Expr { return expr.Cast(d, x) }
	lo, hi = expr.Min(lo, f32(0)), expr.Max(hi, f32(0))
	steps := float64(qmax - qmin)
	s := expr.Div(expr.Sub(wide(hi), wide(lo)), num(steps))
	s32 := expr.Cast(f, s)
	useless := expr.Or(expr.Eq(s32, f32(0)), isInf(expr.Div(f32(1), s32), true, true))
	s = expr.Select(useless, num(0.1), s)

	// A scale that is too small widens the range with it.
	small := expr.Lt(s, num(smallestScale))
	least := f32(smallestScale * steps)
	amplifier := expr.Div(f32(smallestScale), expr.Cast(f, s))
	noLo, noHi := expr.Eq(lo, f32(0)), expr.Eq(hi, f32(0))
	wideLo := expr.Select(noLo, lo, expr.Select(noHi, expr.Neg(least), expr.Mul(lo, amplifier)))
	wideHi := expr.Select(noLo, least, expr.Select(noHi, hi, expr.Mul(hi, amplifier)))
	lo, hi = expr.Select(small, wideLo, lo), expr.Select(small, wideHi, hi)
	s = expr.Select(small, num(smallestScale), s)

	// The zero point follows from either end; the one with the smaller terms is
	// more exact.
	atLo, atHi := expr.Div(wide(lo), s), expr.Div(wide(hi), s)
	errLo := expr.Sub(num(math.Abs(float64(qmin))), expr.Abs(atLo))
	errHi := expr.Sub(num(math.Abs(float64(qmax))), expr.Abs(atHi))
	z := expr.Select(expr.Lt(errLo, errHi), expr.Sub(num(float64(qmin)), atLo),
		expr.Sub(num(float64(qmax)), atHi))
	nearest := wide(expr.Round(expr.Cast(f, z)))
	z = expr.Select(expr.Lt(z, num(float64(qmin))), num(float64(qmin)),
		expr.Select(expr.Gt(z, num(float64(qmax))), num(float64(qmax)), nearest))
	return s, expr.Cast(ir.Int64, z)
}

// reductionVars returns variables that range over all elements of a tensor.
func reductionVars(sizes []sym.Expr) ([]*sym.Symbol, []sym.Expr) {
	vars, at := make([]*sym.Symbol, len(sizes)), make([]sym.Expr, len(sizes))
	for d, s := range sizes {
		vars[d] = sym.NewVar("r"+itoa(d), s)
		at[d] = vars[d].Expr()
	}
	return vars, at
}
