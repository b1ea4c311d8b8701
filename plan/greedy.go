package plan

import (
	"cmp"
	"slices"
)

// Greedy places buffers by descending size, each at the lowest offset that is
// free of conflicts, or in place over a share partner (one already placed, or
// to be reached through a chain of partners still to be placed) if that makes
// the whole no larger. Where very many buffers are in conflict it is a sweep over the
// program instead, as Best is.
type Greedy struct{}

// Plan implements Planner.
func (Greedy) Plan(p *Problem) (*Plan, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	if !a.connect(a.mostConflicts()) {
		return a.swept(), nil
	}
	pl := newPlacer(a.nodes)
	pl.run(bySize(a.nodes, allNodes(a.nodes)), lowestFit)
	return a.plan(pl.offsets), nil
}

func allNodes(nodes []node) []int {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	return order
}

// bySize sorts by descending size; of equal ones the first defined comes first,
// so that chains of in-place steps are met in their order.
func bySize(nodes []node, order []int) []int {
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(nodes[j].size, nodes[i].size), cmp.Compare(start(nodes[i]),
			start(nodes[j])))
	})
	return order
}

// start is the first step of a node's life, -1 if nothing touches it.
func start(n node) int {
	if len(n.live) == 0 {
		return -1
	}
	return n.live[0].First
}

// fit is how a gap is chosen.
type fit int

const (
	lowestFit   fit = iota // the lowest gap that is wide enough
	tightestFit            // the narrowest one, open space above all only if there is none
)

// placer places nodes one after another.
type placer struct {
	nodes   []node
	offsets []int64 // -1: not placed yet
	size    []int64 // so far, by memory

	blocks  []block
	reached []int // 1 + the node on whose behalf the chain search got here
	queue   []hint
}

// block is a range of bytes in use.
type block struct{ from, to int64 }

// hint is a node found by the chain search, with the offset at which the node to
// be placed would start, counted from the offset of this one.
type hint struct {
	node  int
	delta int64
}

func newPlacer(nodes []node) *placer {
	return &placer{nodes: nodes, offsets: make([]int64, len(nodes)),
		size:    make([]int64, memoriesOf(nodes)),
		reached: make([]int, len(nodes))}
}

// run places the nodes of order and no others. Those with conflicts among them
// must all be in it.
func (pl *placer) run(order []int, f fit) {
	for i := range pl.offsets {
		pl.offsets[i] = -1
	}
	clear(pl.size)
	clear(pl.reached)
	for _, i := range order {
		pl.put(i, pl.choose(i, f))
	}
}

// choose returns the offset for node i: in place if possible and not worse.
func (pl *placer) choose(i int, f fit) int64 {
	n := &pl.nodes[i]
	if n.size == 0 {
		return 0
	}
	free := pl.gap(i, f)
	limit := max(pl.size[n.memory], free+n.size)
	if at := pl.inPlace(i, limit); at >= 0 {
		return at
	}
	return free
}

// gap finds room for node i clear of all placed neighbours.
func (pl *placer) gap(i int, f fit) int64 {
	n := &pl.nodes[i]
	pl.blocks = pl.blocks[:0]
	for _, e := range n.edges {
		if at := pl.offsets[e.to]; at >= 0 {
			pl.blocks = append(pl.blocks, block{at, at + pl.nodes[e.to].size})
		}
	}
	slices.SortFunc(pl.blocks, func(x, y block) int { return cmp.Compare(x.from, y.from) })
	var end int64
	best, width := int64(-1), int64(0)
	for _, b := range pl.blocks {
		at := alignUp(end, n.align)
		if room := b.from - end; at+n.size <= b.from && (best < 0 || room < width) {
			if f == lowestFit {
				return at
			}
			best, width = at, room
		}
		end = max(end, b.to)
	}
	if best >= 0 {
		return best
	}
	return alignUp(end, n.align)
}

// inPlace looks for an offset that makes node i lie over a share partner and
// end at limit or before. It searches along chains of partners, nearest first:
// a→b→c should come to lie at one place also if b is placed last. It returns -1
// if there is none.
func (pl *placer) inPlace(i int, limit int64) int64 {
	n := &pl.nodes[i]
	pl.queue = append(pl.queue[:0], hint{i, 0})
	pl.reached[i] = i + 1
	for k := 0; k < len(pl.queue); k++ {
		h := pl.queue[k]
		for _, e := range pl.nodes[h.node].edges {
			if !e.inPlace || pl.reached[e.to] == i+1 {
				continue
			}
			pl.reached[e.to] = i + 1
			// e.to starts e.delta after h.node, which starts -h.delta after i.
			delta := h.delta - e.delta
			if pl.offsets[e.to] < 0 {
				pl.queue = append(pl.queue, hint{e.to, delta})
				continue
			}
			at := pl.offsets[e.to] + delta
			if at >= 0 && at&(n.align-1) == 0 && at <= limit-n.size && pl.fits(i, at) {
				return at
			}
		}
	}
	return -1
}

// fits reports whether node i may start at the given offset.
func (pl *placer) fits(i int, at int64) bool {
	n := &pl.nodes[i]
	for _, e := range n.edges {
		o := pl.offsets[e.to]
		if o < 0 || o >= at+n.size || at >= o+pl.nodes[e.to].size ||
			(e.inPlace && o == at+e.delta) {
			continue
		}
		return false
	}
	return true
}
