package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fewForm is a way to compute a tile of few channels.
type fewForm struct {
	name     string
	channels int // at most
	columns  int // at most
	unit     int // that numbers of columns are multiples of
	run      func(t *few)
}

// TestFew compares tiles of random shape with what plain makes: exactly where all
// sums are exact, else within what rounding once or twice may make of them.
func TestFew(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for _, f := range append(fewForms(), fewForm{"few", fewChannels, fewLanes * fewVectors, 1,
		(*few).run}) {
		for i := range 2000 {
			whole := i%2 == 0
			k := &few{channels: 1 + r.IntN(f.channels), columns: f.unit *
				(1 + r.IntN(f.columns/f.unit)), planes: 1 + r.IntN(3), rows: 1 + r.IntN(3),
				taps:   1 + r.IntN(7),
				phases: 1 + r.IntN(4), low: float32(math.Inf(-1)), high: float32(math.Inf(1))}
			k.step = k.columns + r.IntN(70)
			k.phase = fewCols + k.taps + r.IntN(3)
			k.row = k.phases*k.phase + r.IntN(3)
			k.plane = k.rows*k.row + r.IntN(3)
			k.x, k.w, k.bias = draw(r, k.planes*k.plane, whole),
				draw(r, k.planes*k.rows*k.taps*fewChannels, whole), draw(r, fewChannels, whole)
			before := draw(r, fewChannels*k.step, whole)
			if r.IntN(2) == 0 {
				k.add = draw(r, len(before), whole)
			}
			if r.IntN(2) == 0 {
				k.low, k.high = -1.5, 20
			}
			if r.IntN(10) == 0 {
				k.bias[r.IntN(fewChannels)] = float32(math.NaN())
			}
			want, got := slices.Clone(before), slices.Clone(before)
			k.y = want
			k.plain()
			k.y = got
			f.run(k)
			for o, w := range want {
				d := math.Abs(float64(w - got[o]))
				if w != got[o] && (whole || !(d <= 1e-6*float64(k.planes*k.rows*k.taps+2))) &&
					(w == w || got[o] == got[o]) {
					t.Fatalf(
						"%s: %d channels of %d columns, %dx%dx%d taps in %d phases: element %d is %g, not %g", f.name,
						k.channels, k.columns, k.planes, k.rows, k.taps, k.phases, o, got[o], w)
				}
			}
		}
	}
}

// TestTranspose compares transposed sums with what plain makes: exactly.
func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	forms := map[string]func(*transpose){"transpose": (*transpose).run}
	for _, f := range transposeForms() {
		forms[f.name] = f.run
	}
	for name, run := range forms {
		for range 1000 {
			k := &transpose{channels: 1 + r.IntN(fewChannels), columns: 1 + r.IntN(fewCols), low: -1.5,
				high: 2, sums: draw(r, fewChannels*fewCols, false)}
			before := draw(r, k.channels*k.columns+5, false)
			if r.IntN(2) == 0 {
				k.add = draw(r, len(before), false)
			}
			if k.add == nil && r.IntN(2) == 0 {
				k.rescale(&Epilogue{shift: draw(r, k.channels, false), scale: draw(r, k.channels, false),
					least: -2, most: 3, plus: 7})
			}
			want, got := slices.Clone(before), slices.Clone(before)
			k.sums[r.IntN(len(k.sums))] = float32(math.NaN())
			k.y = want
			k.plain()
			k.y = got
			run(k)
			for o, w := range want {
				if w != got[o] && (w == w || got[o] == got[o]) {
					t.Fatalf("%s: %d channels of %d columns: element %d is %g, not %g", name,
						k.channels, k.columns, o, got[o], w)
				}
			}
		}
	}
}

func TestUnzip(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := range 70 {
		from := draw(r, n, false)
		even, odd := make([]float32, n/2+2), make([]float32, n/2+2)
		unzip(even, odd, from)
		for i, v := range from {
			if got := [2][]float32{even, odd}[i%2][i/2]; got != v {
				t.Fatalf("element %d of %d is %g, not %g", i, n, got, v)
			}
		}
		if even[(n+1)/2:][0] != 0 || odd[n/2] != 0 {
			t.Fatalf("of %d elements there are more", n)
		}
	}
}

