package plan

import (
	"cmp"
	"slices"
)

// outcome is what a search found.
type outcome int

const (
	unknown outcome = iota // it has used up what it may
	fits
	never // it has proven that the items do not fit
)

// fitting is a search for places of a packing's items in a number of bytes.
//
// It places one item at a time at its lowest place, that is, on those placed
// before it: in the solutions that it looks for each item rests on another or on
// the ground, which is no loss (Moffitt, MiniMalloc, ASPLOS 2023, calls them
// canonical). A decision is that an item is at its lowest place and all waiting
// ones near it come over it. Where that fails, it is higher: it rests on an item
// that still waits, which raises its bound, and with it the bounds of others. A
// section fails if its waiting items, each from its bound on and one over the
// other, do not end within the capacity. An item is placed without a decision if
// all that wait near it are bound to come over it anyway.
//
// Each bound has a reason: the decisions that it follows from. A failure gives a
// conflict, a set of decisions that fail together, and the search goes back to
// the last of these. What decisions cut into parts that have no section in common
// is solved part by part.
type fitting struct {
	*packing
	capacity int64
	ceiling  int64 // capacity, rounded up to the grain
	rank     []int // of items whose lowest places are equal, the lowest comes first
	nodes    int   // decisions that are left
	work     *work

	at         []int64 // -1: the item is waiting
	low, bound []int64 // the lowest place on those placed; what no place goes below
	why        []int   // of the bound: see reason
	reasons    []uint64
	words      int // of a set of items
	conflict   []uint64
	support    []int   // of an item above its lowest place, what its bound rests on
	carries    []int   // how many rest on an item so
	blocker    []int   // index of a near item that was found to be able to come below
	waiting    [][]int // by section
	end        []int64 // by section, what waits ends there or before
	cuts       []int   // by section, waiting items that are alive in it and behind it
	failed     []int64 // by section, how often it did, lately

	trail  []trace
	queue  []int
	queued []bool
	raised []int   // items whose bounds were raised
	from   []int64 // and from where; -1: it was not
	dirty  []int   // sections in which they are
	lift   []int64 // how far an item was raised by the one that was placed last
	span   [2]int  // and in which sections that counts for nothing
	grown  []int64 // by how much they were raised there at most
	jobs   []job
}

// work is how much a search may do, in items and sections looked at. It is spent
// in the same way on every machine.
type work struct {
	left int
	stop <-chan struct{}
}

// spent reports whether the search has to end.
func (w *work) spent() bool { return w.left <= 0 || w.stopped() }

// stopped reports whether nobody waits for the result any more.
func (w *work) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// share takes a part of the work away for a search of its own.
func (w *work) share() *work {
	n := w.left/4 + 1
	w.left -= n
	return &work{left: n, stop: w.stop}
}

// trace is a change that can be taken back.
type trace struct {
	kind       changeKind
	index      int
	low, bound int64
	why        int
	support    int
}

type changeKind uint8

const (
	moved  changeKind = iota // an item's low or bound
	placed                   // an item
	grew                     // a section's end
)

// job is an item in a section: it takes size bytes, from some byte on.
type job struct {
	item       int
	from, size int64
}

func newFitting(pk *packing, capacity int64, w *work) *fitting {
	n := len(pk.items)
	x := &fitting{packing: pk, capacity: capacity, ceiling: roundUp(capacity, pk.grain), work: w,
		rank: make([]int, n), at: make([]int64, n), low: make([]int64, n), bound: make([]int64, n),
		why: make([]int, n), words: (n + 63) / 64,
		support: make([]int, n), carries: make([]int, n), blocker: make([]int, n),
		waiting: make([][]int, pk.sections), end: make([]int64, pk.sections),
		cuts: make([]int, pk.sections), failed: make([]int64, pk.sections),
		queued: make([]bool, n), from: make([]int64, n), lift: make([]int64, n),
		grown: make([]int64, pk.sections)}
	x.conflict = make([]uint64, x.words)
	for i := range pk.items {
		it := &pk.items[i]
		x.at[i], x.from[i], x.why[i], x.support[i] = -1, -1, nothing, -1
		x.low[i] = it.up(0)
		x.bound[i] = x.low[i]
		for _, r := range it.runs {
			for s := r.first; s <= r.last; s++ {
				x.waiting[s] = append(x.waiting[s], i)
			}
		}
		for s := it.first(); s < it.last(); s++ {
			x.cuts[s]++
		}
	}
	for s := range x.end {
		x.end[s] = x.ceiling + 1 // not known yet
	}
	return x
}

