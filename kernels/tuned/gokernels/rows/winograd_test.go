package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// alike reports whether two numbers are equal but for what rounding a few times more or
// less makes of sums of numbers as large as most.
func alike(a, b, most float32) bool {
	return a == b || a != a && b != b || math.Abs(float64(a-b)) <= 2e-6*float64(most)
}

// TestLift compares values at the points with what liftPlain makes, for squares inside
// of an image and partly outside, and leaves the rest of them alone.
func TestLift(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, f := range append(liftForms(), carryForm[lift]{"lift", 16, (*lift).run}) {
		for i := range 400 {
			side := 4 + i%2*2
			ih, iw, channels := 1+r.IntN(9), 1+r.IntN(9), f.unit*(1+r.IntN(3))
			k := lift{x: draw(r, ih*iw*channels, false), xh: iw * channels, xw: channels,
				channels: channels, step: channels + r.IntN(3)}
			before := draw(r, side*side*k.step, false)
			want, got := slices.Clone(before), slices.Clone(before)
			p, q := r.IntN(ih+side)-side, r.IntN(iw+side)-side
			k.tile(side, p, q, ih, iw)
			k.v = want
			liftPlain(&k, side)
			k.v = got
			f.run(&k, side)
			for o, w := range want {
				if !alike(w, got[o], 50) {
					t.Fatalf(
						"%s: square of %d at %d, %d of an image of %dx%d, %d channels: value %d is %g, not %g",
						f.name, side, p, q, ih, iw, channels, o, got[o], w)
				}
			}
		}
	}
}

// TestLand does the same for results, some of which may not be there.
func TestLand(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, f := range append(landForms(), carryForm[land]{"land", 1, (*land).run}) {
		for i := range 600 {
			side := 4 + i%2*2
			channels := f.unit * (1 + r.IntN(panel/f.unit))
			k := land{from: panel + r.IntN(3), yw: channels + r.IntN(3), rows: 1 + r.IntN(side-2),
				cols: 1 + r.IntN(side-2), channels: channels,
				bias: draw(r, panel, false), low: float32(math.Inf(-1)), high: float32(math.Inf(1))}
			k.yh = (side-2)*k.yw + r.IntN(3)
			k.m = draw(r, (side*side-1)*k.from+panel, false)
			if r.IntN(2) == 0 {
				k.low, k.high = -1.5, 3
			}
			before := draw(r, (side-2)*k.yh, false)
			if r.IntN(2) == 0 {
				k.add = draw(r, len(before), false)
			}
			if r.IntN(4) == 0 {
				k.m[r.IntN(len(k.m))] = float32(math.NaN())
			}
			want, got := slices.Clone(before), slices.Clone(before)
			k.y = want
			landPlain(&k, side, 0)
			k.y = got
			f.run(&k, side)
			for o, w := range want {
				if !alike(w, got[o], 100) {
					t.Fatalf(
						"%s: square of %d, %dx%d results of %d channels: result %d is %g, not %g",
						f.name, side, k.rows, k.cols, channels, o, got[o], w)
				}
			}
		}
	}
}

// carryForm is a way to carry a square to points or back, for multiples of unit
// channels.
type carryForm[T any] struct {
	name string
	unit int
	run  func(t *T, side int)
}

// bySide is the form that has a function for each side.
func bySide[T any](name string, unit int, six, four func(*T)) carryForm[T] {
	return carryForm[T]{name, unit, func(t *T, side int) {
		if side == 6 {
			six(t)
		} else {
			four(t)
		}
	}}
}

