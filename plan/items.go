package plan

import (
	"cmp"
	"slices"
)

// item is what the search places: a buffer, or several that lie in place of one
// another and move together.
type item struct {
	members []member
	height  int64 // bytes from the first byte of all members to the last
	align   int64 // a power of two
	phase   int64 // the item's first byte is at a multiple of align plus phase
	runs    []run // the sections in which it is alive
	steps   int64 // how long its members are alive
	near    []near
}

// member is a node and where it starts in its item.
type member struct {
	node  int
	shift int64
}

// run is a range of sections in which an item holds the bytes from lo to hi,
// counted from its own first byte.
type run struct {
	first, last int
	lo, hi      int64
	bytes       int64 // what it takes of a section: hi-lo, rounded up to the grain
}

// near is another item that is alive in a section in which this one is: it starts
// at least over bytes after this one, or else at least under bytes before it.
type near struct {
	to          int
	over, under int64
}

// up returns the lowest place of an item from byte n on.
func (it *item) up(n int64) int64 { return alignUp(n-it.phase, it.align) + it.phase }

// first and last are the sections in which it is alive first and last.
func (it *item) first() int { return it.runs[0].first }
func (it *item) last() int  { return it.runs[len(it.runs)-1].last }

// roundUp returns the lowest multiple of grain from n on.
func roundUp(n, grain int64) int64 { return (n + grain - 1) / grain * grain }

// packing is the problem of the search: items and sections. A section is a step
// at which a set of buffers is alive that is in no larger one.
type packing struct {
	items    []item
	sections int
	grain    int64 // all places are multiples of it
	lower    int64 // bytes that no placement of the items goes below
}

// grouper joins the nodes of one memory that lie in place of one another.
type grouper struct {
	*analysis
	group  []int      // by node
	groups [][]member // by group; empty when it was joined with another
}

// pack makes a packing of the members of one memory. Nodes that lie in place of
// one another at the given offsets are one item; without offsets, all that can be.
func (a *analysis) pack(members []int, offsets []int64) *packing {
	g := &grouper{analysis: a, group: make([]int, len(a.nodes)),
		groups: make([][]member, len(a.nodes))}
	for i := range g.group {
		g.group[i] = -1
	}
	pk := &packing{}
	for _, i := range members {
		n := &a.nodes[i]
		if n.size == 0 || len(n.live) == 0 {
			continue
		}
		g.group[i], g.groups[i] = i, []member{{node: i}}
		if pk.grain == 0 || n.align < pk.grain {
			pk.grain = n.align
		}
	}
	// The largest first: they save most.
	pairs := slices.Clone(a.pairs)
	saves := func(p pairing) int64 { return min(a.nodes[p.dst].size, a.nodes[p.src].size) }
	slices.SortStableFunc(pairs, func(x, y pairing) int { return cmp.Compare(saves(y), saves(x)) })
	for _, p := range pairs {
		if g.group[p.dst] >= 0 && g.group[p.src] >= 0 &&
			(offsets == nil || offsets[p.src]-offsets[p.dst] == p.delta) {
			g.join(p.dst, p.src, p.delta)
		}
	}
	itemOf := make([]int, len(a.nodes))
	for i := range itemOf {
		itemOf[i] = -1
	}
	for _, group := range g.groups {
		if len(group) == 0 {
			continue
		}
		for _, m := range group {
			itemOf[m.node] = len(pk.items)
		}
		align, phase, _ := g.place(group)
		pk.items = append(pk.items, item{members: group, align: align, phase: phase})
	}
	pk.cut(a)
	pk.grain = pk.common()
	pk.connect(a, itemOf)
	pk.bound()
	return pk
}

// place returns where a group can start: at multiples of align plus phase, if at all.
func (g *grouper) place(group []member) (align, phase int64, ok bool) {
	align = 1
	for _, m := range group {
		if n := &g.nodes[m.node]; n.align > align {
			align, phase = n.align, (-m.shift)&(n.align-1)
		}
	}
	for _, m := range group {
		if (phase+m.shift)&(g.nodes[m.node].align-1) != 0 {
			return 0, 0, false
		}
	}
	return align, phase, true
}