// place puts item c at its lowest place.
func (x *fitting) place(c int) {
	it := &x.items[c]
	x.work.left -= len(it.near) + it.last() - it.first() + 1
	x.trail = append(x.trail, trace{kind: placed, index: c})
	x.at[c] = x.low[c]
	for _, r := range it.runs {
		for s := r.first; s <= r.last; s++ {
			w := x.waiting[s]
			k := slices.Index(w, c)
			w[k], w[len(w)-1] = w[len(w)-1], c
			x.waiting[s] = w[:len(w)-1]
		}
	}
	for s := it.first(); s < it.last(); s++ {
		x.cuts[s]--
	}
	// Where c was the lowest, those that now come over it would have begun no lower
	// in the stack of the section: its end is where it was.
	simple := len(it.runs) == 1 && it.runs[0].lo == 0
	x.span = [2]int{it.first(), it.last()}
	for i := range it.near {
		k := it.near[i].to
		if x.at[k] >= 0 {
			continue
		}
		if to := x.items[k].up(x.at[c] + it.near[i].over); to > x.low[k] {
			x.save(k)
			x.low[k] = to
			if x.bound[k] <= to {
				x.why[k] = c
				if simple && x.bound[k] >= x.at[c] && to == x.at[c]+it.height {
					x.lift[k] = to - x.bound[k]
				}
				x.raise(k, to)
			}
		}
		if x.support[k] == c {
			x.push(k)
		}
	}
}

func (x *fitting) save(k int) {
	x.trail = append(x.trail, trace{kind: moved, index: k, low: x.low[k], bound: x.bound[k],
		why: x.why[k], support: x.support[k]})
}

// raise raises the bound of an item that was saved, for the reason that it has now.
func (x *fitting) raise(k int, to int64) {
	if to == x.bound[k] {
		return
	}
	if x.from[k] < 0 {
		x.from[k] = x.bound[k]
		x.raised = append(x.raised, k)
	}
	x.bound[k] = to
	it := &x.items[k]
	by := to - x.from[k]
	for _, r := range it.runs {
		for s := r.first; s <= r.last; s++ {
			by := by
			if s >= x.span[0] && s <= x.span[1] {
				by -= x.lift[k]
			}
			if x.grown[s] == 0 && by > 0 {
				x.dirty = append(x.dirty, s)
			}
			x.grown[s] = max(x.grown[s], by)
		}
	}
	if x.carries[k] == 0 {
		return
	}
	x.work.left -= len(it.near)
	for i := range it.near {
		if q := it.near[i].to; x.support[q] == k {
			x.push(q)
		}
	}
}

// lean notes which item the bound of k rests on.
func (x *fitting) lean(k, on int) {
	if was := x.support[k]; was >= 0 {
		x.carries[was]--
	}
	if x.support[k] = on; on >= 0 {
		x.carries[on]++
	}
}

// push has the bound of an item looked at, if it is one that rests on what waits.
func (x *fitting) push(k int) {
	if x.at[k] < 0 && x.bound[k] > x.low[k] && !x.queued[k] {
		x.queued[k] = true
		x.queue = append(x.queue, k)
	}
}

