package plan

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
)

// Best runs several placements and keeps the smallest, memory by memory. First
// it tries a handful of orders, Greedy's among them; then, as long as the plan
// is above the lower bound, it repeats the best orders with a buffer moved
// forward that stands at the peak, and now and then shaken. The effort is bounded, by counted
// operations
// and not by time: the same problem always gives the same plan. Where very many
// buffers are in conflict it is a sweep over the program instead.
type Best struct {
	// Effort bounds the repairs, in conflicts looked at; 0 means DefaultEffort.
	Effort int
	// Done, if not nil, ends the search with ErrStopped when it is closed.
	Done <-chan struct{}
}

// ErrStopped is the error of a search that was told to stop.
var ErrStopped = errors.New("planning memory was stopped")

// DefaultEffort takes a fraction of a second at most.
const DefaultEffort = 5_000_000

// All orders are tried of problems with up to so many pairs of buffers in conflict,
// and so many more for each buffer. Networks have some ten for each, and 180
// buffers that are all alive at once are below it too.
const (
	someConflicts = 1 << 14
	conflictsEach = 32
)

// Plan implements Planner.
func (b Best) Plan(p *Problem) (*Plan, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	effort := b.Effort
	if effort <= 0 {
		effort = DefaultEffort
	}
	if !a.connect(a.mostConflicts()) {
		return a.swept(), nil
	}
	offsets := make([]int64, len(a.nodes))
	for m, peak := range a.bound() {
		s := &search{placer: newPlacer(a.nodes), memory: m, bound: peak.Bytes, effort: effort,
			stop: b.Done, place: make([]int, len(a.nodes))}
		for i, n := range a.nodes {
			if n.memory == m {
				s.members = append(s.members, i)
			}
		}
		s.run()
		if s.stopped() {
			return nil, ErrStopped
		}
		for _, i := range s.members {
			offsets[i] = s.best[i]
		}
	}
	return a.plan(offsets), nil
}

func (a *analysis) mostConflicts() int { return someConflicts + conflictsEach*len(a.nodes) }

// swept is the plan that a sweep over each memory gives.
func (a *analysis) swept() *Plan {
	offsets := make([]int64, len(a.nodes))
	for m := range memoriesOf(a.nodes) {
		a.sweep(m, offsets)
	}
	return a.plan(offsets)
}

// search looks for a small placement of the nodes of one memory.
type search struct {
	*placer
	memory  int
	members []int
	bound   int64
	effort  int
	stop    <-chan struct{}

	best     []int64 // offsets of the best placement so far
	bestSize int64

	place, top, targets []int   // room for promote
	before              []int64 // … and for repair
}

// done reports whether there is nothing more to gain or to spend.
func (s *search) done() bool {
	return s.bestSize <= s.bound || s.work >= s.effort || s.stopped()
}

// stopped reports whether nobody waits for the result any more.
func (s *search) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// try places in the given order and keeps the result if it is the best.
func (s *search) try(order []int, f fit) int64 {
	s.placer.run(order, f)
	size := s.size[s.memory]
	if s.best == nil || size < s.bestSize {
		s.best, s.bestSize = slices.Clone(s.offsets), size
	}
	return size
}

func (s *search) run() {
	type candidate struct {
		order []int
		fit   fit
		size  int64
	}
	var candidates []candidate
	for _, order := range s.orders() {
		for _, f := range []fit{lowestFit, tightestFit} {
			candidates = append(candidates, candidate{order, f, s.try(order, f)})
			if s.done() {
				return
			}
		}
	}
	slices.SortStableFunc(candidates, func(x, y candidate) int {
		return cmp.Compare(x.size, y.size)
	})
	for i := range candidates {
		c := &candidates[i]
		share := (s.effort - s.work) / (len(candidates) + 1 - i)
		c.order, c.size = s.repair(c.order, c.fit, c.size, s.work+share)
		if s.done() {
			return
		}
	}
	slices.SortStableFunc(candidates, func(x, y candidate) int {
		return cmp.Compare(x.size, y.size)
	})
	// Shake the best ones and repair again. The generator's fixed seed makes the
	// shakes part of the algorithm: they are the same in every run.
	rng := rand.New(rand.NewPCG(1, 1))
	for k := 0; !s.done(); k = (k + 1) % min(3, len(candidates)) {
		c := &candidates[k]
		order := shake(c.order, rng)
		order, size := s.repair(order, c.fit, s.try(order, c.fit), s.effort)
		if size <= c.size {
			c.order, c.size = order, size
		}
	}
}

