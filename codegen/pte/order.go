package pte

import (
	"slices"

	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/plan"
)

// ordered puts independent calls of c in the order that takes less memory, if there is one:
// if the plan says so. It returns the problem that then is to be planned. Calls in blocks of
// branches and loops keep their order.
func ordered(c *code, table *ops.Table, how plan.Planner) *planner {
	given := problemOf(c)
	switch how.(type) {
	case plan.AsIs, plan.Disjoint:
		return given // which keep to places, or give each tensor its own
	}
	tasks := follow(c, given.tasks, table)
	order := must.Get(plan.Order(&given.problem, tasks))
	if slices.IsSorted(order) {
		return given
	}
	block := make([]item, len(c.block))
	for i, k := range order[1 : len(order)-1] {
		block[i] = c.block[k-1]
	}
	old := c.block
	c.block = block
	other := problemOf(c)
	smaller, err := plan.Smaller(how, &other.problem, &given.problem)
	must.In(err, "planning memory")
	if smaller {
		return other
	}
	c.block = old
	return given
}

// follow notes which items have to follow which: what uses a tensor follows what wrote it, and
// what writes it follows both. An item that is no call of an operator whose results follow from
// its operands keeps its place. The first task is what the caller does before, the last what it
// does after.
func follow(c *code, tasks []plan.Task, table *ops.Table) []plan.Task {
	type last struct {
		write int
		reads []int
	}
	uses := map[*slot]*last{}
	fixed := 0
	for i, it := range c.block {
		at := i + 1
		t := &tasks[at]
		call, ok := it.(*call)
		if !ok || !movable(call, table) {
			for j := fixed; j < at; j++ {
				t.After = append(t.After, j)
			}
			fixed = at
			clear(uses)
			continue
		}
		t.After = append(t.After, fixed)
		use := func(s *slot, writes bool) {
			u := uses[s]
			if u == nil {
				u = &last{write: fixed}
				uses[s] = u
			}
			if u.write != at {
				t.After = append(t.After, u.write)
			}
			if writes {
				for _, r := range u.reads {
					if r != at {
						t.After = append(t.After, r)
					}
				}
				u.write, u.reads = at, nil
			} else {
				u.reads = append(u.reads, at)
			}
		}
		for _, arg := range call.args { // views too, whose sizes may be what counts
			for _, s := range tensorsIn(arg) {
				writes := slices.Contains(call.writes, s)
				use(s.now(), writes)
				if root := s.root(); root != s.now() {
					use(root, writes)
				}
			}
		}
	}
	end := len(c.block) + 1
	for j := fixed; j < end; j++ {
		tasks[end].After = append(tasks[end].After, j)
	}
	return tasks
}

// movable reports whether all that a call does is to make tensors of others, always the same.
func movable(c *call, table *ops.Table) bool {
	name := c.op
	if v, ok := aten.OutNamed(name); ok {
		name = v.Functional
	}
	op, ok := table.Lookup(name)
	return ok && !op.Random && !op.Effect && op.Custom == nil && len(c.writes) > 0
}
