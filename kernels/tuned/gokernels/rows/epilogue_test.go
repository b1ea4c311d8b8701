package rows

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEpilogue adds to, bounds and hands to an epilogue results of panels that are
// full and of some that are not. Numbers are whole: sums are exact.
func TestEpilogue(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rows, k = 13, 5
	for _, n := range []int{1, 16, 20, 32, 40, 64, 72} {
		x, bias := draw(r, rows*k, true), append(draw(r, n, true), make([]float32, panel)...)
		add := draw(r, rows*n, true)
		weights := draw(r, n*k, true)
		w := inPanels(weights, n, k)
		y := make([]float32, rows*n)
		seen := make([]int, rows*n)
		Linear(y, x, w, bias, &LinearParams{m: rows, n: n, k: k}, &Epilogue{add: add, low: -3,
			high: 7, apply: func(run []float32, o, c int) {
				for i := range run {
					seen[o+i]++
					if &run[i] != &y[o+i] || (o+i)%n != c+i {
						t.Fatalf("n %d: the run at %d, channel %d is elsewhere", n, o, c)
					}
					run[i] *= 2
				}
			}})
		for i := range rows {
			for j := range n {
				sum := bias[j] + add[i*n+j]
				for l := range k {
					sum += x[i*k+l] * weights[j*k+l]
				}
				if want := 2 * min(max(sum, -3), 7); y[i*n+j] != want || seen[i*n+j] != 1 {
					t.Fatalf("n %d: result %d, %d is %g after %d epilogues, want %g", n, i, j,
						y[i*n+j], seen[i*n+j], want)
				}
			}
		}
	}
}

// depthwiseOf are the parameters of a depthwise convolution of one image, as high as wide
// and padded by half of its taps.
func depthwiseOf(channels, lanes, in, out, taps, by int) DepthwiseRowsParams {
	return DepthwiseRowsParams{batch: 1, channels: channels, lanes: lanes, inH: in, inW: in,
		outH: out, outW: out, kernelH: taps, kernelW: taps, strideH: by, strideW: by,
		dilationH: 1, dilationW: 1, padH: taps / 2, padW: taps / 2,
		inStrideBatch: in * in * channels, inStrideRow: in * channels, inStrideCol: channels}
}

// TestInPlace adds to results what is in their place, for channels some of which
// are computed twice.
func TestInPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	low, high := float32(math.Inf(-1)), float32(math.Inf(1))
	for _, n := range []int{3, 16, 20, 32, 40, 72} {
		x, w, bias := draw(r, 9*9*n, true), draw(r, 9*n, true), draw(r, n, true)
		plain, y := make([]float32, 9*9*n), draw(r, 9*9*n, true)
		before := append([]float32{}, y...)
		a := depthwiseOf(n, n, 9, 9, 3, 1)
		Depthwise(plain, x, w, bias, &a, &Epilogue{low: low, high: high})
		Depthwise(y, x, w, bias, &a, &Epilogue{add: y, low: low, high: high})
		for i, v := range before {
			if y[i] != plain[i]+v {
				t.Fatalf("%d channels: result %d is %g, want %g", n, i, y[i], plain[i]+v)
			}
		}
	}
}
