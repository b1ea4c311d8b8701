package strip

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rows, cols := r.IntN(40), r.IntN(40)
		dstStep, srcStep := rows+r.IntN(5), cols+r.IntN(5)
		src := make([]float32, max(0, (rows-1)*srcStep+cols))
		for i := range src {
			src[i] = draw(r)
		}
		before := make([]float32, max(0, (cols-1)*dstStep+rows))
		for i := range before {
			before[i] = float32(i)
		}
		want := slices.Clone(before)
		for i := range rows {
			for j := range cols {
				want[j*dstStep+i] = src[i*srcStep+j]
			}
		}
		levels(func(level int) {
			got := slices.Clone(before)
			Transpose(got, dstStep, src, srcStep, rows, cols)
			if !slices.EqualFunc(got, want, sameFloat) {
				t.Errorf("%d by %d from %d to %d, level %d: got %v, want %v", rows, cols, srcStep,
					dstStep, level, got, want)
			}
		})
	}
	narrow := make([]uint16, 6)
	Transpose(narrow, 3, []uint16{1, 2, 3, 4, 5, 6}, 2, 3, 2)
	if want := []uint16{1, 3, 5, 2, 4, 6}; !slices.Equal(narrow, want) {
		t.Errorf("got %v, want %v", narrow, want)
	}
}

// A matrix that reaches outside of its slice is refused, by vectors too.
func TestTransposeBounds(t *testing.T) {
	for _, short := range [][2]int{{1, 0}, {0, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v missing and nothing happens", short)
				}
			}()
			dst, src := make([]float32, 256-short[0]), make([]float32, 256-short[1])
			Transpose(slices.Clip(dst), 16, slices.Clip(src), 16, 16, 16)
		}()
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, n := range [][2]int{{64, 3136}, {3136, 64}, {512, 49}, {256, 1024}, {3, 50176}} {
		src, dst := make([]float32, n[0]*n[1]), make([]float32, n[0]*n[1])
		levels(func(level int) {
			b.Run("", func(b *testing.B) {
				for b.Loop() {
					Transpose(dst, n[0], src, n[1], n[0], n[1])
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n[0]*n[1]),
					"ns/element")
			})
		})
	}
}
