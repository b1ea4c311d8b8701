package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// unlimited connects all pairs.
const unlimited = math.MaxInt

// node is a buffer to be placed: a root.
type node struct {
	id     BufferID
	size   int64
	align  int64 // strictest of the root and its views
	memory int
	live   []Span
	edges  []edge // the nodes it may not overlap freely, in order of index; see connect
}

// memoriesOf is how many memories nodes are in, at least one.
func memoriesOf(nodes []node) int {
	memories := 1
	for i := range nodes {
		memories = max(memories, nodes[i].memory+1)
	}
	return memories
}

// edge leads to a node of the same memory whose lifetime meets. The two must be
// disjoint, except that, if inPlace, the other one may instead start exactly
// delta bytes after this one.
type edge struct {
	to      int
	inPlace bool
	delta   int64
}

// pairing is a permitted in-place pair at one of the steps at which both lives
// meet.
type pairing struct {
	step     int
	dst, src int   // nodes
	delta    int64 // where src starts, counted from dst's start
}

// analysis is what the planners know of a problem.
type analysis struct {
	problem *Problem
	steps   int // of the problem
	nodes   []node
	pairs   []pairing // those that are permitted, by step, dst, src

	permitted map[pairKey][]pairing
}

// analyse validates the problem and finds lifetimes and what may be in place.
func analyse(p *Problem) (*analysis, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	a := &analysis{problem: p, steps: p.regions()[0].Last + 1}
	touches := p.touches()
	nodeOf := make([]int, len(p.Buffers))
	live := &liveness{program: newProgram(p.regions())}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		nodeOf[i] = -1
		if b.Alias != nil {
			continue
		}
		spans, err := live.spans(b.Region, touches[i])
		if err != nil {
			return nil, fmt.Errorf("plan: %s: %w", p.label(BufferID(i)), err)
		}
		nodeOf[i] = len(a.nodes)
		a.nodes = append(a.nodes, node{id: BufferID(i), size: b.Size, align: max(b.Align, 1),
			memory: b.Memory, live: spans})
	}
	for i := range p.Buffers {
		// View offsets are multiples of the view's alignment, so aligning
		// the root aligns the view.
		root, _ := p.Root(BufferID(i))
		n := &a.nodes[nodeOf[root]]
		n.align = max(n.align, p.Buffers[i].Align)
	}
	a.permit(a.safeShares(touches, nodeOf))
	return a, nil
}

// pairKey is an unordered pair of nodes.
type pairKey struct{ low, high int }

func keyOf(i, j int) pairKey { return pairKey{min(i, j), max(i, j)} }

// safeShares returns the shares that are harmless at their own step. It is the
// last to want Src's root, so nothing is lost; it touches both roots through the
// named buffers alone, so nothing but the pair itself, of which the kernel has
// given its word, meets in memory. That Dst's root holds nothing yet when Src's
// does need not be asked here: on a path where both do, they also meet at the
// earlier step that wrote the later of the two, and coversMeeting finds that.
func (a *analysis) safeShares(touches [][]touch, nodeOf []int) map[pairKey][]pairing {
	p := a.problem
	find := func(id BufferID, step int) touch {
		i, _ := slices.BinarySearchFunc(touches[id], step, func(t touch, s int) int {
			return t.step - s
		})
		return touches[id][i] // validateShare has seen to it that there is one
	}
	shares := make(map[pairKey][]pairing)
	for _, s := range p.Shares {
		dstRoot, dstOff := p.Root(s.Dst)
		srcRoot, srcOff := p.Root(s.Src)
		dst, src := nodeOf[dstRoot], nodeOf[srcRoot]
		if dst == src || p.Buffers[s.Dst].Size == 0 ||
			p.Buffers[s.Src].Size == 0 {
			continue
		}
		d, r := find(dstRoot, s.Step), find(srcRoot, s.Step)
		if r.writes || r.liveAfter || d.only != s.Dst || r.only != s.Src {
			continue
		}
		pr := pairing{step: s.Step, dst: dst, src: src, delta: dstOff - srcOff}
		key := keyOf(dst, src)
		if !slices.Contains(shares[key], pr) {
			shares[key] = append(shares[key], pr)
		}
	}
	return shares
}