// A square that reaches outside of its slices is refused, by assembly too.
func TestCarryCheck(t *testing.T) {
	refused := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s is too short and nothing happens", name)
			}
		}()
		f()
	}
	for _, side := range []int{4, 6} {
		for _, p := range []int{0, -1} { // inside, and partly
			size := side + p
			up := func() *lift {
				k := &lift{x: make([]float32, size*size*16), v: make([]float32, side*side*16),
					xh: size * 16, xw: 16, channels: 16, step: 16}
				k.tile(side, p, p, size, size)
				return k
			}
			up().run(side)
			refused("x", func() { k := up(); k.x = k.x[: len(k.x)-1 : len(k.x)-1]; k.run(side) })
			refused("v", func() { k := up(); k.v = k.v[: len(k.v)-1 : len(k.v)-1]; k.run(side) })
		}
		back := func() *land {
			n := (side - 2) * (side - 2) * 32
			return &land{m: make([]float32, side*side*32), from: 32, y: make([]float32, n),
				add: make([]float32, n), bias: make([]float32, 32),
				yh: (side - 2) * 32, yw: 32, rows: side - 2, cols: side - 2, channels: 32}
		}
		back().run(side)
		for name, cut := range map[string]func(k *land){
			"m": func(k *land) { k.m = k.m[: len(k.m)-1 : len(k.m)-1] }, "y": func(k *land) {
				k.y = k.y[: len(k.y)-1 : len(k.y)-1]
			},
			"add":  func(k *land) { k.add = k.add[: len(k.add)-1 : len(k.add)-1] },
			"bias": func(k *land) { k.bias = k.bias[:31:31] },
		} {
			refused(name, func() { k := back(); cut(k); k.run(side) })
		}
	}
}

// BenchmarkWinograd times convolutions of networks, by tiles of either size and by
// plain sums, and the ways to points and back. Times are the best of many calls.
func BenchmarkWinograd(b *testing.B) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, n := range [][2]int{{16, 32}, {32, 16}, {64, 8}, {64, 56}, {128, 28}, {256, 14},
		{512, 7}} {
		c, size := n[0], n[1]
		timed := func(name string, f func()) {
			b.Run(fmt.Sprintf("%d/%dx%d/%s", c, size, size, name), func(b *testing.B) {
				best := time.Duration(math.MaxInt64)
				for b.Loop() {
					start := time.Now()
					f()
					best = min(best, time.Since(start))
				}
				b.ReportMetric(best.Seconds()*1e6, "best-µs")
			})
		}
		x, y, bias := draw(r, size*size*c, false), make([]float32, size*size*c),
			make([]float32, c+panel)
		w := draw(r, 36*c*c, false)
		scratch := make([]float32, max(12*36*(c+panel), (size+2)*(size+2)*c))
		for _, side := range []int{6, 4} {
			across := (size + side - 3) / (side - 2)
			tiles := across * across
			a := WinogradParams{batch: 1, inChannels: c, outChannels: c, inH: size, inW: size,
				outH: size, outW: size, padH: 1, padW: 1, tileSide: side, tilesAcross: across,
				tiles: tiles, block: 12}
			timed(fmt.Sprintf("side %d", side), func() {
				Winograd(y, x, w, bias, scratch, &a, &Epilogue{high: 1})
			})
			up := lift{xh: size * c, xw: c, x: x, channels: c, step: 12 * c}
			timed(fmt.Sprintf("side %d, to points", side), func() {
				for i := range tiles {
					up.tile(side, i/across*(side-2)-1, i%across*(side-2)-1, size, size)
					up.v = scratch[i%12*c:]
					up.run(side)
				}
			})
			back := land{yh: size * c, yw: c, high: 1, from: 12 * panel}
			timed(fmt.Sprintf("side %d, back", side), func() {
				for j := 0; j < c; j += panel {
					back.bias, back.channels = bias[j:], min(c-j, panel)
					for i := range tiles {
						p, q := i/across*(side-2), i%across*(side-2)
						back.rows, back.cols = min(side-2, size-p), min(side-2, size-q)
						back.m, back.y = scratch[i%12*panel:], y[(p*size+q)*c+j:]
						back.run(side)
					}
				}
			})
		}
		timed("plain", func() {
			a := gatherOf(1, c, size)
			Conv(y, x, w, bias, scratch, &a, &Epilogue{high: 1})
		})
	}
}