// shake returns the order with a few members moved elsewhere.
func shake(order []int, rng *rand.Rand) []int {
	order = slices.Clone(order)
	for range 1 + rng.IntN(4) {
		from, to := rng.IntN(len(order)), rng.IntN(len(order))
		i := order[from]
		order = slices.Insert(slices.Delete(order, from, from+1), to, i)
	}
	return order
}

// orders returns the orders to start from: by size; by size times lifetime; by
// the bytes a node is in conflict with; by lifetime; by start.
func (s *search) orders() [][]int {
	n := len(s.nodes)
	steps, conflict := make([]float64, n), make([]float64, n)
	for _, i := range s.members {
		for _, span := range s.nodes[i].live {
			steps[i] += float64(span.Last - span.First + 1)
		}
		conflict[i] = float64(s.nodes[i].size)
		for _, e := range s.nodes[i].edges {
			conflict[i] += float64(s.nodes[e.to].size)
		}
	}
	sized := bySize(s.nodes, s.members)
	by := func(key func(i int) float64) []int {
		order := slices.Clone(sized)
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(key(j), key(i)) })
		return order
	}
	return [][]int{
		sized,
		by(func(i int) float64 { return float64(s.nodes[i].size) * steps[i] }),
		by(func(i int) float64 { return conflict[i] }),
		by(func(i int) float64 { return steps[i] }),
		by(func(i int) float64 { return -float64(start(s.nodes[i])) }),
	}
}

// repair moves nodes that reach the peak forward in the order: to the front, or
// just before one of the neighbours below it that hold it up. It goes on from
// the result if that is no larger, and gives up after as many fruitless tries
// in a row as there are nodes, or when the work done reaches limit. It returns
// where it ended.
func (s *search) repair(order []int, f fit, size int64, limit int) ([]int, int64) {
	s.placer.run(order, f)
	fruitless := 0
	for turn := 0; fruitless < len(order)+16 && s.work < limit && !s.done(); turn++ {
		next := s.promote(order, size, turn)
		s.before = append(s.before[:0], s.offsets...)
		got := s.try(next, f)
		if got < size {
			fruitless = 0
		} else {
			fruitless++
		}
		if got <= size {
			order, size = next, got
		} else {
			copy(s.offsets, s.before)
		}
	}
	return order, size
}

// promote returns the order with one node at the peak moved forward. Which one,
// and how far, depends on turn, so that repeated tries differ.
func (s *search) promote(order []int, size int64, turn int) []int {
	// place and top are positions in order.
	place, top, targets := s.place, s.top[:0], append(s.targets[:0], 0)
	for k, i := range order {
		place[i] = k
		if s.offsets[i]+s.nodes[i].size == size {
			top = append(top, k)
		}
	}
	from := top[turn%len(top)]
	for _, e := range s.nodes[order[from]].edges {
		if k := place[e.to]; k < from && k > 0 {
			targets = append(targets, k)
		}
	}
	s.top, s.targets = top, targets
	to := targets[turn/len(top)%len(targets)]
	if to == from { // it is the first already: try it later
		to = min(len(order)-1, 1+turn%len(order))
	}
	next := slices.Delete(slices.Clone(order), from, from+1)
	return slices.Insert(next, to, order[from])
}
