package expr_test

import (
	"math"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// quantise is round(x·inv) + zero within the range of d, as an integer.
func quantise(x *expr.Expr, d ir.DType, inv, zero float64) *expr.Expr {
	lo, hi := expr.IntRange(d)
	q := expr.Add(expr.Round(expr.Mul(x, expr.Float(f32, inv))), expr.Float(f32, zero))
	return expr.Cast(d, expr.Min(expr.Float(f32, float64(hi)),
		expr.Max(expr.Float(f32, float64(lo)), q)))
}

func dequantise(q *expr.Expr, scale, zero float64) *expr.Expr {
	return expr.Mul(expr.Sub(expr.Cast(f32, q), expr.Float(f32, zero)), expr.Float(f32, scale))
}

// What was dequantised and is quantised again with the same parameters is what
// it was; with others it is computed.
func TestQuantisedAgain(t *testing.T) {
	for _, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16} {
		for _, scale := range []float64{0.016957026, 3e-5, 1, 117.3, 1e-9} {
			for _, zero := range []float64{0, -128, 17, 255} {
				s := float64(float32(scale))
				inv := float64(1 / float32(s))
				x := expr.At(0, d)
				e := quantise(dequantise(x, s, zero), d, inv, zero)
				if got := expr.Simplify(e); got != x {
					t.Errorf("%s, scale %g, zero %g: %v", d, s, zero, got)
				}
				if got := expr.Simplify(quantise(dequantise(x, s, zero), d, inv*1.01,
					zero)); got.Op == expr.OpLoad {
					t.Errorf("%s: another scale was lost", d)
				}
				if got := expr.Simplify(quantise(dequantise(x, s, zero), d, inv, zero+1)); got.Op ==
					expr.OpLoad {
					t.Errorf("%s: another zero was lost", d)
				}
				// It is so for the values that d has.
				lo, hi := expr.IntRange(d)
				for n := lo; n <= hi; n += (hi - lo) / 255 {
					if got := expr.Simplify(substitute(e, d, n)); got.Op != expr.OpConst ||
						got.Int != n {
						t.Fatalf("%s, scale %g, zero %g: %d becomes %v", d, s, zero, n, got)
					}
				}
			}
		}
	}
}

// substitute puts n for the element that e loads, and computes.
func substitute(e *expr.Expr, d ir.DType, n int64) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.OpLoad {
			return expr.Int(d, n)
		}
		return expr.Build(e)
	})
}

// A limit, a sum and a product of what may be -0, no integer or too large stay.
func TestIntegralKeeps(t *testing.T) {
	x := expr.At(0, f32)
	whole := expr.Cast(f32, expr.At(1, ir.Int8))
	wide := expr.Cast(f32, expr.At(2, i32))
	num := func(v float64) *expr.Expr { return expr.Float(f32, v) }
	for _, e := range []*expr.Expr{
		expr.Add(expr.Round(x), num(0)),
		expr.Max(whole, num(math.Copysign(0, -1))),
		expr.Max(num(-127), whole),
		expr.Min(num(126), whole),
		expr.Add(expr.Add(whole, num(0.5)), num(-0.5)),
		expr.Round(expr.Mul(expr.Mul(wide, num(0.5)), num(2))),
		expr.Round(expr.Mul(expr.Mul(whole, num(1e-40)), num(1e40))),
		expr.Round(expr.Mul(expr.Mul(x, num(0.5)), num(2))),
	} {
		if got := expr.Simplify(e); got.String() != e.String() {
			t.Errorf("%v became %v", e, got)
		}
	}
	if got := expr.Simplify(expr.Sub(expr.Add(whole, num(3)), num(3))); got != whole {
		t.Errorf("a sum and its inverse are %v", got)
	}
}
