package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sweepForm is a way to compute sweeps of a multiple of unit channels.
type sweepForm struct {
	name string
	unit int
	run  func(t *sweep)
}

// sweepPlain is what a sweep computes.
func sweepPlain(t *sweep) {
	for i := range t.count {
		for c := range t.channels {
			v := t.bias[c]
			for r := range t.rows {
				for k := range t.taps {
					if p := t.first + i*t.by + k; p >= 0 && p < t.width {
						v += t.x[r*t.xRow+p*t.xNext+c] * t.w[r*t.wRow+k*t.wNext+c]
					}
				}
			}
			o := i*t.channels + c
			if t.add != nil {
				v += t.add[o]
			}
			if t.y[o] = bounded(v, t.low, t.high); t.scale != nil {
				t.y[o] = rescaledOf(v, c, t.shift, t.scale, t.least, t.most, t.plus)
			}
		}
	}
}

// TestSweep compares sweeps of random shape with what they mean: exactly where all
// sums are exact, else within what rounding once or twice may make of them.
func TestSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, f := range sweepForms() {
		for i := range 3000 {
			whole := i%2 == 0
			k := &sweep{count: 1 + r.IntN(sweepMost), rows: r.IntN(4), taps: []int{sweepShort,
				sweepLong}[r.IntN(2)], by: 1 + r.IntN(2), width: 1 + r.IntN(20),
				channels: f.unit * (1 + r.IntN(80/f.unit)), none: outside[:],
				low: float32(math.Inf(-1)), high: float32(math.Inf(1))}
			// each sees something
			k.first = 1 - k.taps + r.IntN(max(1, k.width-(k.count-1)*k.by+k.taps-1))
			if k.first+(k.count-1)*k.by >= k.width {
				continue
			}
			if k.xNext = k.channels; f.unit == 1 && k.channels > 1 && r.IntN(2) == 0 {
				k.xNext-- // of pairs the pixels overlap
			}
			k.wNext = k.channels + r.IntN(3)
			k.wRow = k.taps*k.wNext + r.IntN(3)
			k.xRow = (k.width-1)*k.xNext + k.channels + r.IntN(3)
			k.x, k.w, k.bias = draw(r, max(0, k.rows*k.xRow), whole), draw(r, k.rows*k.wRow, whole),
				draw(r, k.channels, whole)
			before := draw(r, k.count*k.channels+5, whole)
			if r.IntN(2) == 0 {
				k.add = draw(r, len(before), whole)
			}
			if r.IntN(2) == 0 {
				k.low, k.high = -1.5, 20
			}
			if r.IntN(10) == 0 {
				k.bias[r.IntN(k.channels)] = float32(math.NaN())
			}
			if whole && f.name == "sweep512" && r.IntN(3) == 0 {
				k.bias, k.add = draw(r, k.channels, true), nil
				k.low, k.high = float32(math.Inf(-1)), float32(math.Inf(1))
				k.shift, k.scale = draw(r, k.channels, true), draw(r, k.channels, false)
				k.least, k.most, k.plus = -20, 15, 3
			}
			want, got := slices.Clone(before), slices.Clone(before)
			k.y = want
			sweepPlain(k)
			k.y = got
			f.run(k)
			for o, w := range want {
				d := math.Abs(float64(w - got[o]))
				if w != got[o] && (whole || !(d <= 1e-6*float64(k.rows*k.taps+2))) && (w == w ||
					got[o] == got[o]) {
					t.Fatalf(
						"%s: %d results of %d channels, %d rows of %d taps by %d, from pixel %d of %d on: element "+
							"%d is %g, not %g",
						f.name, k.count, k.channels, k.rows, k.taps, k.by, k.first, k.width,
						o, got[o], w)
				}
			}
		}
	}
}

// TestSweepPairs compares sweeps that take two pixels for one with those that do not: exactly.
func TestSweepPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	const channels = panel / 4
	for i := range 500 {
		taps := []int{sweepShort, sweepLong}[r.IntN(2)]
		in, pad := [2]int{1 + r.IntN(6), 1 + r.IntN(40)}, [2]int{r.IntN(taps), r.IntN(taps)}
		a := DepthwiseRowsParams{batch: 1 + r.IntN(2), channels: channels, lanes: channels,
			inH: in[0], inW: in[1], outH: in[0] + 2*pad[0] - taps + 1, outW: in[1] + 2*pad[1] - taps + 1,
			kernelH: taps, kernelW: taps, strideH: 1, strideW: 1, dilationH: 1, dilationW: 1,
			padH: pad[0], padW: pad[1], inStrideBatch: in[0] * in[1] * channels,
			inStrideRow: in[1] * channels, inStrideCol: channels}
		if a.outH < 1 || a.outW < 1 {
			continue
		}
		x, w := draw(r, a.batch*a.inStrideBatch, true), draw(r, taps*taps*channels, true)
		bias, n := draw(r, channels, true), a.batch*a.outH*a.outW*channels
		f := unbounded(nil)
		switch i % 3 {
		case 0:
			f.add = draw(r, n, true)
		case 1:
			f.Rescale(draw(r, channels, true), draw(r, channels, false), -20, 15, 3)
		}
		want, got := make([]float32, n), make([]float32, n)
		Depthwise(want, x, w, bias, &a, &f)
		a.lanes = (2 + r.IntN(3)) * channels
		var wide []float32
		for tap := range taps * taps {
			for range a.lanes / channels {
				wide = append(wide, w[tap*channels:][:channels]...)
			}
		}
		Depthwise(got, x, wide, slices.Repeat(bias, a.lanes/channels), &a, &f)
		if !slices.Equal(want, got) {
			t.Fatalf("%v pixels with %v around them, %d taps: %v, not %v", in, pad, taps, got, want)
		}
	}
}