// A tile that reaches outside of its slices is refused, by assembly too.
func TestFewCheck(t *testing.T) {
	refused := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s is too short and nothing happens", name)
			}
		}()
		f()
	}
	n := fewLanes
	whole := func() *few {
		return &few{y: make([]float32, 8*n), x: make([]float32, 3+n), w: make([]float32, 4*8),
			bias: make([]float32, 8), add: make([]float32, 8*n),
			step: n, columns: n, channels: 8, planes: 1, rows: 1, taps: 4, phases: 1}
	}
	whole().run()
	for name, cut := range map[string]func(k *few){
		"y": func(k *few) { k.y = k.y[: len(k.y)-1 : len(k.y)-1] }, "x": func(k *few) {
			k.x = k.x[: len(k.x)-1 : len(k.x)-1]
		},
		"w": func(k *few) { k.w = k.w[:31:31] }, "bias": func(k *few) {
			k.bias = k.bias[:7:7]
		}, "add": func(k *few) { k.add = k.add[: len(k.add)-1 : len(k.add)-1] },
	} {
		refused(name, func() { k := whole(); cut(k); k.run() })
	}
	across := func() *transpose {
		return &transpose{sums: make([]float32, fewChannels*fewCols), y: make([]float32, 20*5),
			add: make([]float32, 20*5), columns: 20, channels: 5}
	}
	across().run()
	refused("y", func() { k := across(); k.y = k.y[:99:99]; k.run() })
	refused("add", func() { k := across(); k.add = k.add[:99:99]; k.run() })
	refused("sums", func() {
		k := across()
		k.sums = k.sums[: len(k.sums)-1 : len(k.sums)-1]
		k.run()
	})
}

// transposeForm is a way to turn sums.
type transposeForm struct {
	name string
	run  func(t *transpose)
}

// BenchmarkFew times first convolutions of networks, and what they would be without
// tiles of few channels: the best of many calls.
func BenchmarkFew(b *testing.B) {
	r := rand.New(rand.NewPCG(23, 24))
	// input and output channels, size, taps, step, padding
	for _, n := range [][6]int{{3, 8, 48, 3, 2, 0}, {1, 6, 28, 5, 1, 2}, {3, 8, 24, 3, 1, 1}} {
		cin, cout, out, taps, by, pad := n[0], n[1], n[2], n[3], n[4], n[5]
		in, reach := out*by-pad*by/2, (out-1)*by+taps
		if by == 1 {
			in = reach - 2*pad
		}
		phase := (out+15)/16*16 + (taps-1)/by
		gw := by * phase
		given := min(in, reach-pad)
		x, w, bias := draw(r, cin*in*in, false), draw(r, cin*taps*taps*panel, false),
			draw(r, panel, false)
		y, scratch := make([]float32, cout*out*out), make([]float32, cin*reach*max(gw, reach))
		few := ConvFewParams{batch: 1, inChannels: cin, outChannels: cout, inH: in, inW: in,
			outH: out, outW: out, kernelH: taps, kernelW: taps, strideH: by, strideW: by,
			dilationH: 1, padH: pad, padW: pad, inStrideBatch: len(x), outStrideChannel: 1,
			channelsInner: true, paddedH: reach, paddedRow: gw, band: out, copiedW: given, phase: phase}
		around := ConvRowsParams{batch: 1, groups: 1, outChannels: cout, outH: out, outW: out,
			outerTaps: cin, middleTaps: taps, innerTaps: taps, inStrideBatch: len(x),
			inStrideOuter: reach * reach, inStrideMiddle: reach, inStrideRow: by * reach,
			inStrideCol: by, outStrideChannel: 1, outStrideCol: cout, channelsInner: true,
			planes: cin, inH: in, inRow: in, padH: pad, padRow: pad, paddedH: reach,
			paddedRow: reach, copiedRow: given, pixel: 1, copyMode: 1,
			sourceStrideChannel: 1, upsampleH: 1, upsampleW: 1}
		for name, f := range map[string]func(){
			"few": func() {
				ConvFew(y, x, w, bias, scratch, &few, &Epilogue{high: 6})
			},
			"few copied": func() {
				phases(0, few.paddedH, 0, scratch, x, &few)
			},
			"around": func() {
				Conv(y, x, w, bias, scratch, &around, &Epilogue{high: 6})
			},
		} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", cin, out, cout, name), func(b *testing.B) {
				best := time.Duration(math.MaxInt64)
				for b.Loop() {
					start := time.Now()
					f()
					best = min(best, time.Since(start))
				}
				b.ReportMetric(best.Seconds()*1e6, "best-µs")
			})
		}
	}
}
