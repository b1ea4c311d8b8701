package tuned_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned"
)

// Adaptive means whose windows lie side by side are means of windows; of others
// no kernel knows.
func TestAdaptivePools(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	target := tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true}
	last := []int{0, 2, 3, 1}
	all := epilogues()
	for i := range 60 {
		window := []int64{1 + r.Int64N(6), 1 + r.Int64N(6)}
		out := []int64{1 + r.Int64N(3), 1 + r.Int64N(3)}
		x := []int64{1 + r.Int64N(2), pick[int64](r, 1, 3, 16, 33, 72), window[0] * out[0],
			window[1] * out[1]}
		uneven := i%10 == 9
		if uneven {
			x[2] = out[0]*window[0] + 1
			out[0] = 2 + x[2]%2 // of an odd number 3, if that is not a multiple of it
			uneven = x[2]%out[0] != 0
		}
		tr := &trial{
			name: fmt.Sprintf("adaptive %d: x %d to %d", i, x, out),
			op:   "aten._adaptive_avg_pool2d.default", syms: map[*sym.Symbol]int64{}, xOrder: last,
			yOrder: last, constant: []bool{false},
			sample:   samples.NewSample("self", static(x...), "output_size", out),
			epilogue: all[i%len(all)],
		}
		if taken := tr.prepare(t, r, target); taken == uneven {
			t.Fatalf("%s: taken is %v", tr.name, taken)
		} else if taken {
			tr.check(t, tr.runGo(t))
		}
	}
}
