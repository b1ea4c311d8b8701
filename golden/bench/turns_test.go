package main

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// TestTurns holds that runs alternate in a circle while they have calls left, and
// that the others go on behind an end.
func TestTurns(t *testing.T) {
	for _, calls := range [][]int{{5}, {5, 5}, {5, 2}, {0, 3}, {3, 0}, {1, 6}, {3, 3, 3},
		{2, 0, 4, 1}, {0, 0, 0, 2}} {
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

// A way that cannot go on leaves its turns to the others, and so does one that is
// cancelled.
func TestInTurns(t *testing.T) {
	tier.Needs(t, tier.Normal)
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	c, err := testcase.Read("../cases/lenet")
	if err != nil {
		t.Fatal(err)
	}
	peak, err := measure.NewPeak(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer peak.Close()
	ways := append(variants()[:cUntuned], variant{"no compiler",
		way.C{Target: toolchain.Target{Name: "none", Compiler: "absent"}}})
	s := &settings{span: time.Millisecond}
	runs, err := inTurns(t.Context(), s, c, ways, peak)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range runs {
		if (m.err != nil) != (i == len(runs)-1) || m.err == nil && (len(m.times) < turnsOfEach ||
			m.macs == 0) {
			t.Errorf("%s: %d times, %d MACs: %v", ways[i].name, len(m.times), m.macs, m.err)
		}
	}
	if n, err := peak.Measure(t.Context()); err != nil || n == 0 {
		t.Errorf("the peak is %v: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inTurns(ctx, s, c, ways, peak); err == nil {
		t.Error("cancelled: no error")
	}
}
