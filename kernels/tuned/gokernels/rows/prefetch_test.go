package rows

import (
	"math/rand/v2"
	"testing"
)

// Products fetch what comes next from its beginning to its end, and nothing behind
// it, however many there are.
func TestPrefetch(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 1000 {
		depth, tiles, told := 1+r.IntN(40), 1+r.IntN(20), 1+r.IntN(20)
		next := make([]float32, depth*panel>>r.IntN(2))
		k := &tile{rows: 2, step: 32, outer: 1, middle: 1, depth: depth, width: 32, columns: 32,
			y: make([]float32, 64), x: make([]float32, depth), w: make([]float32, depth*32),
			bias: make([]float32, 32)}
		k.prefetch(next, told*depth)
		for i := range tiles {
			at, fetchStep := k.fetched, k.fetchStep
			product(k)
			if k.fetched > 4*len(next) {
				t.Fatalf("product %d fetches up to byte %d of %d", i, k.fetched, 4*len(next))
			}
			if i < told && (k.fetched != at+depth*fetchStep || k.fetchStep != fetchStep) {
				t.Fatalf("product %d of %d: from byte %d on %d steps by %d come to %d", i, told, at,
					depth, fetchStep, k.fetched)
			}
			if i >= told && k.fetched == at && k.fetchStep != 0 {
				t.Fatalf("product %d of %d fetches what others have fetched", i, told)
			}
		}
		if rest := 4*len(next) - k.fetched; tiles >= told && rest >= told*depth {
			t.Errorf("%d bytes are left that %d products of %d steps could have fetched", rest,
				told, depth)
		}
	}
}

// Without anything to fetch, or any steps, there is no fetchStep.
func TestPrefetchNothing(t *testing.T) {
	var k tile
	for _, f := range []struct{ next, steps int }{{0, 0}, {0, 5}, {5, 0}, {5, 21}} {
		k.fetchStep = 1
		k.prefetch(make([]float32, f.next), f.steps)
		if k.fetchStep != 0 {
			t.Errorf("%d weights in %d steps: %d bytes in each", f.next, f.steps, k.fetchStep)
		}
	}
}

// A part's next panel is the next of its own, as wide as it is.
func TestBehind(t *testing.T) {
	const taps, n = 3, 75
	w := make([]float32, taps*(2*panel+panel/2))
	for i := range w {
		w[i] = float32(i)
	}
	for _, c := range []struct{ j, end, at, width int }{{0, n, panel, panel}, {panel, n, 2 * panel,
		panel / 2}, {2 * panel, n, 0, 0}, {0, panel, 0, 0}, {panel, 2 * panel, 0, 0}} {
		next := behind(w, taps, n, c.j, c.end)
		if len(next) != taps*c.width || len(next) > 0 && next[0] != float32(taps*c.at) {
			t.Errorf("behind column %d, up to %d, are %d weights", c.j, c.end, len(next))
		}
	}
}