// permit keeps the shares that let two nodes lie in one place.
func (a *analysis) permit(shares map[pairKey][]pairing) {
	a.permitted = map[pairKey][]pairing{}
	for key, pairs := range shares {
		x, y := &a.nodes[key.low], &a.nodes[key.high]
		if x.memory == y.memory && coversMeeting(x.live, y.live, pairs) {
			a.permitted[key] = pairs
			a.pairs = append(a.pairs, pairs...)
		}
	}
	slices.SortFunc(a.pairs, func(x, y pairing) int {
		return cmp.Or(x.step-y.step, x.dst-y.dst, x.src-y.src)
	})
}

// connect finds the edges: it connects all nodes whose lifetimes meet. It gives
// up, and reports false, if there are more than most pairs of these.
func (a *analysis) connect(most int) bool {
	type nodeSpan struct {
		Span
		node int
	}
	var spans []nodeSpan
	for i, n := range a.nodes {
		if n.size == 0 {
			continue // covers no byte, so it conflicts with nothing
		}
		for _, s := range n.live {
			spans = append(spans, nodeSpan{s, i})
		}
	}
	slices.SortStableFunc(spans, func(x, y nodeSpan) int { return cmp.Compare(x.First, y.First) })
	each := func(f func(x, y int)) bool {
		var active []nodeSpan
		left := most
		for _, s := range spans {
			active = slices.DeleteFunc(active, func(o nodeSpan) bool { return o.Last < s.First })
			if left -= len(active); left < 0 {
				return false
			}
			for _, o := range active {
				if o.node != s.node && a.nodes[o.node].memory == a.nodes[s.node].memory {
					f(s.node, o.node)
				}
			}
			active = append(active, s)
		}
		return true
	}
	count := make([]int, len(a.nodes))
	if !each(func(x, y int) { count[x], count[y] = count[x]+1, count[y]+1 }) {
		return false
	}
	met := make([][]int, len(a.nodes))
	for i, n := range count {
		met[i] = make([]int, 0, n)
	}
	each(func(x, y int) { met[x], met[y] = append(met[x], y), append(met[y], x) })
	for i := range a.nodes {
		slices.Sort(met[i])
		others := slices.Compact(met[i])
		a.nodes[i].edges = make([]edge, 0, len(others))
		for _, j := range others {
			e := edge{to: j}
			if pairs := a.permitted[keyOf(i, j)]; pairs != nil {
				e.inPlace, e.delta = true, pairs[0].delta
				if pairs[0].dst != i {
					e.delta = -e.delta
				}
			}
			a.nodes[i].edges = append(a.nodes[i].edges, e)
		}
	}
	return true
}

// coversMeeting reports whether x and y meet only at steps of the pairings, and
// these agree on the distance between the two. Several pairings are the rule
// for a result that both arms of a Cond write, and for carried values, where
// each of the two is written over the other.
func coversMeeting(x, y []Span, pairs []pairing) bool {
	if len(pairs) == 0 {
		return false
	}
	distance := func(p pairing) int64 { // from the node with the lower index
		if p.dst < p.src {
			return p.delta
		}
		return -p.delta
	}
	for _, p := range pairs[1:] {
		if distance(p) != distance(pairs[0]) {
			return false
		}
	}
	meeting := 0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		if first, last := max(x[i].First, y[j].First), min(x[i].Last, y[j].Last); first <= last {
			meeting += last - first + 1
		}
		if x[i].Last < y[j].Last {
			i++
		} else {
			j++
		}
	}
	// Each pairing's step touches both and so is one at which they meet.
	return meeting == len(pairs)
}
