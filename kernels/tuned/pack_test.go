package tuned

import (
	"slices"
	"testing"
)

func TestFloats(t *testing.T) {
	want := []float32{0, -1.5, 3e38}
	if got := floats(packed("w", want).Data); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
