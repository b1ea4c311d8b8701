package plan

import (
	"cmp"
	"errors"
	"slices"
)

// Best finds a placement of least size, memory by memory, if its effort suffices.
// It places in a handful of orders, Greedy's among them. As long as the smallest
// result is above the lower bound, it searches for a placement in fewer bytes:
// first in as few as the bound, then by halves between that and the smallest
// result. The search is exact: it ends with a placement or with the proof that
// there is none of the buffers that then lie in place of one another; the results
// of all orders say which these are. The effort is counted and not timed: the
// same problem gives the same plan on every machine. Where very many buffers are
// in conflict it is a sweep over the program instead.
type Best struct {
	// Effort bounds the search, in buffers and steps looked at; 0 means DefaultEffort.
	Effort int
	// Done, if not nil, ends the search with ErrStopped when it is closed.
	Done <-chan struct{}
}

// ErrStopped is the error of a search that was told to stop.
var ErrStopped = errors.New("planning memory was stopped")

// DefaultEffort takes some five seconds of a processor, and only where there are
// hundreds of buffers for which the search finds neither a placement nor a proof.
const DefaultEffort = 500_000_000

// A placement that takes at most a nearLeast-th more than the least is worth only a lastShare-th of
// the effort: the bytes that it may be too large by are few.
const (
	nearLeast = 512
	lastShare = 100
)

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
		s := &search{analysis: a, memory: m, bound: peak.Bytes,
			work: &work{left: effort, stop: b.Done}, last: effort / lastShare}
		for i, n := range a.nodes {
			if n.memory == m {
				s.members = append(s.members, i)
			}
		}
		s.run()
		if s.work.stopped() {
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
	*analysis
	memory  int
	members []int
	bound   int64
	work    *work
	last    int // of the work, for what is near the least

	best []int64 // offsets of the best placement so far
	size int64   // and what it takes
}

// keep keeps a placement if it is the best.
func (s *search) keep(offsets []int64, size int64) {
	if s.best == nil || size < s.size {
		s.best, s.size = slices.Clone(offsets), size
	}
}

func (s *search) run() {
	pl := newPlacer(s.nodes)
	placements := [][]int64{nil}
	for _, order := range s.orders() {
		for _, f := range []fit{lowestFit, tightestFit} {
			pl.run(order, f)
			s.keep(pl.offsets, pl.size[s.memory])
			placements = append(placements, slices.Clone(pl.offsets))
			if s.size <= s.bound {
				return
			}
		}
	}
	s.fit(s.pack(s.members, s.best))
	for i := 0; i < len(placements) && s.size > s.bound && len(s.pairs) > 0; i++ {
		s.fit(s.pack(s.members, placements[i]))
	}
}

// fit searches for places of the items of a packing in fewer bytes: first in what is
// the least possible, then by halves between that and the smallest found, and once
// more if that ends before the effort does.
func (s *search) fit(pk *packing) {
	if len(pk.items) == 0 {
		return
	}
	least := max(pk.lower, s.bound)
	saved := 0 // of the work: other packings may need less
	defer func() { s.work.left += saved }()
	for seed := uint64(1); least < s.size && !s.spent(least, &saved); seed++ {
		low, first := least, true
		for low < s.size && !s.spent(least, &saved) {
			try := low
			if !first {
				try += (s.size - low) / 2 / pk.grain * pk.grain
			}
			x := newFitting(pk, try, s.work.share())
			switch got := x.run(seed); {
			case got == fits:
				s.keep(s.offsets(x))
			case got == never && low == least:
				least = try + pk.grain
				fallthrough
			default:
				low = try + pk.grain
			}
			s.work.left += x.work.left
			first = false
		}
	}
}

// spent reports whether the search has to end for a packing that needs the least; what it would
// else have worked is added to saved.
func (s *search) spent(least int64, saved *int) bool {
	if over := s.work.left - s.last; s.size-least <= s.size/nearLeast && over > 0 {
		s.work.left -= over
		*saved += over
	}
	return s.work.spent()
}

// offsets returns where the nodes are when a search has placed all items.
func (s *search) offsets(x *fitting) (offsets []int64, size int64) {
	offsets = make([]int64, len(s.nodes))
	for i := range x.items {
		for _, m := range x.items[i].members {
			offsets[m.node] = x.at[i] + m.shift
		}
	}
	for _, i := range s.members {
		size = max(size, offsets[i]+s.nodes[i].size)
	}
	return offsets, size
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
