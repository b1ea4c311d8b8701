package pte

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// assignment gives slot to what from holds.
type assignment struct{ to, from *slot }

// assign makes all assignments as if at once: a source that another assignment
// overwrites is copied before that, aside if they go in a circle. Of those that
// may be made the first one is.
func (b *builder) assign(todo []assignment) {
	todo = slices.DeleteFunc(slices.Clone(todo), func(a assignment) bool {
		return sameBytes(a.to, a.from)
	})
	reads := map[*slot]int{}     // of memory, by assignments still to be made
	writers := map[*slot][]int{} // of memory, assignments
	for i, a := range todo {
		reads[a.from.root()]++
		writers[a.to.root()] = append(writers[a.to.root()], i)
	}
	var ready []int // assignments whose memory no other one reads, in order
	done := make([]bool, len(todo))
	look := func(i int) {
		to, others := todo[i].to.root(), 0
		if todo[i].from.root() == to {
			others = 1 // itself
		}
		if at, found := slices.BinarySearch(ready, i); !done[i] && !found && reads[to] == others {
			ready = slices.Insert(ready, at, i)
		}
	}
	unread := func(s *slot) {
		reads[s]--
		for _, i := range writers[s] {
			look(i)
		}
	}
	for i := range todo {
		look(i)
	}
	first := 0 // that is not done
	for range todo {
		for ; done[first]; first++ {
		}
		for len(ready) == 0 {
			aside := b.like(todo[first].from)
			b.copy(aside, todo[first].from)
			from := todo[first].from.root()
			todo[first].from = aside
			reads[aside.root()]++
			unread(from)
		}
		next := ready[0]
		ready, done[next] = ready[1:], true
		b.copy(todo[next].to, todo[next].from)
		unread(todo[next].from.root())
	}
}

// sameBytes reports whether two slots are one, or the same shape of the same
// memory.
func sameBytes(a, b *slot) bool {
	if a.now() == b.now() {
		return true
	}
	return a.tensor != nil && b.tensor != nil && a.root() == b.root() && alike(a.tensor, b.tensor)
}

// like makes a slot of its own for what s holds.
func (b *builder) like(s *slot) *slot {
	if s.tensor != nil {
		return b.tensorSlot(s.name+"_copy", s.tensor.typ)
	}
	return b.number(s.name+"_copy", s.value)
}

// copy emits what gives to the elements, or the number, of from.
func (b *builder) copy(to, from *slot) {
	switch {
	case from.tensor == nil:
		b.emit(&move{from: from, to: to, loc: b.loc})
	case to.tensor.dynamic:
		// copy.out resizes to what it copies, copy_ does not.
		b.emit(&call{
			op: opCopyOut, args: []*slot{from, from, b.literal(pte.Bool(false)), to, to},
			reads: []*slot{from}, writes: []*slot{to}, copies: true, loc: b.loc,
		})
	default:
		c := &call{
			op: opCopyIn, args: []*slot{to, from, b.literal(pte.Bool(false)), to},
			reads: []*slot{from}, writes: []*slot{to}, copies: true, loc: b.loc,
		}
		b.emit(c)
	}
}

// outputs writes back what the method changes and lists what it returns:
// changed inputs first, then the outputs proper.
func (b *builder) outputs() {
	m := b.method
	var writes []assignment
	var changed, returned []*slot
	written := map[*slot]bool{}
	targets := m.MutationTargets()
	for i, target := range targets {
		if target == nil {
			continue
		}
		from := b.arg(m.Graph.Outputs[i], nil)
		to := b.vals[target]
		writes = append(writes, assignment{to: to, from: from})
		written[to] = true
		if m.Outputs[i].Kind == ir.UserInputMutation {
			changed = append(changed, to)
		}
	}
	for i, spec := range m.Outputs {
		if spec.Kind == ir.TokenOutput || targets[i] != nil {
			continue
		}
		s := b.arg(m.Graph.Outputs[i], nil)
		if s.tensor != nil && written[s.root()] {
			// The old value, which is about to be overwritten.
			old := s
			s = b.like(old)
			writes = append(writes, assignment{to: s, from: old})
		}
		returned = append(returned, s)
	}
	b.code.outputs = append(changed, returned...)
	b.assign(writes)
}
