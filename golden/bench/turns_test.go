package main

import (
	"slices"
	"sync"
	"testing"
)

// TestTurns holds that runs alternate in a circle while they have calls left, and
// that the others go on behind an end.
func TestTurns(t *testing.T) {
	for _, calls := range [][]int{{5}, {5, 5}, {5, 2}, {0, 3}, {3, 0}, {1, 6}, {3, 3, 3}, {2, 0, 4, 1}, {0, 0, 0, 2}} {
		all := newTurns(t.Context(), len(calls))
		var order []int
		var wait sync.WaitGroup
		for k, n := range calls {
			wait.Go(func() {
				mine := &turn{turns: all, k: k}
				defer mine.end()
				for range n {
					mine.Lock()
					order = append(order, k)
					mine.Unlock()
				}
			})
		}
		wait.Wait()
		var want []int
		for round := range slices.Max(calls) {
			for k, n := range calls {
				if round < n {
					want = append(want, k)
				}
			}
		}
		if !slices.Equal(order, want) {
			t.Errorf("%d calls: order %d, want %d", calls, order, want)
		}
	}
}
