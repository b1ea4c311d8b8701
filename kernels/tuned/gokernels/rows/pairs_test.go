package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPairs compares convolutions of pairs with those of floats: with padding and without, where
// panels are full and where they are not, up to the largest integers.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 60 {
		in, cin, cout, k, by := 1+r.IntN(12), 2*(1+r.IntN(9)), 1+r.IntN(70), 1+2*r.IntN(2), 1+r.IntN(2)
		padded := in + k - 1
		out := (in-1)/by + 1
		a := ConvRowsParams{batch: 1 + r.IntN(2), groups: 1, outChannels: cout, outH: out, outW: out,
			outerTaps: k, middleTaps: 1, innerTaps: k * cin, inStrideBatch: in * in * cin,
			inStrideGroup: cin, inStrideOuter: padded * cin, inStrideMiddle: cin,
			inStrideRow: by * padded * cin, inStrideCol: by * cin, outStrideChannel: 1,
			outStrideCol: cout, channelsInner: true, planes: 1, inH: in, inRow: in * cin, padH: k / 2,
			padRow: k / 2 * cin, copiedRow: in * cin, pixel: cin, sourceStrideChannel: 1,
			upsampleH: 1, upsampleW: 1}
		if k > 1 {
			a.copyMode, a.paddedH, a.paddedRow = 1, padded, padded*cin
		}
		whole := func(n, limit int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.IntN(2*limit) - limit)
			}
			return x
		}
		limit := []int{255, 1 << 15}[r.IntN(2)]
		x, bias := whole(a.batch*in*in*cin, limit), whole(cout+panel, 100)
		w := whole(k*k*cin*(cout+panel), (1<<24)/limit/(k*k*cin)/2+1)
		seen := padded * padded * cin
		scratch := make([]float32, 2*seen+panel*k*k*cin)
		want := whole(a.batch*out*out*cout, 9)
		got := slices.Clone(want)
		f := Epilogue{low: -1000, high: float32(math.Inf(1))}
		if r.IntN(2) == 0 {
			f.apply = func(run []float32, o, c int) {
				for i := range run {
					run[i] += float32(o - c)
				}
			}
		}
		Conv(want, x, w, bias, scratch, &a, &f)
		ConvPairs(got, x, w, bias, scratch, &a, &f)
		if !slices.Equal(got, want) {
			t.Fatalf("%d images of %dx%dx%d, %d channels of %dx%d taps by %d differ", a.batch, in, in, cin,
				cout, k, k, by)
		}
	}
}
