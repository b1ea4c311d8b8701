package pte

import (
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/plan"
)

// alignment of tensors in planned memory, in bytes.
const alignment = 16

// planner turns code into a problem for package plan: a step for each
// instruction that touches memory, one before them in which the caller gives
// inputs and state is as it was, and one after them in which the caller takes
// outputs and state stays.
type planner struct {
	problem plan.Problem
	ids     map[*slot]plan.BufferID // of roots
	tasks   []plan.Task             // the entry, the items of the method, and the return
	step    int
	region  int
}

// problemOf states what memory c needs.
func problemOf(c *code) *planner {
	p := &planner{ids: map[*slot]plan.BufferID{}}
	p.problem.Regions = []plan.Region{{Kind: plan.Body, Parent: -1}}
	p.task()
	for _, s := range c.held {
		p.write(s)
	}
	p.step++
	p.block(c.block)
	p.task()
	for _, s := range c.outputs {
		p.read(s)
	}
	for _, s := range c.held {
		if s.tensor.role == state {
			p.read(s)
		}
	}
	p.problem.Regions[0].Last = p.step
	return p
}

// task begins a task of the method.
func (p *planner) task() { p.tasks = append(p.tasks, plan.Task{First: p.step}) }

// home is where a root lies.
type home struct {
	bank   int
	offset int64
}

// place plans the memory of c. It returns the place of every root.
func place(c *code, opt Options) (map[*slot]home, Memory) {
	p := ordered(c, opt.Table, opt.Planner)
	if opt.Banks != nil {
		p.problem.Banks = opt.Banks
		for i := range p.problem.Buffers { // each call is taken to move all of its tensors once
			b := &p.problem.Buffers[i]
			b.Traffic = b.Size * int64(len(b.Reads)+len(b.Writes))
		}
	}
	pl, err := plan.Spread(&p.problem, opt.Planner)
	must.In(err, "planning memory")
	must.In(plan.Check(&p.problem, pl), "the plan of memory is wrong")
	homes := map[*slot]home{}
	for s, id := range p.ids {
		homes[s] = home{p.problem.Buffers[id].Memory, pl.Offsets[id]}
	}
	return homes, Memory{Problem: &p.problem, Plan: pl}
}

// buffer returns the buffer of the memory that s lies in, nil if that is not
// planned.
func (p *planner) buffer(s *slot) *plan.Buffer {
	if s.now().tensor == nil {
		return nil
	}
	root := s.root()
	if root.tensor.role == constant || root.tensor.shared != nil {
		return nil
	}
	id, ok := p.ids[root]
	if !ok {
		id = plan.BufferID(len(p.problem.Buffers))
		p.ids[root] = id
		p.problem.Buffers = append(p.problem.Buffers, plan.Buffer{Name: root.name,
			Align: alignment})
	}
	b := &p.problem.Buffers[id]
	// A view of dynamic sizes may have a larger bound than its base.
	b.Size = max(b.Size, root.tensor.bytes, s.now().tensor.bytes)
	return b
}

func (p *planner) read(s *slot) {
	if b := p.buffer(s); b != nil {
		b.Reads = append(b.Reads, p.step)
	}
}

func (p *planner) write(s *slot) {
	b := p.buffer(s)
	if b == nil {
		return
	}
	b.Writes = append(b.Writes, p.step)
	if s.root().tensor.role == state && p.step > 0 {
		// Nobody else gets the memory of state, not even while what it held is
		// no longer wanted: a call that fails must leave it whole.
		b.Reads = append(b.Reads, p.step)
	}
}

// in runs f in a region of its own.
func (p *planner) in(kind plan.RegionKind, f func()) {
	outer, own := p.region, len(p.problem.Regions)
	p.problem.Regions = append(p.problem.Regions, plan.Region{Kind: kind, Parent: outer,
		First: p.step})
	p.region = own
	f()
	p.problem.Regions[own].Last = p.step - 1
	p.region = outer
}

func (p *planner) block(items []item) {
	for _, it := range items {
		if p.region == 0 {
			p.task()
		}
		switch it := it.(type) {
		case *call:
			for _, s := range it.args { // the bounds of all views
				for _, t := range tensorsIn(s) {
					p.buffer(t)
				}
			}
			for _, s := range it.reads {
				p.read(s)
			}
			for _, s := range it.writes {
				p.write(s)
			}
			p.step++
		case *branch:
			p.read(it.cond)
			p.step++
			p.in(plan.Cond, func() {
				p.in(plan.Body, func() { p.block(it.then) })
				p.in(plan.Body, func() { p.block(it.other) })
			})
		case *loop:
			p.in(plan.Loop, func() { p.loop(it) })
		}
	}
}

// loop plans a loop; one that is left after its body only is all test.
func (p *planner) loop(it *loop) {
	decide := func() {
		p.read(it.cond)
		p.step++
	}
	p.in(plan.Test, func() {
		if !it.tested {
			p.block(it.body)
		}
		p.block(it.test)
		decide()
	})
	if it.tested {
		p.in(plan.Body, func() { p.block(it.body) })
	}
}
