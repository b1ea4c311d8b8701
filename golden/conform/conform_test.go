package conform

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBatches: a program has at most 48 models and 1 GiB, or one model that is larger.
func TestBatches(t *testing.T) {
	const big, half = 3 << 30, 1 << 29
	for _, c := range []struct {
		bytes []int64
		want  []int // how many models each program has
	}{
		{nil, nil},
		{[]int64{big}, []int{1}},
		{[]int64{1, big, 1, 1}, []int{1, 1, 2}},
		{[]int64{half, half, 1, half}, []int{2, 2}},
		{make([]int64, 100), []int{48, 48, 4}},
	} {
		var items []item
		for _, n := range c.bytes {
			items = append(items, item{bytes: n})
		}
		var got []int
		var all []item
		for part := range batches(items) {
			got = append(got, len(part))
			all = append(all, part...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("batches of %v (-want +got):\n%s", c.bytes, diff)
		}
		if !slices.Equal(all, items) {
			t.Errorf("batches of %v: other models", c.bytes)
		}
	}
}