// join makes one group of those of two nodes, of which src starts delta bytes
// after dst, if all that are in it may lie so.
func (g *grouper) join(dst, src int, delta int64) {
	x, y := g.group[dst], g.group[src]
	if x == y {
		return
	}
	shift := delta // from x's first byte to y's
	for _, m := range g.groups[x] {
		if m.node == dst {
			shift += m.shift
		}
	}
	for _, m := range g.groups[y] {
		if m.node == src {
			shift -= m.shift
		}
	}
	small, large := x, y
	if len(g.groups[x]) > len(g.groups[y]) {
		small, large, shift = y, x, -shift
	}
	// The large group starts shift bytes after the small one.
	at := map[int]int64{}
	for _, m := range g.groups[large] {
		at[m.node] = m.shift + shift
	}
	for _, m := range g.groups[small] {
		for _, e := range g.nodes[m.node].edges {
			o, met := at[e.to]
			if met && o < m.shift+g.nodes[m.node].size && m.shift < o+g.nodes[e.to].size &&
				(!e.inPlace || o-m.shift != e.delta) {
				return
			}
		}
	}
	joined := slices.Clone(g.groups[small])
	for _, m := range g.groups[large] {
		joined = append(joined, member{m.node, m.shift + shift})
	}
	least := joined[0].shift
	for _, m := range joined {
		least = min(least, m.shift)
	}
	for i := range joined {
		joined[i].shift -= least
	}
	if _, _, ok := g.place(joined); !ok {
		return
	}
	g.groups[small], g.groups[large] = nil, joined
	for _, m := range joined {
		g.group[m.node] = large
	}
}

// cut finds the sections and the items' runs.
func (pk *packing) cut(a *analysis) {
	var starts, ends []int
	for i := range pk.items {
		for _, m := range pk.items[i].members {
			for _, s := range a.nodes[m.node].live {
				starts, ends = append(starts, s.First), append(ends, s.Last)
			}
		}
	}
	slices.Sort(starts)
	slices.Sort(ends)
	starts = slices.Compact(starts)
	var steps []int // by section; the last start before some end
	for i, s := range starts {
		k, _ := slices.BinarySearch(ends, s)
		if k < len(ends) && (i+1 == len(starts) || ends[k] < starts[i+1]) {
			steps = append(steps, s)
		}
	}
	pk.sections = len(steps)
	for i := range pk.items {
		it := &pk.items[i]
		var spans []run
		var edges []int
		for _, m := range it.members {
			n := &a.nodes[m.node]
			it.height = max(it.height, m.shift+n.size)
			for _, s := range n.live {
				it.steps += int64(s.Last - s.First + 1)
				first, _ := slices.BinarySearch(steps, s.First)
				behind, _ := slices.BinarySearch(steps, s.Last+1)
				spans = append(spans, run{first: first, last: behind - 1, lo: m.shift,
					hi: m.shift + n.size})
				edges = append(edges, first, behind)
			}
		}
		it.runs = merge(spans, edges)
	}
}

// merge makes runs that are in order and do not overlap of spans that may; edges
// are the first sections of these and those behind them.
func merge(spans []run, edges []int) []run {
	slices.SortFunc(spans, func(x, y run) int { return cmp.Compare(x.first, y.first) })
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var runs []run
	var active []run
	for k, from := range edges[:len(edges)-1] {
		active = slices.DeleteFunc(active, func(s run) bool { return s.last < from })
		for len(spans) > 0 && spans[0].first <= from {
			active, spans = append(active, spans[0]), spans[1:]
		}
		if len(active) == 0 {
			continue
		}
		r := run{first: from, last: edges[k+1] - 1, lo: active[0].lo, hi: active[0].hi}
		for _, s := range active {
			r.lo, r.hi = min(r.lo, s.lo), max(r.hi, s.hi)
		}
		if n := len(runs); n > 0 && runs[n-1].last == from-1 && runs[n-1].lo == r.lo &&
			runs[n-1].hi == r.hi {
			runs[n-1].last = r.last
			continue
		}
		runs = append(runs, r)
	}
	return runs
}

