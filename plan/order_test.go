package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// tasksProblem is tasks of one step each that make one value of some size of values of
// earlier ones, each perhaps in place of the first, in some order.
type tasksProblem struct {
	sizes   []int64
	reads   [][]int
	inPlace []bool
}

func randomTasks(rng *rand.Rand, n int) *tasksProblem {
	g := &tasksProblem{sizes: make([]int64, n), reads: make([][]int, n), inPlace: make([]bool, n)}
	for i := range n {
		g.sizes[i] = 1 + rng.Int64N(9)
		for range min(i, rng.IntN(3)) {
			if k := max(0, i-1-rng.IntN(5)); !slices.Contains(g.reads[i], k) {
				g.reads[i] = append(g.reads[i], k)
			}
		}
		g.inPlace[i] = rng.IntN(2) == 0
	}
	return g
}

// in returns the problem with the tasks in an order.
func (g *tasksProblem) in(order []int) (*Problem, []Task) {
	n := len(order)
	p := &Problem{Buffers: make([]Buffer, n), Regions: []Region{{Parent: -1, Last: n - 1}}}
	at := make([]int, n)
	tasks := make([]Task, n)
	for s, i := range order {
		at[i] = s
		p.Buffers[i].Name, p.Buffers[i].Size = fmt.Sprint(i), g.sizes[i]
		p.Buffers[i].Writes = []int{s}
		tasks[s].First = s
		for _, k := range g.reads[i] {
			p.Buffers[k].Reads = append(p.Buffers[k].Reads, s)
			tasks[s].After = append(tasks[s].After, at[k])
		}
		if len(g.reads[i]) > 0 && g.inPlace[i] {
			p.Shares = append(p.Shares, Share{Step: s, Dst: BufferID(i), Src: BufferID(g.reads[i][0])})
		}
	}
	return p, tasks
}

func (g *tasksProblem) peak(t *testing.T, order []int) int64 {
	p, _ := g.in(order)
	peaks, err := LowerBound(p)
	if err != nil {
		t.Fatal(err)
	}
	return peaks[0].Bytes
}

// least is the lowest peak of all orders.
func (g *tasksProblem) least(t *testing.T, order []int) int64 {
	if len(order) == len(g.sizes) {
		return g.peak(t, order)
	}
	least := int64(1) << 40
	for i := range g.sizes {
		if !slices.Contains(order, i) && g.follows(order, i) {
			least = min(least, g.least(t, append(slices.Clone(order), i)))
		}
	}
	return least
}

func (g *tasksProblem) follows(order []int, i int) bool {
	return !slices.ContainsFunc(g.reads[i], func(k int) bool { return !slices.Contains(order, k) })
}

func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Of small programs no order has a lower peak than that of Order.
func TestOrderIsBest(t *testing.T) {
	improved := 0
	n := tier.Of(60, 300, 300)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := randomTasks(rng, 2+rng.IntN(6))
		given := identity(len(g.sizes))
		order, err := Order(g.in(given))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := Order(g.in(given)); !slices.Equal(order, again) {
			t.Errorf("seed %d: %v, and then %v", seed, order, again)
		}
		for i, k := range order {
			if slices.Contains(order[:i], k) || !g.follows(order[:i], k) {
				t.Fatalf("seed %d: %v is no order of %v", seed, order, g.reads)
			}
		}
		least, got, was := g.least(t, nil), g.peak(t, order), g.peak(t, given)
		if got != least {
			t.Errorf("seed %d: peak %d in order %v, %d is possible", seed, got, order, least)
		}
		if got == was && !slices.Equal(order, given) {
			t.Errorf("seed %d: another order for no gain: %v", seed, order)
		}
		if got < was {
			improved++
		}
	}
	if improved < n/10 {
		t.Errorf("only %d of %d programs were in another order than the best", improved, n)
	}
}

// Parts between tasks that all others are before or behind are searched each by itself, and
// large ones without a proof: what 60 branches make is added up as it comes.
func TestOrderOfLarge(t *testing.T) {
	for _, branches := range []int{3, 60, 500}[:tier.Of(2, 3, 3)] {
		g := &tasksProblem{}
		add := func(size int64, reads ...int) int {
			g.sizes, g.reads, g.inPlace = append(g.sizes, size), append(g.reads, reads),
				append(g.inPlace, false)
			return len(g.sizes) - 1
		}
		root := add(1)
		for range 3 { // all branches first, then what shrinks them
			var wide, narrow []int
			for range branches {
				wide = append(wide, add(100, root))
			}
			for _, w := range wide {
				narrow = append(narrow, add(1, w))
			}
			root = add(1, narrow...)
		}
		given := identity(len(g.sizes))
		order, err := Order(g.in(given))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := g.peak(t, order), int64(100+branches); got != want {
			t.Errorf("%d branches: peak %d of %d, want %d", branches, got, g.peak(t, given), want)
		}
	}
}

// Smaller says what the plans of both say.
func TestSmaller(t *testing.T) {
	how := Best{Effort: 20_000}
	size := func(p *Problem) int64 {
		pl, err := how.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		return pl.Size()
	}
	found := map[bool]int{}
	for seed := range uint64(200) {
		a, b := randomProblem(seed), randomProblem(seed+200)
		want := size(a) < size(b)
		if got, err := Smaller(how, a, b); err != nil || got != want {
			t.Errorf("seed %d: %v, %v, want %v", seed, got, err, want)
		}
		found[want]++
	}
	if found[true] < 50 || found[false] < 50 {
		t.Errorf("%v", found)
	}
	bad := &Problem{Buffers: []Buffer{{Size: -1}}}
	if _, err := Smaller(how, bad, randomProblem(1)); err == nil {
		t.Error("a problem that is none is planned")
	}
}
