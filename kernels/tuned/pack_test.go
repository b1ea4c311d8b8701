package tuned

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// unpanels undoes panels.
func unpanels(p []float32, n, k, cols int) []float32 {
	out := make([]float32, n*k)
	for j := range n {
		for i := range k {
			out[j*k+i] = p[(j/cols*k+i)*cols+j%cols]
		}
	}
	return out
}

func TestPanels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		n, k, cols := 1+r.IntN(40), 1+r.IntN(20), []int{1, 2, 4, 8, 16}[r.IntN(5)]
		w := make([]float32, n*k)
		sum := 0.0
		for i := range w {
			w[i] = float32(r.NormFloat64())
			sum += float64(w[i])
		}
		p := columns(n, k, cols, func(j, i int) float32 { return w[j*k+i] })
		if want := (n + cols - 1) / cols * cols * k; len(p) != want {
			t.Fatalf("%d by %d in panels of %d are %d elements, want %d", n, k, cols, len(p), want)
		}
		if !slices.Equal(unpanels(p, n, k, cols), w) {
			t.Fatalf("%d by %d in panels of %d do not unpack to what was packed", n, k, cols)
		}
		for j := n; j < len(p)/k; j++ { // columns that are not there
			for i := range k {
				if x := p[(j/cols*k+i)*cols+j%cols]; x != 0 {
					t.Fatalf("column %d of %d is %g", j, n, x)
				}
			}
		}
	}
}

func TestPadded(t *testing.T) {
	if got := padded([]float32{1, 2, 3}, 4); !slices.Equal(got, []float32{1, 2, 3, 0}) {
		t.Errorf("got %v", got)
	}
	if got := padded([]float32{1, 2}, 1); !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestFloats(t *testing.T) {
	want := []float32{0, -1.5, 3e38}
	if got := floats(packed("w", want).Data); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
