package raise

import (
	"slices"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// block is a run of instructions that is entered at its first and left after
// its last. The last block of a flow is the end of the method; it has none.
type block struct {
	id         int // position in flow.blocks
	first, end int // instructions first to end-1, the jump at the end left out
	// jump is the instruction that ends the block with two ways on, else -1.
	jump int
	// next holds the ways on: if jump ≥ 0 first where a true condition goes,
	// then where a false one does.
	next []*block
	prev []*block
	rpo  int // position in reverse postorder
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
	order := make([]int, 0, len(starts))
	for s := range starts {
		order = append(order, s)
	}
	slices.Sort(order)
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
	f.dominate()
	f.findLoops()
	return f
}

// sort puts the blocks reached from entry into reverse postorder.
func (f *flow) sort(entry *block) {
	type visit struct {
		b    *block
		next int
	}
	seen := map[*block]bool{entry: true}
	stack := []visit{{b: entry}}
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if v.next == len(v.b.next) {
			f.blocks = append(f.blocks, v.b)
			stack = stack[:len(stack)-1]
			continue
		}
		s := v.b.next[v.next]
		v.next++
		if !seen[s] {
			seen[s] = true
			stack = append(stack, visit{b: s})
		}
	}
	slices.Reverse(f.blocks)
	for i, b := range f.blocks {
		b.rpo, b.id = i, i
	}
	for _, b := range f.blocks {
		for _, s := range b.next {
			s.prev = append(s.prev, b)
		}
	}
}

// dominate sets every block's immediate dominator.
func (f *flow) dominate() {
	entry := f.blocks[0]
	entry.dom = entry
	for changed := true; changed; {
		changed = false
		for _, b := range f.blocks[1:] {
			var d *block
			for _, p := range b.prev {
				if p.dom == nil {
					continue
				}
				if d == nil {
					d = p
				} else {
					d = common(d, p)
				}
			}
			if b.dom != d {
				b.dom, changed = d, true
			}
		}
	}
}

func common(a, b *block) *block {
	for a != b {
		for a.rpo > b.rpo {
			a = a.dom
		}
		for b.rpo > a.rpo {
			b = b.dom
		}
	}
	return a
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
				ops.Fail("%s: a jump into the middle of a loop", f.at(b))
			}
			l := f.loops[h]
			if l == nil {
				l = &loop{head: h, body: map[*block]bool{h: true}}
				f.loops[h] = l
			}
			l.add(b)
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
					ops.Fail("%s: a loop that is left to different places", f.at(b))
				default:
					l.exit = s
				}
			}
		}
		if l.exit == nil {
			ops.Fail("%s: a loop that never ends", f.at(b))
		}
		if l.outer != nil && !l.outer.body[l.exit] && l.exit != l.outer.exit {
			ops.Fail("%s: a loop that is left to different places", f.at(b))
		}
	}
}

// add brings a block that leads back to the head into the loop, and what leads
// to it.
func (l *loop) add(b *block) {
	todo := []*block{b}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l.body[b] {
			continue
		}
		l.body[b] = true
		todo = append(todo, b.prev...)
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

// newArea finds for every block of an area where all ways from it meet again:
// its immediate postdominator, nil if that is the end of the area.
func (f *flow) newArea(l *loop) *area {
	a, blocks := &area{merge: map[*block]*block{}}, f.blocks
	if l == nil {
		a.end = f.end
	} else {
		a.in, a.head, blocks = l.body, l.head, l.blocks
	}
	// The way of Cooper, Harvey and Kennedy: from the end backwards, until nothing
	// changes; nil stands for the end.
	before := map[*block][]*block{}
	for _, b := range blocks {
		if b == a.end {
			continue
		}
		for _, s := range b.next {
			s = a.on(s)
			before[s] = append(before[s], b)
		}
	}
	number := map[*block]int{} // in postorder, from 1 on
	var order []*block
	seen := map[*block]bool{nil: true}
	var visit func(b *block)
	visit = func(b *block) {
		for _, p := range before[b] {
			if !seen[p] {
				seen[p] = true
				visit(p)
			}
		}
		order = append(order, b)
		number[b] = len(order)
	}
	visit(nil)
	known := map[*block]bool{nil: true}
	nearest := func(x, y *block) *block {
		for x != y {
			if number[x] < number[y] {
				x = a.merge[x]
			} else {
				y = a.merge[y]
			}
		}
		return x
	}
	for changed := true; changed; {
		changed = false
		for _, b := range slices.Backward(order[:len(order)-1]) {
			var meet *block
			some := false
			for _, s := range b.next {
				s = a.on(s)
				switch {
				case !known[s]:
				case !some:
					meet, some = s, true
				default:
					meet = nearest(meet, s)
				}
			}
			if !known[b] || a.merge[b] != meet {
				a.merge[b], known[b], changed = meet, true, true
			}
		}
	}
	return a
}
