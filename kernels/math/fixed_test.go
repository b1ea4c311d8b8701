package math_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	functions "github.com/etgen/etgen/kernels/math"
)

// Roots in fixed point are those of floats but for 24 bits, of all numbers below 2^62.
func TestInverseRoot(t *testing.T) {
	v := &expr.Var{Name: "v", DType: ir.Int64}
	root, half := functions.InverseRoot(expr.Get(v))
	run := func(e *expr.Expr) func(args ...eval.Value) eval.Value {
		return compiled(t, &expr.Func{Name: "f", Params: []*expr.Var{v}, Body: e})
	}
	roots, halves := run(root), run(half)
	r := rand.New(rand.NewPCG(1, 2))
	xs := []int64{1, 2, 3, 4, 1 << 29, 1<<62 - 1}
	for bit := range 62 {
		xs = append(xs, 1<<bit, 1<<bit|r.Int64N(1<<bit), 1<<bit|r.Int64N(1<<bit), 2<<bit-1)
	}
	for _, x := range xs {
		at := roots(eval.Value{I: x}).I
		got := math.Ldexp(float64(at), int(halves(eval.Value{I: x}).I)-60)
		want := 1 / math.Sqrt(float64(x))
		if at < 1<<29-64 || at > 1<<30 || math.Abs(got/want-1) > 0x1p-23 {
			t.Errorf("1/sqrt(%d) = %g of %d, want %g", x, got, at, want)
		}
	}
}
