package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draw returns n numbers: small integers, whose sums are exact in any order, or
// any.
func draw(r *rand.Rand, n int, whole bool) []float32 {
	out := make([]float32, n)
	for i := range out {
		if whole {
			out[i] = float32(r.IntN(9) - 4)
		} else {
			out[i] = float32(r.NormFloat64())
		}
	}
	return out
}

// form is a way to compute a tile.
type form struct {
	name string
	rows int // at most
	unit int // that widths of windows are multiples of
	adds bool
	run  func(t *tile)
}

// compare runs a tile of random shape through the form and without vectors, and
// compares: exactly where all sums are exact, else within what the order of
// sums and rounding once or twice may make of them.
func compare(t *testing.T, r *rand.Rand, f form, plain func(*tile), whole, product bool) {
	t.Helper()
	k := &tile{rows: 1 + r.IntN(f.rows), outer: 1 + r.IntN(3), middle: 1 + r.IntN(3),
		low: float32(math.Inf(-1)), high: float32(math.Inf(1))}
	if product {
		k.width = 16 << r.IntN(2)
		k.columns = k.width - r.IntN(16)*r.IntN(2)
		k.depth = 1 + r.IntN(11)
		k.xMiddle = k.depth + r.IntN(3)
		k.xOuter = k.middle * k.xMiddle
		k.next = r.IntN(5)
		if r.IntN(2) == 0 { // weights are skipped, or read again
			k.wMiddle = r.IntN(20) - k.depth*k.width*r.IntN(2)
			k.wOuter = r.IntN(20) - k.middle*(k.depth*k.width+k.wMiddle)*r.IntN(2)
		}
		run := k.depth * k.width
		k.w = draw(r,
			(k.outer-1)*(k.middle*(run+k.wMiddle)+k.wOuter)+(k.middle-1)*(run+k.wMiddle)+run, whole)
		k.x = draw(r, k.rows*k.next+k.outer*k.xOuter, whole)
	} else {
		k.width = f.unit * (1 + r.IntN(80/f.unit))
		k.xMiddle, k.wMiddle = k.width+r.IntN(3), k.width+r.IntN(3)
		k.xOuter, k.wOuter = 3*k.xMiddle, 3*k.wMiddle
		k.next = k.xMiddle * (1 + r.IntN(2))
		k.w = draw(r, 3*k.wOuter, whole)
		k.x = draw(r, k.rows*k.next+3*k.xOuter, whole)
		switch r.IntN(8) {
		case 0:
			k.outer = 0
		case 1:
			k.middle = 0
		}
	}
	k.step = k.width + r.IntN(3)
	k.bias = draw(r, k.width, whole)
	if r.IntN(10) == 0 && !product {
		k.x[r.IntN(len(k.x))] = float32(math.NaN())
	}
	if r.IntN(2) == 0 {
		k.low, k.high = -1.5, 20
	}
	before := draw(r, k.rows*k.step+5, whole)
	if f.adds && r.IntN(2) == 0 {
		k.add = draw(r, k.rows*k.step, whole)
	}
	if r.IntN(10) == 0 {
		k.bias[r.IntN(k.width)] = float32(math.NaN())
	}
	if product && r.IntN(3) > 0 { // something to fetch, or less than that
		steps := k.outer * k.middle * k.depth
		k.prefetch(draw(r, 1+r.IntN(3*steps*panel), whole), steps*(1+r.IntN(3)))
		k.fetched = r.IntN(4*len(k.fetch) - steps*k.fetchStep + 1)
	}
	want, got := slices.Clone(before), slices.Clone(before)
	k.y = want
	plain(k)
	k.y = got
	f.run(k)
	for i, w := range want {
		d := math.Abs(float64(w - got[i]))
		terms := float64(k.outer*k.middle*max(k.depth, 1) + 2)
		if w != got[i] && (whole || !(d <= 1e-6*terms)) && (w == w || got[i] == got[i]) {
			t.Fatalf("%s: %d rows of %d from %dx%dx%d: element %d is %g, not %g", f.name, k.rows,
				k.width, k.outer, k.middle, k.depth, i, got[i], w)
		}
	}
}

func TestProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range append(productForms(), form{"product", tileRows, 0, true, product}) {
		for i := range 2000 {
			compare(t, r, f, productPlain, i%2 == 0, true)
		}
	}
}

func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range append(windowForms(), form{"window", windowRows, 1, true, window}) {
		for i := range 1000 {
			compare(t, r, f, windowPlain, i%2 == 0, false)
		}
	}
}

func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, f := range append(largestForms(), form{"largest", windowRows, 1, false, largest}) {
		for range 1000 {
			compare(t, r, f, largestPlain, true, false)
		}
	}
}

// A tile that reaches outside of its slices is refused, by assembly too.
func TestCheck(t *testing.T) {
	whole := func() *tile {
		return &tile{rows: 2, next: 4, step: 32, outer: 1, middle: 1, depth: 4, width: 32,
			columns: 32,
			y:       make([]float32, 64), x: make([]float32, 8), w: make([]float32, 128),
			bias: make([]float32, 32), add: make([]float32, 64)}
	}
	product(whole())
	for name, cut := range map[string]func(t *tile){
		"y": func(t *tile) { t.y = t.y[:63:63] }, "x": func(t *tile) {
			t.x = t.x[:7:7]
		}, "w": func(t *tile) { t.w = t.w[:127:127] },
		"bias": func(t *tile) { t.bias = t.bias[:31:31] }, "add": func(t *tile) {
			t.add = t.add[:63:63]
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is too short and nothing happens", name)
				}
			}()
			k := whole()
			cut(k)
			product(k)
		}()
	}
}
