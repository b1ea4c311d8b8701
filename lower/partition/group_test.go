package partition

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// randomDeps makes a graph of n nodes that wait for up to three before them.
func randomDeps(r *rand.Rand, n, back int) [][]int {
	deps := make([][]int, n)
	for i := range deps {
		for range r.IntN(4) {
			if i > 0 {
				deps[i] = append(deps[i], i-1-r.IntN(min(i, back)))
			}
		}
	}
	return deps
}

// check fails if the parts wait for one another or the schedule is none.
func check(t *testing.T, g *graph) {
	t.Helper()
	order := g.schedule()
	at := make([]int, g.count)
	for k, i := range order {
		at[i] = k
	}
	if sorted := slices.Sorted(slices.Values(order)); len(sorted) != g.count ||
		len(slices.Compact(sorted)) != g.count {
		t.Fatal("the schedule has not each node once")
	}
	last := map[int]int{}
	for k, i := range order {
		if p := g.part[i]; p >= 0 {
			if l, ok := last[p]; ok && l != k-1 {
				t.Fatalf("part %d does not stand together", p)
			}
			last[p] = k
		}
		for _, d := range g.deps[i] {
			if at[d] > k {
				t.Fatalf("node %d stands before node %d, which it waits for", i, d)
			}
		}
	}
}

// fewest is how many parts the nodes taken need at least: as often as a path enters them.
func fewest(g *graph, mine []bool) (most int) {
	depth := make([]int, g.count)
	for i, deps := range g.deps {
		if mine[i] {
			depth[i] = 1
		}
		for _, d := range deps {
			at := depth[d]
			if mine[i] && !mine[d] {
				at++
			}
			depth[i] = max(depth[i], at)
		}
		most = max(most, depth[i])
	}
	return most
}

func (g *graph) used() int {
	seen := map[int]bool{}
	for _, p := range g.part {
		if p >= 0 {
			seen[p] = true
		}
	}
	return len(seen)
}

// One backend gets all that it takes in as few parts as a path demands.
func TestFewestParts(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := newGraph(randomDeps(r, 1+r.IntN(40), 1+r.IntN(10)))
		g.ask()
		for i := range g.count {
			if r.IntN(3) > 0 {
				g.take(i)
			}
		}
		mine := slices.Clone(g.taken)
		if d := g.settle(); len(d) > 0 {
			t.Fatal("single nodes were dissolved", d)
		}
		check(t, g)
		for i, p := range g.part {
			if mine[i] != (p >= 0) {
				t.Fatalf("seed %d: node %d is in part %d", seed, i, p)
			}
		}
		if have, want := g.used(), fewest(g, mine); have > want {
			t.Fatalf("seed %d: %d parts, %d would do", seed, have, want)
		}
	}
}

// Several backends with groups: a group is in one part or in none.
func TestGroups(t *testing.T) {
	dissolved := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := newGraph(randomDeps(r, 1+r.IntN(40), 1+r.IntN(10)))
		for range 1 + r.IntN(3) {
			g.ask()
			var groups [][]int
			for range r.IntN(12) {
				var group []int
				for range 1 + r.IntN(4) {
					if i := r.IntN(g.count); g.part[i] < 0 {
						group = append(group, i)
						g.take(i)
						g.join(group[0], i)
					}
				}
				if len(group) > 0 && r.IntN(4) == 0 {
					g.apart[group[0]] = true
				}
				groups = append(groups, group)
			}
			dissolved += len(g.settle())
			check(t, g)
			for _, group := range groups {
				for _, i := range group {
					if g.part[i] != g.part[group[0]] {
						t.Fatalf("seed %d: %v is in several parts", seed, group)
					}
				}
			}
		}
	}
	if dissolved == 0 {
		t.Error("no group had to be dissolved")
	}
}

// What only later parts read goes to them, if it reads nothing of its own part.
func TestLater(t *testing.T) {
	// 0 and 3 are taken, 1 waits for 0 and is not; 4 reads 1 and 3.
	g := newGraph([][]int{{}, {0}, {1}, {}, {2, 3}})
	g.ask()
	for _, i := range []int{0, 2, 3, 4} {
		g.take(i)
	}
	g.settle()
	check(t, g)
	if g.part[3] != g.part[4] || g.part[0] == g.part[4] {
		t.Error(g.part)
	}
}

// A graph of very many nodes takes no more than a moment: what grew as the square would take a
// minute.
func TestLinear(t *testing.T) {
	const n = 400_000
	r := rand.New(rand.NewPCG(7, 7))
	g := newGraph(randomDeps(r, n, 50))
	start := time.Now()
	g.ask()
	for i := range n {
		if r.IntN(3) > 0 {
			g.take(i)
		}
	}
	g.settle()
	g.schedule()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("%d nodes take %v", n, took)
	}
}
