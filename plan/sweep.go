package plan

import (
	"cmp"
	"slices"
)

// sweep places the nodes of one memory in the order in which their lives begin,
// each in the smallest gap that is wide enough, or over a share partner whose
// life ends there; a life counts from its first step to its last. It looks at no
// conflicts, of which there may be as many as pairs of nodes: its time grows
// with the nodes.
func (a *analysis) sweep(memory int, offsets []int64) {
	var order []int
	for i, n := range a.nodes {
		if n.memory == memory && n.size > 0 && len(n.live) > 0 {
			order = append(order, i)
		}
	}
	ends := slices.Clone(order)
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(start(a.nodes[i]), start(a.nodes[j]))
	})
	slices.SortStableFunc(ends, func(i, j int) int {
		return cmp.Compare(end(a.nodes[i]), end(a.nodes[j]))
	})
	over := map[int]pairing{} // by node, a partner that it may begin over
	for _, p := range a.pairs {
		if dst, src := a.nodes[p.dst], a.nodes[p.src]; p.delta == 0 && p.step == start(dst) &&
			p.step == end(src) && dst.size <= src.size {
			over[p.dst] = p
		}
	}
	var g gaps
	given := make([]int64, len(a.nodes)) // how many bytes of its room are another node's now
	for _, i := range order {
		n := &a.nodes[i]
		for len(ends) > 0 && end(a.nodes[ends[0]]) < start(*n) {
			k := ends[0]
			g.free(block{offsets[k] + given[k], offsets[k] + a.nodes[k].size})
			ends = ends[1:]
		}
		if p, ok := over[i]; ok && given[p.src] == 0 && offsets[p.src]&(n.align-1) == 0 {
			given[p.src] = n.size
			offsets[i] = offsets[p.src]
			continue
		}
		offsets[i] = g.take(n.size, n.align)
	}
}

// end is the last step of a node's life, which it has.
func end(n node) int { return n.live[len(n.live)-1].Last }

// gaps are the ranges of bytes not in use below top. No two touch.
type gaps struct {
	bySize []block         // by size, then place
	from   map[int64]block // by first byte
	to     map[int64]block // by end
	top    int64
}

func compareGaps(x, y block) int {
	return cmp.Or(cmp.Compare(x.to-x.from, y.to-y.from), cmp.Compare(x.from, y.from))
}

func (g *gaps) add(b block) {
	i, _ := slices.BinarySearchFunc(g.bySize, b, compareGaps)
	g.bySize = slices.Insert(g.bySize, i, b)
	g.from[b.from], g.to[b.to] = b, b
}

func (g *gaps) remove(b block) {
	i, _ := slices.BinarySearchFunc(g.bySize, b, compareGaps)
	g.bySize = slices.Delete(g.bySize, i, i+1)
	delete(g.from, b.from)
	delete(g.to, b.to)
}

// free adds a range that is in use, if it is not empty.
func (g *gaps) free(b block) {
	if b.from == b.to {
		return
	}
	if g.from == nil {
		g.from, g.to = map[int64]block{}, map[int64]block{}
	}
	if before, ok := g.to[b.from]; ok {
		g.remove(before)
		b.from = before.from
	}
	if behind, ok := g.from[b.to]; ok {
		g.remove(behind)
		b.to = behind.to
	}
	if b.to == g.top {
		g.top = b.from
		return
	}
	g.add(b)
}

// take returns the first byte of a range that was not in use.
func (g *gaps) take(size, align int64) int64 {
	i, _ := slices.BinarySearchFunc(g.bySize, block{-1, size - 1}, compareGaps)
	for ; i < len(g.bySize); i++ {
		b := g.bySize[i]
		if at := alignUp(b.from, align); at+size <= b.to {
			g.remove(b)
			g.free(block{b.from, at})
			g.free(block{at + size, b.to})
			return at
		}
	}
	at := alignUp(g.top, align)
	last := block{g.top, at}
	g.top = at + size
	g.free(last)
	return at
}
