package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkLinear times products of networks with one row: the best of many calls.
func BenchmarkLinear(b *testing.B) {
	r := rand.New(rand.NewPCG(29, 30))
	for _, n := range [][2]int{{16, 64}, {84, 10}, {120, 84}, {128, 128}, {400, 120}, {640, 128},
		{512, 1000}} {
		k, columns := n[0], n[1]
		wide := (columns + panel - 1) / panel * panel
		x, w, bias, y := draw(r, k, false), draw(r, k*wide, false), draw(r, wide, false),
			make([]float32, columns)
		b.Run(fmt.Sprintf("%dx%d", k, columns), func(b *testing.B) {
			best := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				for range 10 {
					Linear(y, x, w, bias, &LinearParams{m: 1, n: columns, k: k}, &Epilogue{high: 6})
				}
				best = min(best, time.Since(start)/10)
			}
			b.ReportMetric(best.Seconds()*1e6, "best-µs")
		})
	}
}