// undo takes back what the trail has from mark on.
func (x *fitting) undo(mark int) {
	for i := len(x.trail) - 1; i >= mark; i-- {
		e := &x.trail[i]
		switch e.kind {
		case grew:
			x.end[e.index] = e.bound
		case moved:
			x.low[e.index], x.bound[e.index] = e.low, e.bound
			x.lean(e.index, e.support)
			x.drop(e.index, e.why)
		default:
			it := &x.items[e.index]
			x.at[e.index] = -1
			for _, r := range it.runs {
				for s := r.first; s <= r.last; s++ {
					x.waiting[s] = x.waiting[s][:len(x.waiting[s])+1]
				}
			}
			for s := it.first(); s < it.last(); s++ {
				x.cuts[s]++
			}
		}
	}
	x.trail = x.trail[:mark]
}

// rounds bounds how often bounds raise one another before the next decision. Those
// of items that could only rest on each other would go on up to the capacity.
const rounds = 1000

// propagate raises bounds until none raises another, and checks the sections. It
// reports false, with a conflict, if there is no solution.
func (x *fitting) propagate() bool {
	ok := true
	for n := 0; len(x.queue) > 0; n++ {
		k := x.queue[len(x.queue)-1]
		x.queue = x.queue[:len(x.queue)-1]
		x.queued[k] = false
		if ok && n < rounds && x.at[k] < 0 && x.bound[k] > x.low[k] {
			ok = x.rest(k)
		}
	}
	for _, k := range x.raised {
		x.from[k], x.lift[k] = -1, 0
		if ok && x.bound[k]+x.items[k].height > x.capacity {
			ok = false
			clear(x.conflict)
			x.because(x.conflict, x.why[k])
		}
	}
	x.raised = x.raised[:0]
	for _, s := range x.dirty {
		by := x.grown[s]
		x.grown[s] = 0
		if !ok {
			continue
		}
		was := x.end[s]
		if x.end[s] += by; x.end[s] > x.ceiling {
			if ok = x.stack(s); !ok {
				x.failed[s] += failure
				x.end[s] = was
				continue
			}
		}
		x.trail = append(x.trail, trace{kind: grew, index: s, bound: was})
	}
	x.dirty = x.dirty[:0]
	return ok
}

// rest raises the bound of an item that rests on one of those that wait near it.
func (x *fitting) rest(k int) bool {
	it := &x.items[k]
	x.work.left -= len(it.near)
	least, on := int64(-1), -1
	for i := range it.near {
		if q := it.near[i].to; x.at[q] < 0 {
			if at := x.bound[q] + it.near[i].under; least < 0 || at < least {
				least, on = at, q
			}
		}
	}
	if least >= 0 {
		least = it.up(least)
	}
	if least < 0 || least+it.height > x.capacity {
		clear(x.conflict)
		x.explain(x.conflict, k)
		return false
	}
	x.save(k)
	x.lean(k, on)
	if least > x.bound[k] {
		x.explain(x.reason(k), k)
		x.raise(k, least)
	}
	return true
}

// stack lays what waits in a section one over the other, each from its bound on. It
// leaves the section in this order, which is nearly that of the next time.
func (x *fitting) stack(s int) bool {
	jobs := x.jobs[:0]
	for _, k := range x.waiting[s] {
		r := &x.items[k].runs[0]
		for i := 1; r.last < s; i++ {
			r = &x.items[k].runs[i]
		}
		j := job{k, x.bound[k] + r.lo, r.bytes}
		at := len(jobs)
		jobs = append(jobs, j)
		for ; at > 0 && jobs[at-1].from > j.from; at-- {
			jobs[at] = jobs[at-1]
			x.work.left--
		}
		jobs[at] = j
	}
	for i, j := range jobs {
		x.waiting[s][i] = j.item
	}
	x.jobs = jobs
	x.work.left -= 3 * len(jobs)
	var end int64
	block := 0 // the first of those with no room between them
	for i, j := range jobs {
		if j.from > end {
			block, end = i, j.from
		}
		if end += j.size; end > x.ceiling {
			clear(x.conflict)
			for _, j := range jobs[block : i+1] {
				x.because(x.conflict, x.why[j.item])
			}
			return false
		}
	}
	x.end[s] = end
	return true
}

