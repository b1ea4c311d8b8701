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

// Native functions give the bits of their definitions.
func TestNative(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	found := 0
	for _, name := range functions.Names {
		fn := functions.Func(name, ir.Float32)
		native := functions.Native(fn)
		if native == nil {
			continue
		}
		found++
		// A function that is not the table's own has no native form.
		defined := compiled(t, &expr.Func{Name: fn.Name, Params: fn.Params, Body: fn.Body})
		xs := []float32{0, float32(math.Copysign(0, -1)), 1e-40, -1e-40, 90, -104, 90.00001,
			-104.00001, 0.625, 0.925, 3.95, 0.00012207031,
			float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32,
			-math.MaxFloat32}
		for range 100_000 {
			xs = append(xs, float32(r.NormFloat64()*math.Exp(4*r.NormFloat64())),
				math.Float32frombits(r.Uint32()))
		}
		all := make([]float32, len(xs))
		functions.OnSlices(native)(all, xs)
		for i, x := range xs {
			want := float32(defined(eval.Value{F: float64(x)}).F)
			for _, got := range []float32{native(x), all[i]} {
				if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
					t.Fatalf("%s(%g) = %g, defined as %g", name, x, got, want)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("%d native functions", found)
	}
}
