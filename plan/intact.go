package plan

import (
	"cmp"
	"slices"
)

// intact is the set of root buffers that hold what was written to them, for the
// checker. It finds those that share bytes with a buffer without going through
// all: a binary tree over the roots in the order of their first bytes, each node
// with the largest end of those in the set below it.
type intact struct {
	problem *Problem
	plan    *Plan
	place   []int // by buffer, 1 + its leaf; 0 if it has no bytes that are placed
	roots   []BufferID
	ends    []int64 // of the tree; leaves are the second half
	found   []BufferID
}

func newIntact(p *Problem, pl *Plan) *intact {
	t := &intact{problem: p, plan: pl, place: make([]int, len(p.Buffers))}
	for i, b := range p.Buffers {
		if b.Alias == nil && b.Size > 0 {
			t.roots = append(t.roots, BufferID(i))
		}
	}
	slices.SortStableFunc(t.roots, func(a, b BufferID) int {
		return cmp.Or(cmp.Compare(p.Buffers[a].Memory, p.Buffers[b].Memory),
			cmp.Compare(pl.Offsets[a], pl.Offsets[b]))
	})
	for k, id := range t.roots {
		t.place[id] = k + 1
	}
	n := 1
	for n < len(t.roots) {
		n *= 2
	}
	t.ends = make([]int64, 2*n)
	return t
}

// set puts a root into the set or takes it out.
func (t *intact) set(root BufferID, in bool) {
	k := t.place[root] - 1
	if k < 0 {
		return
	}
	k += len(t.ends) / 2
	t.ends[k] = 0
	if in {
		t.ends[k] = t.plan.Offsets[root] + t.problem.Buffers[root].Size
	}
	for k /= 2; k > 0; k /= 2 {
		t.ends[k] = max(t.ends[2*k], t.ends[2*k+1])
	}
}

// meeting returns the other roots in the set that share bytes with a root, until
// the next call.
func (t *intact) meeting(root BufferID) []BufferID {
	t.found = t.found[:0]
	if t.place[root] == 0 {
		return nil
	}
	b := &t.problem.Buffers[root]
	from, to := t.plan.Offsets[root], t.plan.Offsets[root]+b.Size
	first := func(memory int, end int64) int { // of the roots that begin behind end
		k, _ := slices.BinarySearchFunc(t.roots, end, func(id BufferID, end int64) int {
			o := &t.problem.Buffers[id]
			// behind those that begin at end
			return cmp.Or(cmp.Compare(o.Memory, memory), cmp.Compare(t.plan.Offsets[id], end), -1)
		})
		return k
	}
	low, high := first(b.Memory, -1), first(b.Memory, to-1)
	// Below a node that stands for leaves at to at+n.
	var visit func(k, at, n int)
	visit = func(k, at, n int) {
		switch {
		case at >= high || at+n <= low || t.ends[k] <= from:
		case n > 1:
			visit(2*k, at, n/2)
			visit(2*k+1, at+n/2, n/2)
		case t.roots[at] != root:
			t.found = append(t.found, t.roots[at])
		}
	}
	visit(1, 0, len(t.ends)/2)
	return t.found
}
