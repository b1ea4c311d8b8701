//go:build !purego

package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// productForms are the forms of products that this machine has besides the one
// it chooses.
func productForms() (out []form) {
	if level >= 1 {
		out = append(out, form{"product256", 6, 0, true, productBlocks})
	}
	if level >= 2 {
		out = append(out, form{"product512", 12, 0, true, func(t *tile) { product512(t) }})
	}
	return out
}

func windowForms() (out []form) {
	if level >= 1 {
		out = append(out, form{"window256", 6, 16, true, func(t *tile) { window256(t) }})
	}
	if level >= 2 {
		out = append(out, form{"window512", 6, 1, true, func(t *tile) { window512(t) }})
	}
	return out
}

func largestForms() (out []form) {
	if level >= 1 {
		out = append(out, form{"largest256", 6, 16, false, func(t *tile) { largest256(t) }})
	}
	if level >= 2 {
		out = append(out, form{"largest512", 6, 1, false, func(t *tile) { largest512(t) }})
	}
	return out
}

// BenchmarkProduct times whole tiles.
func BenchmarkProduct(b *testing.B) {
	for _, f := range productForms() {
		b.Run(f.name, func(b *testing.B) {
			k := &tile{rows: f.rows, outer: 1, middle: 1, depth: 256, next: 256, width: 32,
				columns: 32, step: 32, high: 6,
				y: make([]float32, 12*32), x: make([]float32, 12*256), w: make([]float32, 256*32),
				bias: make([]float32, 32)}
			for b.Loop() {
				f.run(k)
			}
			b.ReportMetric(2e-9*float64(k.rows*k.depth*k.width)*float64(b.N)/b.Elapsed().Seconds(),
				"GFLOP/s")
		})
	}
}

func liftForms() (out []carryForm[lift]) {
	if level >= 1 {
		out = append(out, bySide("lift256", 8, liftSix256, liftFour256))
	}
	if level >= 2 {
		out = append(out, bySide("lift512", 16, liftSix512, liftFour512))
	}
	return out
}

func landForms() (out []carryForm[land]) {
	if level >= 1 {
		out = append(out, bySide("land256", 8, landSix256, landFour256),
			carryForm[land]{"landBlocks", 1, landBlocks})
	}
	if level >= 2 {
		out = append(out, bySide("land512", 1, landSix512, landFour512))
	}
	return out
}

func fewForms() (out []fewForm) {
	if level >= 1 {
		out = append(out, fewForm{"few256", 4, 24, 8, func(t *few) { few256(t) }})
	}
	if level >= 2 {
		out = append(out, fewForm{"few512", 8, 48, 1, func(t *few) { few512(t) }})
	}
	return out
}

func transposeForms() (out []transposeForm) {
	if level >= 1 {
		out = append(out, transposeForm{"transpose256", func(t *transpose) { transpose256(t) }})
	}
	if level >= 2 {
		out = append(out, transposeForm{"transpose512", func(t *transpose) { transpose512(t) }})
	}
	return out
}

func sweepForms() (out []sweepForm) {
	if level >= 1 {
		out = append(out, sweepForm{"sweep256", 8, func(t *sweep) { sweep256(t) }})
	}
	if level >= 2 {
		out = append(out, sweepForm{"sweep512", 1, func(t *sweep) { sweep512(t) }})
	}
	return out
}

// BenchmarkSweep times depthwise convolutions of networks, by sweeps and by tiles of
// windows: the best of many calls.
func BenchmarkSweep(b *testing.B) {
	r := rand.New(rand.NewPCG(27, 28))
	unit := sweepUnit
	defer func() { sweepUnit = unit }()
	for _, n := range [][4]int{{8, 48, 3, 1}, {16, 48, 3, 2}, {32, 24, 3, 1}, {64, 12, 3, 1},
		{128, 6, 3, 1}, {256, 3, 3, 1}, {32, 112, 3, 1}, {96, 56, 3, 2}, {144, 28, 5, 1},
		{240, 14, 5, 2}, {960, 7, 3, 1}} {
		channels, in, k, by := n[0], n[1], n[2], n[3]
		out := (in + by - 1) / by
		lanes := channels
		for by == 1 && lanes < panel {
			lanes += channels
		}
		x, y, w, bias := draw(r, in*in*channels, false), make([]float32, out*out*channels),
			draw(r, k*k*lanes, false), draw(r, lanes, false)
		a := depthwiseOf(channels, lanes, in, out, k, by)
		for _, way := range []string{"sweeps", "windows"} {
			b.Run(fmt.Sprintf("%dx%dx%d by %d/%s", channels, in, k, by, way), func(b *testing.B) {
				sweepUnit = unit
				if way == "windows" {
					sweepUnit = math.MaxInt
				}
				best := time.Duration(math.MaxInt64)
				for b.Loop() {
					start := time.Now()
					Depthwise(y, x, w, bias, &a, &Epilogue{high: 6})
					best = min(best, time.Since(start))
				}
				b.ReportMetric(best.Seconds()*1e6, "best-µs")
			})
		}
	}
}

// levels are the machines that this one may be taken for, the best one first: what they are
// makes a test take it for each.
func levels(t *testing.T) (out []func()) {
	was, had := level, dot
	be := func(l int, d bool) {
		level, dot = l, d
		tileRows, fewLanes = [...]int{2, 6, maxRows}[l], [...]int{16, 8, 16}[l]
		windowRows, windowUnit = [...]int{1, 6, 6}[l], [...]int{1, 16, 1}[l]
		sweepUnit = [...]int{math.MaxInt, 8, 1}[l]
	}
	t.Cleanup(func() { be(was, had) })
	for l := was; l >= 0; l-- {
		for _, d := range []bool{true, false} {
			if !d || l == was && had {
				out = append(out, func() { be(l, d) })
			}
		}
	}
	return out
}
