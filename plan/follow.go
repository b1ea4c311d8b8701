package plan

import (
	"cmp"
	"slices"
)

// follow executes the program abstractly: it carries a cell per root buffer
// through the region tree, joining where paths join. What comes round a loop's
// back edge is kept from one round to the next; cells only ever gain facts, so
// after finitely many rounds nothing changes, and the last round reports.
//
// There is one set of cells, and a log of what was changed: a path is left by
// going back in it. So the work grows with what steps do, not with that times
// the number of buffers.
func (c *checker) follow() {
	c.children = make([][]int, len(c.regions))
	for i, r := range c.regions[1:] {
		c.children[r.Parent] = append(c.children[r.Parent], i+1)
	}
	c.local = make([][]BufferID, len(c.regions))
	for i, b := range c.problem.Buffers {
		if b.Alias == nil {
			c.local[b.Region] = append(c.local[b.Region], BufferID(i))
		}
	}
	c.findEnds()
	c.back = make([]facts, len(c.regions))
	c.listed = make([]int, len(c.problem.Buffers))
	for {
		c.changed = false
		c.cells, c.log = make([]cell, len(c.problem.Buffers)), nil
		c.intact = newIntact(c.problem, c.plan)
		c.region(0)
		if c.final {
			return
		}
		c.final = !c.changed
	}
}

// findEnds finds for each root the region behind which no step touches it: the
// smallest that it is touched in, or the outermost loop around that.
func (c *checker) findEnds() {
	c.ending = make([][]BufferID, len(c.regions))
	first, last := make([]int, len(c.root)), make([]int, len(c.root))
	for i := range last {
		first[i], last[i] = len(c.actions), -1
	}
	for s, act := range c.actions {
		for _, list := range [][]BufferID{act.reads, act.writes} {
			for _, id := range list {
				root := c.root[id]
				first[root], last[root] = min(first[root], s), s
			}
		}
	}
	for root, end := range last {
		if end < 0 {
			continue
		}
		r := 0
		for c.regions[r].Kind != Loop {
			k, _ := slices.BinarySearchFunc(c.children[r], end, func(child, end int) int {
				return cmp.Compare(c.regions[child].Last, end)
			})
			if k == len(c.children[r]) || c.regions[c.children[r][k]].First > first[root] {
				break
			}
			r = c.children[r][k]
		}
		c.ending[r] = append(c.ending[r], BufferID(root))
	}
}

// fact is the cell of a root that a part of the program changes.
type fact struct {
	root BufferID
	cell cell
}

// facts are cells by root.
type facts map[BufferID]cell

// change is an entry of the log.
type change struct {
	root BufferID
	was  cell
}

// set changes a cell.
func (c *checker) set(root BufferID, to cell) {
	if was := c.cells[root]; was != to {
		c.log = append(c.log, change{root, was})
		c.cells[root] = to
		c.intact.set(root, to.written && !to.destroyed)
	}
}

// since returns the cells that were changed since the log had mark entries, each
// once.
func (c *checker) since(mark int) (list []fact) {
	c.asked++
	for _, ch := range c.log[mark:] {
		if c.listed[ch.root] != c.asked {
			c.listed[ch.root] = c.asked
			list = append(list, fact{ch.root, c.cells[ch.root]})
		}
	}
	return list
}

// undo goes back to where the log had mark entries.
func (c *checker) undo(mark int) {
	for _, ch := range slices.Backward(c.log[mark:]) {
		c.cells[ch.root] = ch.was
		c.intact.set(ch.root, ch.was.written && !ch.was.destroyed)
	}
	c.log = c.log[:mark]
}

// join returns what is known of a cell where two paths meet.
func join(t, f cell) cell {
	t.written = t.written || f.written
	if f.destroyed && !t.destroyed {
		t.destroyed, t.step, t.by = true, f.step, f.by
	}
	return t
}

// region runs region r. What ends with it is nothing to what follows.
func (c *checker) region(r int) {
	defer func() {
		for _, root := range c.ending[r] {
			c.set(root, cell{})
		}
	}()
	reg := c.regions[r]
	if reg.Kind == Loop {
		for root, f := range c.back[r] {
			c.set(root, join(c.cells[root], f))
		}
	}
	before := len(c.log) // for a Loop left before its first item
	for _, b := range c.local[r] {
		c.set(b, cell{})
	}
	if reg.Kind == Cond {
		c.arms(c.children[r])
		return
	}
	s, leave := reg.First, []fact(nil)
	for _, child := range c.children[r] {
		sub := c.regions[child]
		for ; s < sub.First; s++ {
			c.step(s)
		}
		c.region(child)
		s = sub.Last + 1
		if sub.Kind == Test {
			leave = c.since(before)
		}
	}
	for ; s <= reg.Last; s++ {
		c.step(s)
	}
	if reg.Kind != Loop {
		return
	}
	if c.back[r] == nil {
		c.back[r] = facts{}
	}
	for _, f := range c.since(before) {
		was := c.back[r][f.root]
		if to := join(was, f.cell); to != was {
			c.back[r][f.root] = to
			c.changed = true
		}
	}
	c.undo(before)
	for _, f := range leave {
		c.set(f.root, f.cell)
	}
}

// arms runs regions of which one is run.
func (c *checker) arms(regions []int) {
	mark := len(c.log)
	after := make([]facts, len(regions))
	for i, arm := range regions {
		c.region(arm)
		after[i] = facts{}
		for _, f := range c.since(mark) {
			after[i][f.root] = f.cell
		}
		c.undo(mark)
	}
	joined := facts{}
	for _, f := range after {
		for root := range f {
			if _, done := joined[root]; done {
				continue
			}
			for i, arm := range after {
				t, ok := arm[root]
				if !ok {
					t = c.cells[root]
				}
				if i > 0 {
					t = join(joined[root], t)
				}
				joined[root] = t
			}
		}
	}
	for root, f := range joined {
		c.set(root, f)
	}
}

// step runs step s: first its reads must find what was written, then its writes
// destroy whatever else lies where they fall.
func (c *checker) step(s int) {
	act := c.actions[s]
	p := c.problem
	touches := func(list []BufferID, root BufferID) bool {
		return slices.ContainsFunc(list, func(id BufferID) bool { return c.root[id] == root })
	}
	for _, id := range act.reads {
		root := c.root[id]
		if p.Buffers[root].Size == 0 {
			continue
		}
		if !c.cells[root].written && c.final && !touches(act.writes, root) {
			c.fault("step %d reads %s, to which nothing was written", s, p.label(id))
		}
		c.whole(s, id, c.cells[root])
	}
	for _, id := range act.writes {
		if root := c.root[id]; p.Buffers[id].Size < p.Buffers[root].Size {
			c.whole(s, root, c.cells[root]) // the rest of the root is kept
		}
	}
	for _, id := range act.writes {
		for _, hit := range c.intact.meeting(c.root[id]) {
			c.set(hit, cell{written: true, destroyed: true, step: s, by: id})
		}
	}
	// Two roots written in one step do not overlap: together has seen to it.
	for _, id := range act.writes {
		root := c.root[id]
		to := c.cells[root]
		if p.Buffers[id].Size == p.Buffers[root].Size && !touches(act.reads, root) {
			to = cell{}
		}
		to.written = true
		c.set(root, to)
	}
}

// whole reports that a step reads what was overwritten.
func (c *checker) whole(s int, id BufferID, t cell) {
	if t.destroyed && c.final {
		c.fault("step %d reads %s, which step %d may have overwritten through %s",
			s, c.problem.label(id), t.step, c.problem.label(t.by))
	}
}
