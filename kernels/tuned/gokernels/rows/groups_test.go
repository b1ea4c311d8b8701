package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGroups compares products in groups with their definition on all that this machine may be
// taken for.
func TestGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	machines := levels(t)
	for range 100 {
		a := GroupsParams{m: 1 + r.IntN(30), n: 1 + r.IntN(90), group: 1 + r.IntN(40)}
		groups := 1 + r.IntN(5)
		a.k = groups * a.group
		x, w := make([]float32, a.m*a.k), make([]float32, a.n*a.k)
		for i := range x {
			x[i] = float32(r.IntN(256) - 128)
		}
		for i := range w {
			w[i] = float32(r.IntN(31) - 15)
		}
		scales := draw(r, a.n*groups, false)
		f := Epilogue{low: -50, high: float32(math.Inf(1)), add: draw(r, a.m*a.n, false)}
		if r.IntN(2) == 0 {
			f.add = nil
			f.apply = func(run []float32, o, c int) {
				for i := range run {
					run[i] += float32((o+i)%7 + c + i)
				}
			}
		}
		want := make([]float32, a.m*a.n)
		for o := range want {
			i, j := o/a.n, o%a.n
			all := float32(0)
			for g := range groups {
				sum := float32(0)
				for l := g * a.group; l < (g+1)*a.group; l++ {
					sum += x[i*a.k+l] * w[j*a.k+l]
				}
				all += float32(sum * scales[j*groups+g])
			}
			if f.add != nil {
				all += f.add[o]
			}
			want[o] = max(all, f.low)
		}
		if f.apply != nil {
			for i := range a.m {
				f.apply(want[i*a.n:][:a.n], i*a.n, 0)
			}
		}
		for i, be := range machines {
			be()
			got := make([]float32, len(want))
			Groups(got, x, inPanels(w, a.n, a.k), inPanels(scales, a.n, groups), &a, &f)
			if !slices.Equal(got, want) {
				t.Fatalf("machine %d: %+v differ", i, a)
			}
		}
	}
}

// inPanels packs n columns of k elements, which lie one behind the other.
func inPanels(from []float32, n, k int) (packed []float32) {
	for j := 0; j < n; j += panel {
		columns, width := panelOf(n, j)
		for l := range k {
			for c := range width {
				v := float32(0)
				if c < columns {
					v = from[(j+c)*k+l]
				}
				packed = append(packed, v)
			}
		}
	}
	return packed
}
