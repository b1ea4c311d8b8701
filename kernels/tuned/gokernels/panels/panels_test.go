package panels

import (
	"slices"
	"testing"
)

// Two groups of three columns in panels of two; a column's elements are a
// innermost in the constant, c innermost in the panel.
func TestPack(t *testing.T) {
	s := Shape{Groups: 2, N: 3, A: 2, B: 1, C: 2, Cols: 2, Group: 12, Column: 4, StepA: 1,
		StepB: 1, StepC: 2}
	w := make([]int, 24)
	for i := range w {
		w[i] = i + 1
	}
	want := []int{
		1, 5, 3, 7, 2, 6, 4, 8, 9, 0, 11, 0, 10, 0, 12, 0,
		13, 17, 15, 19, 14, 18, 16, 20, 21, 0, 23, 0, 22, 0, 24, 0,
	}
	if got := Pack(s, w); !slices.Equal(got, want) || len(got) != s.Len() {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A step of nothing repeats an element.
func TestPackRepeats(t *testing.T) {
	got := Pack(Shape{Groups: 1, N: 3, A: 1, B: 1, C: 1, Cols: 2}, []float32{7})
	if want := []float32{7, 7, 7, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The last panel of every group may be narrower.
func TestPackLast(t *testing.T) {
	s := Shape{Groups: 2, N: 5, A: 2, B: 1, C: 1, Cols: 4, Last: 2, Group: 5, Column: 1, StepA: 10}
	w := make([]int, 20)
	for i := range w {
		w[i] = i + 1
	}
	want := []int{
		1, 2, 3, 4, 11, 12, 13, 14, 5, 0, 15, 0,
		6, 7, 8, 9, 16, 17, 18, 19, 10, 0, 20, 0,
	}
	if got := Pack(s, w); !slices.Equal(got, want) || len(got) != s.Len() {
		t.Errorf("got %v, want %v", got, want)
	}
}
