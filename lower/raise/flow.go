package raise

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
)

// block is a run of instructions that is entered at its first and left after
// its last. The last block of a flow is the end of the method; it has none.
type block struct {
	first, end int // instructions first to end-1, the jump at the end left out
	// jump is the instruction that ends the block with two ways on, else -1.
	jump int
	// next holds the ways on: if jump ≥ 0 first where a true condition goes,
	// then where a false one does.
	next []*block
	prev []*block
	rpo  int // position in flow.blocks, which are in reverse postorder
	dom  *block
	loop *loop // the innermost around it
}

// loop is a natural loop.
type loop struct {
	head   *block
	body   map[*block]bool // head included
	blocks []*block        // of body, in reverse postorder
	outer  *loop
	exit   *block // where all ways out lead
}

// flow is the graph of a method's blocks that can be reached.
type flow struct {
	plan   *plan
	blocks []*block // in reverse postorder
	end    *block
	loops  map[*block]*loop // by head
}

// newFlow finds the blocks, dominators and loops of a method. Control flow that
// jumps into the middle of a loop is an error.
func newFlow(p *plan) *flow {
	fixed := p.FixedBools()
	n := len(p.code)
	starts := map[int]*block{0: nil, n: nil}
	for i, x := range p.code {
		if _, ok := x.Instruction.(pte.JumpFalseCall); ok {
			starts[i+1], starts[x.to] = nil, nil
		}
	}
	order := slices.Sorted(maps.Keys(starts))
	for _, s := range order {
		starts[s] = &block{first: s, end: s, jump: -1}
	}
	for k, s := range order[:len(order)-1] {
		b := starts[s]
		b.end = order[k+1]
		last := p.code[b.end-1]
		in, ok := last.Instruction.(pte.JumpFalseCall)
		if !ok {
			b.next = []*block{starts[b.end]}
			continue
		}
		b.end--
		yes, no := starts[b.end+1], starts[last.to]
		switch value, known := fixed[in.Cond]; {
		case known && value, yes == no:
			b.next = []*block{yes}
		case known:
			b.next = []*block{no}
		default:
			b.next, b.jump = []*block{yes, no}, b.end
		}
	}
	f := &flow{plan: p, end: starts[n], loops: map[*block]*loop{}}
	f.sort(starts[0])
	f.findLoops()
	return f
}

// sort puts the blocks reached from entry into reverse postorder, and sets what comes before
// each and its immediate dominator.
func (f *flow) sort(entry *block) {
	f.blocks = reversePostorder(entry, func(b *block) []*block { return b.next })
	for i, b := range f.blocks {
		b.rpo = i
		for _, s := range b.next {
			s.prev = append(s.prev, b)
		}
	}
	dom := dominators(f.blocks, func(b *block) []*block { return b.prev })
	for _, b := range f.blocks {
		b.dom = dom[b]
	}
}

// reversePostorder returns the blocks reached from entry, which comes first.
func reversePostorder(entry *block, next func(*block) []*block) (order []*block) {
	type visit struct {
		b    *block
		next []*block
	}
	seen := map[*block]bool{entry: true}
	stack := []visit{{entry, next(entry)}}
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if len(v.next) == 0 {
			order = append(order, v.b)
			stack = stack[:len(stack)-1]
			continue
		}
		s := v.next[0]
		v.next = v.next[1:]
		if !seen[s] {
			seen[s] = true
			stack = append(stack, visit{s, next(s)})
		}
	}
	slices.Reverse(order)
	return order
}

// dominators returns the immediate dominators of blocks in reverse postorder, that of the
// first is itself: the way of Cooper, Harvey and Kennedy.
func dominators(order []*block, prev func(*block) []*block) map[*block]*block {
	number := map[*block]int{}
	for i, b := range order {
		number[b] = i
	}
	dom := map[*block]*block{order[0]: order[0]}
	for changed := true; changed; {
		changed = false
		for _, b := range order[1:] {
			var d *block
			some := false
			for _, p := range prev(b) {
				if _, known := dom[p]; !known {
					continue
				}
				if !some {
					d, some = p, true
				}
				for d != p {
					if number[d] > number[p] {
						d = dom[d]
					} else {
						p = dom[p]
					}
				}
			}
			if old, known := dom[b]; !known || old != d {
				dom[b], changed = d, true
			}
		}
	}
	return dom
}

