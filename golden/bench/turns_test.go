package main

import (
	"slices"
	"sync"
	"testing"
)

// TestTurns holds that two runs alternate while both have calls left, and that one
// goes on alone behind the other's end.
func TestTurns(t *testing.T) {
	for _, calls := range [][2]int{{5, 5}, {5, 2}, {0, 3}, {3, 0}, {1, 6}} {
		both := newTurns(t.Context())
		var order []int
		var wait sync.WaitGroup
		for k, n := range calls {
			wait.Go(func() {
				mine := &turn{turns: both, k: k}
				defer mine.end()
				for range n {
					mine.Lock()
					order = append(order, k)
					mine.Unlock()
				}
			})
		}
		wait.Wait()
		shorter := min(calls[0], calls[1])
		for i, k := range order[:2*shorter] {
			if k != i%2 {
				t.Errorf("%d calls: order %d", calls, order)
				break
			}
		}
		slices.Sort(order)
		if len(order) != calls[0]+calls[1] {
			t.Errorf("%d calls: order %d", calls, order)
		}
	}
}
