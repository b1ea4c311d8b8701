package rows

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMaxPool compares the largest of windows with their definition on all that this machine may be
// taken for: of images whose channels lie innermost, with padding, strides, dilations and what is
// no number, and with an epilogue.
func TestMaxPool(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 38))
	machines := levels(t)
	for range 300 {
		a := PoolParams{batch: 1 + r.IntN(2), channels: 1 + r.IntN(70), inH: 1 + r.IntN(20),
			inW: 1 + r.IntN(30), kernelH: 1 + r.IntN(4), kernelW: 1 + r.IntN(4), strideH: 1 + r.IntN(3),
			strideW: 1 + r.IntN(3), dilationH: 1 + r.IntN(2), dilationW: 1 + r.IntN(2),
			channelsInner: true}
		a.padH, a.padW = r.IntN(a.kernelH/2+1), r.IntN(a.kernelW/2+1)
		high := a.inH + 2*a.padH - (a.kernelH-1)*a.dilationH
		wide := a.inW + 2*a.padW - (a.kernelW-1)*a.dilationW
		if high < 1 || wide < 1 {
			continue
		}
		a.outH, a.outW = (high-1)/a.strideH+1, (wide-1)/a.strideW+1
		x := draw(r, a.batch*a.inH*a.inW*a.channels, true)
		x[r.IntN(len(x))] = float32(math.NaN())
		var f EpilogueFunc
		if r.IntN(2) == 0 {
			f = func(run []float32, o, c int) {
				for i := range run {
					run[i] += float32(o%5 + c + i)
				}
			}
		}
		want := largestOf(x, &a)
		for o := 0; o < len(want) && f != nil; o += a.channels {
			f(want[o:][:a.channels], o, 0)
		}
		for k, be := range machines {
			be()
			got := make([]float32, len(want))
			MaxPool(got, x, make([]float32, a.inW*a.channels), &a, f)
			for o, w := range want {
				if w != got[o] && (w == w || got[o] == got[o]) {
					t.Fatalf("machine %d: %+v: element %d is %g, not %g", k, a, o, got[o], w)
				}
			}
		}
	}
}

// largestOf are the largest of windows by their definition.
func largestOf(x []float32, a *PoolParams) (y []float32) {
	for b := range a.batch {
		for p := range a.outH {
			for q := range a.outW {
				for c := range a.channels {
					top := math.Inf(-1)
					for k := range a.kernelH * a.kernelW {
						h := p*a.strideH + k/a.kernelW*a.dilationH - a.padH
						w := q*a.strideW + k%a.kernelW*a.dilationW - a.padW
						if h >= 0 && h < a.inH && w >= 0 && w < a.inW {
							top = max(top, float64(x[((b*a.inH+h)*a.inW+w)*a.channels+c]))
						}
					}
					y = append(y, float32(top))
				}
			}
		}
	}
	return y
}

// TestAvgPool compares means with sums of their windows from the first row on, bit by bit: what
// quantizes them may have exact halves.
func TestAvgPool(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 40))
	machines := levels(t)
	for range 300 {
		a := PoolParams{batch: 1 + r.IntN(2), channels: 1 + r.IntN(20), inH: 1 + r.IntN(20),
			inW: 1 + r.IntN(30), kernelH: 1 + r.IntN(4), kernelW: 1 + r.IntN(4), strideH: 1 + r.IntN(3),
			strideW: 1 + r.IntN(3), dilationH: 1, dilationW: 1, channelsInner: true,
			divisor: r.IntN(3) - 1}
		a.padH, a.padW = r.IntN(a.kernelH/2+1), r.IntN(a.kernelW/2+1)
		high, wide := a.inH+2*a.padH-a.kernelH, a.inW+2*a.padW-a.kernelW
		if high < 0 || wide < 0 {
			continue
		}
		a.outH, a.outW = high/a.strideH+1, wide/a.strideW+1
		x := draw(r, a.batch*a.inH*a.inW*a.channels, false)
		want := meansOf(x, &a)
		for k, be := range machines {
			be()
			got := make([]float32, len(want))
			AvgPool(got, x, &a, nil)
			for o, w := range want {
				if w != got[o] {
					t.Fatalf("machine %d: %+v: element %d is %g, not %g", k, a, o, got[o], w)
				}
			}
		}
	}
}

// meansOf are the means of windows by their definition.
func meansOf(x []float32, a *PoolParams) (y []float32) {
	for b := range a.batch {
		for p := range a.outH {
			for q := range a.outW {
				for c := range a.channels {
					var sum float32
					n, all := 0, 0
					for k := range a.kernelH * a.kernelW {
						h, w := p*a.strideH+k/a.kernelW-a.padH, q*a.strideW+k%a.kernelW-a.padW
						if h < a.inH+a.padH && w < a.inW+a.padW {
							all++
						}
						if h >= 0 && h < a.inH && w >= 0 && w < a.inW {
							sum += x[((b*a.inH+h)*a.inW+w)*a.channels+c]
							n++
						}
					}
					switch {
					case a.divisor > 0:
						n = a.divisor
					case a.divisor < 0:
						n = all
					}
					y = append(y, sum/float32(max(n, 1)))
				}
			}
		}
	}
	return y
}
