package plan

import "slices"

// follow executes the program abstractly: it carries a cell per root buffer
// through the region tree, joining where paths join. What comes round a loop's
// back edge is kept from one round to the next; cells only ever gain facts, so
// after finitely many rounds nothing changes, and the last round reports.
func (c *checker) follow() {
	c.children = make([][]int, len(c.regions))
	for i, r := range c.regions[1:] {
		c.children[r.Parent] = append(c.children[r.Parent], i+1)
	}
	c.local = make([][]BufferID, len(c.regions))
	for i, b := range c.problem.Buffers {
		if b.Alias == nil && !b.External {
			c.local[b.Region] = append(c.local[b.Region], BufferID(i))
		}
	}
	c.back = make([][]cell, len(c.regions))
	for {
		c.changed = false
		c.region(0, make([]cell, len(c.problem.Buffers)))
		if c.final {
			return
		}
		c.final = !c.changed
	}
}

// join adds to the facts of into those of from and reports whether it gained any.
func join(into, from []cell) bool {
	gained := false
	for i, f := range from {
		t := &into[i]
		if f.written && !t.written {
			t.written, gained = true, true
		}
		if f.destroyed && !t.destroyed {
			t.destroyed, t.step, t.by, gained = true, f.step, f.by, true
		}
	}
	return gained
}

// region runs region r on the cells, in place.
func (c *checker) region(r int, cells []cell) {
	reg := c.regions[r]
	if reg.Kind == Loop {
		if c.back[r] == nil {
			c.back[r] = make([]cell, len(cells))
		}
		join(cells, c.back[r])
	}
	outside := slices.Clone(cells) // for a Loop left before its first item
	for _, b := range c.local[r] {
		cells[b] = cell{}
	}
	if reg.Kind == Cond {
		in := slices.Clone(cells)
		for k, arm := range c.children[r] {
			if k == 0 {
				c.region(arm, cells)
				continue
			}
			other := slices.Clone(in)
			c.region(arm, other)
			join(cells, other)
		}
		return
	}
	s, leave := reg.First, outside
	for _, child := range c.children[r] {
		sub := c.regions[child]
		for ; s < sub.First; s++ {
			c.step(s, cells)
		}
		c.region(child, cells)
		s = sub.Last + 1
		if sub.Kind == Test {
			leave = slices.Clone(cells)
		}
	}
	for ; s <= reg.Last; s++ {
		c.step(s, cells)
	}
	if reg.Kind == Loop {
		if join(c.back[r], cells) {
			c.changed = true
		}
		copy(cells, leave)
	}
}

// step runs step s: first its reads must find what was written, then its writes
// destroy whatever else lies where they fall.
func (c *checker) step(s int, cells []cell) {
	act := c.actions[s]
	p := c.problem
	for _, id := range act.reads {
		root := c.root[id]
		if p.Buffers[root].External || p.Buffers[root].Size == 0 {
			continue
		}
		if !cells[root].written && c.final && !slices.ContainsFunc(act.writes, func(w BufferID) bool { return c.root[w] == root }) {
			c.fault("step %d reads %s, to which nothing was written", s, p.label(id))
		}
		c.intact(s, id, cells[root])
	}
	for _, id := range act.writes {
		if root := c.root[id]; p.Buffers[id].Size < p.Buffers[root].Size {
			c.intact(s, root, cells[root]) // the rest of the root is kept
		}
	}
	for _, id := range act.writes {
		for _, hit := range c.meets[c.root[id]] {
			if t := &cells[hit]; t.written && !t.destroyed {
				t.destroyed, t.step, t.by = true, s, id
			}
		}
	}
	// Two roots written in one step do not overlap: together has seen to it.
	for _, id := range act.writes {
		root := c.root[id]
		whole := p.Buffers[id].Size == p.Buffers[root].Size &&
			!slices.ContainsFunc(act.reads, func(r BufferID) bool { return c.root[r] == root })
		if whole {
			cells[root] = cell{}
		}
		cells[root].written = true
	}
}

func (c *checker) intact(s int, id BufferID, t cell) {
	if t.destroyed && c.final {
		c.fault("step %d reads %s, which step %d may have overwritten through %s",
			s, c.problem.label(id), t.step, c.problem.label(t.by))
	}
}
