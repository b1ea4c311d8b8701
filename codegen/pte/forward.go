package pte

import (
	"slices"
)

// forward removes copies to → from whose source can be made in its
// destination's memory. That holds if
//
//   - the source's memory is scratch that one call in the copy's block writes,
//     the whole of it, and that call does not read the destination;
//   - between that call and the copy nobody touches the destination;
//   - after the copy nobody writes the destination as long as the source is
//     read: here, never if it is read at all.
//
// A source in a block of a loop is written again before it is read again, so
// that only what follows within the program text counts.
//
// A copy that goes may let another one go, before it or behind it.
func forward(c *code) {
	u := usesOf(c)
	for u.forwardIn(&c.block) {
	}
}

// touch is a place in the program text where a root's memory is used.
type touch struct {
	at   int // position in the text
	call *call
}

// uses are the touches of all roots.
type uses struct {
	reads, writes map[*slot][]touch
	// at are the positions of items; of an item with blocks that of its first
	// instruction.
	at  map[item]int
	in  map[item]int // the blocks that items are in, by number
	end int

	blocks int
	// held are roots that the caller sees, returned those it gets.
	held, returned map[*slot]bool
}

func usesOf(c *code) *uses {
	u := &uses{
		reads: map[*slot][]touch{}, writes: map[*slot][]touch{}, at: map[item]int{},
		in:   map[item]int{},
		held: map[*slot]bool{}, returned: map[*slot]bool{},
	}
	for _, s := range c.held {
		u.held[s.root()] = true
	}
	u.block(c.block)
	for _, s := range c.outputs {
		if s.tensor != nil {
			u.returned[s.root()] = true
			u.read(s, nil)
		}
	}
	return u
}

func (u *uses) read(s *slot, c *call)  { u.add(u.reads, s, c) }
func (u *uses) write(s *slot, c *call) { u.add(u.writes, s, c) }
func (u *uses) add(m map[*slot][]touch, s *slot, c *call) {
	r := s.root()
	m[r] = append(m[r], touch{at: u.end, call: c})
}

func (u *uses) block(items []item) {
	u.blocks++
	block := u.blocks
	for _, it := range items {
		u.at[it], u.in[it] = u.end, block
		switch it := it.(type) {
		case *call:
			for _, s := range it.reads {
				u.read(s, it)
			}
			for _, s := range it.writes {
				u.write(s, it)
			}
		case *branch:
			if it.cond.tensor != nil {
				u.read(it.cond, nil)
			}
			u.end++
			u.block(it.then)
			u.block(it.other)
		case *loop:
			u.block(it.test)
			if it.cond.tensor != nil {
				u.read(it.cond, nil)
			}
			u.end++
			u.block(it.body)
		}
		u.end++
	}
}

// forwardIn removes copies from a block and those below it, and reports whether
// there were any.
func (u *uses) forwardIn(items *[]item) bool {
	some := false
	kept := (*items)[:0]
	for _, it := range *items {
		switch it := it.(type) {
		case *branch:
			some = u.forwardIn(&it.then) || some
			some = u.forwardIn(&it.other) || some
		case *loop:
			some = u.forwardIn(&it.test) || some
			some = u.forwardIn(&it.body) || some
		case *call:
			if it.copies && u.canForward(it) {
				u.merge(it)
				some = true
				continue
			}
		}
		kept = append(kept, it)
	}
	clear((*items)[len(kept):])
	*items = kept
	return some
}

// merge makes the source of copy c one with its destination, and c none of the
// uses.
func (u *uses) merge(c *call) {
	to, from := c.writes[0].now(), c.reads[0].now()
	src, dst := from.root(), to.root()
	if src != from {
		src.tensor.of = to
	}
	from.merged = to
	for _, m := range []map[*slot][]touch{u.reads, u.writes} {
		all := append(m[dst], m[src]...)
		delete(m, src)
		m[dst] = slices.DeleteFunc(all, func(t touch) bool { return t.call == c })
	}
	u.returned[dst] = u.returned[dst] || u.returned[src]
}

// canForward reports whether the source of copy c can be made in place of its
// destination.
func (u *uses) canForward(c *call) bool {
	to, from := c.writes[0].now(), c.reads[0].now()
	src, dst := from.root(), to.root()
	switch {
	case src == dst, dst != to, !alike(to.tensor, from.tensor):
		return false
	case src.tensor.role != scratch, u.held[src], src.tensor.dynamic != from.tensor.dynamic:
		return false
	case u.held[dst] && u.returned[src]:
		return false // what is returned must not be state
	case src.tensor.bytes > dst.tensor.bytes:
		return false
	case len(u.writes[src]) != 1:
		return false
	case src != from && (u.held[dst] || len(u.writes[dst]) != 1):
		// Made through another slot than where others make it, the destination
		// would hold now what its own slot wrote, now what lies beneath it.
		return false
	}
	def := u.writes[src][0]
	switch {
	case def.call == nil, def.call.copies, u.in[def.call] != u.in[c]:
		return false
	case def.call.delegate != nil && (u.held[dst] || len(u.writes[dst]) != 1):
		// A program does not say which arguments are results of a delegate. Those that nobody else
		// fills can only be results.
		return false
	}
	at := u.at[c]
	for _, t := range u.reads[src] {
		if t.call == def.call {
			return false // it updates what it writes
		}
	}
	for _, t := range slices.Concat(u.reads[dst], u.writes[dst]) {
		if t.call != c && t.at >= def.at && t.at <= at {
			return false
		}
	}
	readLater := slices.ContainsFunc(u.reads[src], func(t touch) bool { return t.at > at })
	writtenLater := slices.ContainsFunc(u.writes[dst], func(t touch) bool { return t.at > at })
	return !readLater || !writtenLater
}
