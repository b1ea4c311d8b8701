package plan

import (
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// optimum finds the smallest size of any plan by trying all of them, on a grid
// of unit bytes. What may lie where it learns from Check alone, pair by pair,
// and it confirms what it finds with Check.
func optimum(t *testing.T, p *Problem, a *analysis, unit, most int64) int64 {
	t.Helper()
	n := len(a.nodes)
	may := make(map[[3]int64]bool) // node, node, distance
	for i := range n {
		for j := range i {
			for d := -most; d <= most; d += unit {
				may[[3]int64{int64(i), int64(j), d}] = Check(p, apart(a, i, j, d)) == nil
			}
		}
	}
	offsets := make([]int64, n)
	best := most
	var bestOffsets []int64
	var place func(i int, size int64)
	place = func(i int, size int64) {
		if i == n {
			best, bestOffsets = size, append([]int64(nil), offsets...)
			return
		}
	next:
		for at := int64(0); max(size, at+a.nodes[i].size) < best; at += unit {
			for j := range i {
				if !may[[3]int64{int64(i), int64(j), offsets[j] - at}] {
					continue next
				}
			}
			offsets[i] = at
			place(i+1, max(size, at+a.nodes[i].size))
		}
	}
	place(0, 0)
	if bestOffsets != nil {
		if err := Check(p, a.plan(bestOffsets)); err != nil {
			t.Fatal(err)
		}
	}
	return best
}

// On tiny problems: LowerBound ≤ optimum ≤ Best ≤ Greedy, and the first three
// are nearly always equal.
func TestAgainstOptimum(t *testing.T) {
	problems, bound, greedy, best := 0, 0, 0, 0
	seeds := tier.Of(60, 1000, 4000)
	for seed := range uint64(seeds) {
		g := newGenerator(seed)
		g.limit, g.unit, g.plain = 3, 8, true
		p := g.program()
		a, err := analyse(p)
		if err != nil {
			t.Fatal(err)
		}
		a.connect(unlimited)
		if n := len(a.nodes); n < 4 || n > 7 {
			continue
		}
		peak := a.bound()[0].Bytes
		gp, err := Greedy{}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		bp, err := Best{}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		opt := optimum(t, p, a, 8, bp.Size())
		if peak > opt || opt > bp.Size() || bp.Size() > gp.Size() {
			t.Errorf("seed %d: lower bound %d, optimum %d, best %d, greedy %d", seed, peak, opt,
				bp.Size(), gp.Size())
		}
		problems++
		if peak == opt {
			bound++
		}
		if gp.Size() == opt {
			greedy++
		}
		if bp.Size() == opt {
			best++
		}
	}
	t.Logf("%d problems; equal to the optimum: lower bound %d, greedy %d, best %d", problems, bound,
		greedy, best)
	if problems < seeds/8 || best < problems*99/100 || greedy < problems*85/100 {
		t.Error("too few problems, or plans too large")
	}
}