// solve places the items of a part, all of which wait; they are alive in sections
// first to last. It changes their order.
func (x *fitting) solve(part []int, first, last int) outcome {
	if len(part) == 0 {
		return fits
	}
	for {
		i, free := x.choose(part)
		if i < 0 {
			return never
		}
		if x.nodes--; x.nodes < 0 || x.work.spent() {
			return unknown
		}
		n := len(part) - 1
		c := part[i]
		part[i], part[n] = part[n], c
		mark := len(x.trail)
		x.place(c)
		if x.propagate() {
			if got := x.parts(part[:n], c, first, last); got != never {
				return got
			}
		}
		x.undo(mark)
		if !take(x.conflict, c) {
			return never // whatever c does
		}
		if free {
			x.explain(x.conflict, c)
			return never
		}
		if !x.exclude(c) {
			return never
		}
	}
}

// choose returns the index of the item to be placed next, and whether all that
// wait near it come over it anyway. The index is -1, and there is a conflict, if
// there is none.
func (x *fitting) choose(part []int) (best int, free bool) {
	best = -1
	x.work.left -= len(part)
	for i, k := range part {
		free := !x.below(k)
		switch {
		case x.bound[k] > x.low[k]:
			if free { // it could be at its lowest place, and is not
				clear(x.conflict)
				x.explain(x.conflict, k)
				return -1, false
			}
		case free:
			return i, true
		case best < 0 || cmp.Or(cmp.Compare(x.low[k], x.low[part[best]]),
			cmp.Compare(x.rank[k], x.rank[part[best]])) < 0:
			best = i
		}
	}
	if best < 0 {
		clear(x.conflict)
		for k, at := range x.at {
			if at >= 0 {
				x.because(x.conflict, k)
			}
		}
	}
	return best, false
}

// below reports whether one of those that wait near an item could come to lie
// below its top if it is at its lowest place.
func (x *fitting) below(k int) bool {
	it := &x.items[k]
	could := func(nr *near) bool { return x.at[nr.to] < 0 && x.bound[nr.to] < x.low[k]+nr.over }
	if b := x.blocker[k]; b < len(it.near) && could(&it.near[b]) {
		return true
	}
	for i := range it.near {
		if could(&it.near[i]) {
			x.blocker[k] = i
			x.work.left -= i
			return true
		}
	}
	x.work.left -= len(it.near)
	return false
}

// exclude says that an item is not at its lowest place, as the conflict says.
func (x *fitting) exclude(c int) bool {
	x.save(c)
	set := x.reason(c)
	for i, w := range x.conflict {
		set[i] |= w
	}
	it := &x.items[c]
	for i := range it.near { // why none could be below it
		nr := &it.near[i]
		if x.at[nr.to] < 0 && x.items[nr.to].up(0)+nr.under <= x.low[c] {
			x.because(set, x.why[nr.to])
		}
	}
	x.raise(c, it.up(x.low[c]+1))
	x.push(c)
	return x.propagate()
}

// portion is a part between cuts.
type portion struct {
	items       []int
	first, last int
}

// parts solves what is left of a part when c has been placed. Where that has cut
// it, the smaller portions come first.
func (x *fitting) parts(part []int, c, first, last int) outcome {
	it := &x.items[c]
	var portions []portion
	from := first
	for s := it.first(); s < it.last(); s++ {
		if x.cuts[s] == 0 {
			portions = append(portions, portion{first: from, last: s})
			from = s + 1
		}
	}
	if len(portions) == 0 {
		return x.solve(part, first, last)
	}
	portions = append(portions, portion{first: from, last: last})
	slices.SortFunc(part, func(i, k int) int {
		return cmp.Or(cmp.Compare(x.items[i].last(), x.items[k].last()), cmp.Compare(i, k))
	})
	for i := range portions {
		n := 0
		for n < len(part) && x.items[part[n]].last() <= portions[i].last {
			n++
		}
		portions[i].items, part = part[:n], part[n:]
	}
	slices.SortStableFunc(portions, func(a, b portion) int {
		return cmp.Compare(len(a.items), len(b.items))
	})
	for _, p := range portions {
		if got := x.solve(p.items, p.first, p.last); got != fits {
			return got
		}
	}
	return fits
}