func (a *block) dominates(b *block) bool {
	for b.rpo > a.rpo {
		b = b.dom
	}
	return a == b
}

// findLoops finds the natural loops and where they lead.
func (f *flow) findLoops() {
	for _, b := range f.blocks {
		for _, h := range b.next {
			if h.rpo > b.rpo {
				continue
			}
			if !h.dominates(b) {
				must.Fail("%s: a jump into the middle of a loop", f.at(b))
			}
			l := f.loops[h]
			if l == nil {
				l = &loop{head: h, body: map[*block]bool{h: true}}
				f.loops[h] = l
			}
			spread(b, l.body, func(b *block) []*block { return b.prev })
		}
	}
	for _, b := range f.blocks { // heads of outer loops come first
		if l := f.loops[b]; l != nil {
			l.outer = b.loop
			for x := range l.body {
				x.loop = l
			}
		}
	}
	for _, b := range f.blocks {
		for l := b.loop; l != nil; l = l.outer {
			l.blocks = append(l.blocks, b)
		}
	}
	for _, b := range f.blocks {
		l := f.loops[b]
		if l == nil {
			continue
		}
		for _, x := range l.blocks {
			for _, s := range x.next {
				switch {
				case l.body[s]:
				case l.exit != nil && l.exit != s:
					must.Fail("%s: a loop that is left to different places", f.at(b))
				default:
					l.exit = s
				}
			}
		}
		if l.exit == nil {
			must.Fail("%s: a loop that never ends", f.at(b))
		}
		if l.outer != nil && !l.outer.body[l.exit] && l.exit != l.outer.exit {
			must.Fail("%s: a loop that is left to different places", f.at(b))
		}
	}
}

// spread adds to seen what ways lead to from b on, as far as blocks that it has.
func spread(b *block, seen map[*block]bool, ways func(*block) []*block) {
	todo := []*block{b}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[b] {
			seen[b] = true
			todo = append(todo, ways(b)...)
		}
	}
}

// at names the last instruction of a block.
func (f *flow) at(b *block) string {
	switch {
	case b.jump >= 0:
		return f.plan.describe(b.jump)
	case b.end < len(f.plan.code) && b.end >= b.first:
		return f.plan.describe(b.end)
	}
	return "the end"
}

// area is a part of the flow that is raised as one graph: a whole method or the
// body of a loop. Ways out of it, and for a loop those back to its head, lead
// to nil.
type area struct {
	in    map[*block]bool // nil: everything but the end
	head  *block          // of a loop
	end   *block          // of a method
	merge map[*block]*block
	// flag, if not 0, is the scalar in which the body of a loop notes whether it
	// goes on. No value of the plan has a negative number.
	flag int32
}

// on returns where a way leads within the area.
func (a *area) on(s *block) *block {
	if s == a.head || s == a.end || a.in != nil && !a.in[s] {
		return nil
	}
	return s
}

// next returns where the ways from b lead within the area.
func (a *area) next(b *block) (list []*block) {
	return seq.Map(b.next, a.on)
}

// newArea finds for every block of an area where all ways from it meet again:
// its immediate postdominator, nil if that is the end of the area.
func (f *flow) newArea(l *loop) *area {
	a, blocks := &area{}, f.blocks
	if l == nil {
		a.end = f.end
	} else {
		a.in, a.head, blocks = l.body, l.head, l.blocks
	}
	// Where ways meet is what dominates, from the end backwards; nil stands for the end.
	before := map[*block][]*block{}
	for _, b := range blocks {
		if b != a.end {
			for _, s := range a.next(b) {
				before[s] = append(before[s], b)
			}
		}
	}
	order := reversePostorder(nil, func(b *block) []*block { return before[b] })
	a.merge = dominators(order, a.next)
	return a
}
