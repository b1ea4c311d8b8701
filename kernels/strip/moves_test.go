package strip_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/kernels/strip"
)

// moves are the primitives that TestMoves and TestReductions cover.
var moves = []string{"Transpose", "Iota", "Repeat", "Load", "Store", "Gather", "Sum", "Dot",
	"SumInt",
	"Largest", "Smallest", "Any", "All"}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestMoves(t *testing.T) {
	src := []int16{10, 11, 12, 13, 14, 15, 16, 17}
	dst := make([]int16, 3)
	strip.Load(dst, src, 1, 2)
	equal(t, "load", dst, []int16{11, 13, 15})
	strip.Load(dst, src, 7, -3)
	equal(t, "load backwards", dst, []int16{17, 14, 11})
	strip.Load(dst, src, 4, 0)
	equal(t, "load one", dst, []int16{14, 14, 14})
	out := make([]int16, 6)
	strip.Store(out, 5, -2, []int16{1, 2, 3})
	equal(t, "store", out, []int16{0, 3, 0, 2, 0, 1})
	strip.Gather(dst, src, 1, 2, []uint8{3, 0, 2})
	equal(t, "gather", dst, []int16{17, 11, 15})
	bytes := make([]int8, 4)
	strip.Iota(bytes, 126, 1)
	equal(t, "iota", bytes, []int8{126, 127, -128, -127})
	big := make([]int64, 2)
	strip.Iota(big, 5, -7)
	equal(t, "iota of int64", big, []int64{5, -2})
	strip.Load(dst[:0], src, 100, 1) // nothing is read
	strip.Repeat(out, src[1:4])
	equal(t, "repeat", out, []int16{11, 12, 13, 11, 12, 13})
	strip.Repeat(out[:4], src[:3])
	equal(t, "repeat a part", out[:4], []int16{10, 11, 12, 10})
}

// TestReductions compares with plain loops; sums of floats with eight lanes.
func TestReductions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		a, b := make([]float32, n), make([]float32, n+1)
		ints, oks := make([]int8, n), make([]bool, n)
		for i := range n {
			a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			ints[i], oks[i] = int8(r.Uint32()), r.IntN(n) > 0
		}
		var sums, dots [8]float32
		var total int8 = 7
		top, low := float32(-0.25), float32(0.25)
		some, all := false, true
		for i, x := range a {
			sums[i%8] += x
			dots[i%8] += float32(x * b[i])
			total += ints[i]
			top, low = max(top, x), min(low, x)
			some, all = some || !oks[i], all && oks[i]
		}
		pairs := func(s [8]float32) float32 {
			return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
		}
		if got, want := strip.Sum(3, a), 3+pairs(sums); got != want {
			t.Errorf("sum of %d: got %g, want %g", n, got, want)
		}
		if got, want := strip.Dot(3, a, b), 3+pairs(dots); got != want {
			t.Errorf("dot of %d: got %g, want %g", n, got, want)
		}
		if got := strip.SumInt(7, ints); got != total {
			t.Errorf("sum of %d int8: got %d, want %d", n, got, total)
		}
		if got := strip.Largest(-0.25, a); got != top {
			t.Errorf("largest of %d: got %g, want %g", n, got, top)
		}
		if got := strip.Smallest(0.25, a); got != low {
			t.Errorf("smallest of %d: got %g, want %g", n, got, low)
		}
		not := make([]bool, n)
		strip.Not(not, oks)
		if got := strip.Any(false, not); got != some {
			t.Errorf("any of %d: got %t", n, got)
		}
		if got := strip.All(true, oks); got != all {
			t.Errorf("all of %d: got %t", n, got)
		}
		if n == 0 {
			continue
		}
		a[r.IntN(n)] = float32(math.NaN())
		for _, x := range []float32{strip.Largest(0, a), strip.Smallest(0, a),
			strip.Largest(float32(math.NaN()), b[:1])} {
			if x == x {
				t.Errorf("extremum of %d with NaN: got %g", n, x)
			}
		}
	}
}