// common returns what all places are a multiple of: what all sizes are, if the
// alignments ask for no more, or else the least alignment.
func (pk *packing) common() int64 {
	var sizes int64
	align := int64(1)
	for i := range pk.items {
		it := &pk.items[i]
		align = max(align, it.align)
		sizes = gcd(sizes, it.phase)
		for _, r := range it.runs {
			sizes = gcd(gcd(sizes, r.lo), r.hi)
		}
	}
	if sizes%align == 0 {
		return sizes
	}
	return pk.grain
}

func gcd(x, y int64) int64 {
	for y != 0 {
		x, y = y, x%y
	}
	return x
}

// connect finds which items are near each other.
func (pk *packing) connect(a *analysis, itemOf []int) {
	seen := make([]int, len(pk.items)) // 1 + the item on whose behalf it was seen
	for i := range pk.items {
		it := &pk.items[i]
		for _, m := range it.members {
			for _, e := range a.nodes[m.node].edges {
				k := itemOf[e.to]
				if k < 0 || k == i || seen[k] == i+1 {
					continue
				}
				seen[k] = i + 1
				it.near = append(it.near, pk.distance(i, k))
			}
		}
		slices.SortFunc(it.near, func(x, y near) int { return cmp.Compare(x.to, y.to) })
	}
}

// distance returns how far apart two items are that meet.
func (pk *packing) distance(i, k int) near {
	nr := near{to: k}
	x, y := pk.items[i].runs, pk.items[k].runs
	for len(x) > 0 && len(y) > 0 {
		if x[0].first <= y[0].last && y[0].first <= x[0].last {
			nr.over = max(nr.over, x[0].hi-y[0].lo)
			nr.under = max(nr.under, y[0].hi-x[0].lo)
		}
		if x[0].last < y[0].last {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return nr
}

// bound finds what runs take, and sets lower: in each section all that are alive
// lie one over the other, and so do items of which each meets each other. Behind
// each there is room up to the next place, but not behind the last.
func (pk *packing) bound() {
	sum, spare := make([]int64, pk.sections), make([]int64, pk.sections)
	for i := range pk.items {
		it := &pk.items[i]
		pk.lower = max(pk.lower, it.phase+it.height)
		for k := range it.runs {
			r := &it.runs[k]
			r.bytes = roundUp(r.hi-r.lo, pk.grain)
			for s := r.first; s <= r.last; s++ {
				sum[s] += r.bytes
				spare[s] = max(spare[s], r.bytes-(r.hi-r.lo))
			}
		}
	}
	for s := range sum {
		pk.lower = max(pk.lower, sum[s]-spare[s])
	}
	for i := range pk.items {
		if len(pk.items[i].runs) > 1 { // those without gaps that all meet do so in one section
			pk.lower = max(pk.lower, pk.clique(i))
		}
	}
}

// mostMet bounds how many items are looked at for a clique, whose cost grows with the square.
const mostMet = 64

// clique returns what an item takes with others of which each meets each other: the largest
// that are near it come first.
func (pk *packing) clique(first int) int64 {
	always := func(i int) int64 { // the bytes that it holds in all its sections
		it := &pk.items[i]
		lo, hi := int64(0), it.height
		for _, r := range it.runs {
			lo, hi = max(lo, r.lo), min(hi, r.hi)
		}
		return max(hi-lo, 0)
	}
	others := slices.Clone(pk.items[first].near)
	slices.SortStableFunc(others, func(x, y near) int {
		return cmp.Compare(always(y.to), always(x.to))
	})
	clique := []int{first}
	for _, o := range others[:min(len(others), mostMet)] {
		if !slices.ContainsFunc(clique[1:], func(k int) bool { return !pk.items[k].meets(o.to) }) {
			clique = append(clique, o.to)
		}
	}
	var sum, spare int64
	for _, i := range clique {
		bytes := roundUp(always(i), pk.grain)
		sum, spare = sum+bytes, max(spare, bytes-always(i))
	}
	return sum - spare
}

// meets reports whether an item is alive in a section in which another is.
func (it *item) meets(k int) bool {
	_, met := slices.BinarySearchFunc(it.near, k, func(nr near, k int) int {
		return cmp.Compare(nr.to, k)
	})
	return met
}
