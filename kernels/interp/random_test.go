package interp

import (
	"math"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// TestRandomDistribution checks mean and variance of what the generators give,
// that nodes draw from different streams, and that a node's is the same again.
func TestRandomDistribution(t *testing.T) {
	const n = 20000
	draw := func(op, name string, d ir.DType) []float64 {
		m := New(ops.Standard())
		v := &ir.Value{Name: name, Type: ir.StaticTensor(d, n)}
		node := &ir.Node{Name: name, Op: op, Args: []ir.NamedArg{
			{Name: "size", Value: ir.List{ir.Int(n)}}, {Name: "dtype", Value: ir.DTypeArg(d)}},
			Outputs: []*ir.Value{v}}
		if err := m.Node(node); err != nil {
			t.Fatal(err)
		}
		x, err := m.Get(v)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, n)
		for i := range out {
			out[i] = eval.Get(d, x.Tensor.Data, int64(i)).F
		}
		return out
	}
	for _, tt := range []struct {
		op             string
		mean, variance float64
	}{{"aten.rand.default", 0.5, 1.0 / 12}, {"aten.randn.default", 0, 1}} {
		for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
			xs := draw(tt.op, "a", d)
			var sum, squares, lag float64
			for i, x := range xs {
				if tt.op == "aten.rand.default" && !(x >= 0 && x < 1) {
					t.Fatalf("%s %s: %v is outside [0, 1)", tt.op, d, x)
				}
				sum += x
				squares += (x - tt.mean) * (x - tt.mean)
				if i > 0 {
					lag += (x - tt.mean) * (xs[i-1] - tt.mean)
				}
			}
			// Five standard deviations of each estimate, and the rounding of d.
			sd := math.Sqrt(tt.variance / n)
			if mean := sum / n; math.Abs(mean-tt.mean) > 5*sd+0.003 {
				t.Errorf("%s %s: mean %v", tt.op, d, mean)
			}
			if v := squares / n; math.Abs(v-tt.variance) > 5*tt.variance*math.Sqrt(2.0/n)+0.003 {
				t.Errorf("%s %s: variance %v", tt.op, d, v)
			}
			if c := lag / n; math.Abs(c) > 5*tt.variance/math.Sqrt(n) {
				t.Errorf("%s %s: neighbours correlate by %v", tt.op, d, c)
			}
		}
		a, again, b := draw(tt.op, "a", ir.Float32), draw(tt.op, "a", ir.Float32),
			draw(tt.op, "b", ir.Float32)
		alike := 0
		for i := range a {
			if a[i] != again[i] {
				t.Fatalf("%s: element %d is %v and %v", tt.op, i, a[i], again[i])
			}
			if a[i] == b[i] {
				alike++
			}
		}
		if alike > 10 {
			t.Errorf("%s: two nodes share %d of %d numbers", tt.op, alike, n)
		}
	}
}
