package native

import (
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/plan"
)

// The order of statements. Branches of a graph are independent of one another, and the order
// in which a model's file has them is not the one that takes the least memory. Here
// statements of a method change places, before its memory is planned. What is in a loop or
// an arm keeps its order.

// maxPairs is up to how many accesses of a buffer are compared with each other. Of more, each
// follows the one before.
const maxPairs = 128

// ordered puts the statements of m in an order that takes less memory, and reports whether
// it did: if the plan of the memory is smaller.
func ordered(m *Method, opt Options) bool {
	switch opt.Planner.(type) {
	case plan.AsIs, plan.Disjoint:
		return false // which keep to places, or give each buffer its own
	}
	given := newLayout(m, nil)
	given.alignLarge(opt)
	if len(given.tasks) != len(m.Body) {
		return false
	}
	follow(m.Body, given.tasks)
	order := must.Get(plan.Order(given.p, given.tasks))
	body, changed := make([]Stmt, len(order)), false
	for i, k := range order {
		body[i] = m.Body[k]
		changed = changed || i != k
	}
	if !changed {
		return false
	}
	other := newLayout(&Method{Name: m.Name, Body: body}, nil)
	other.alignLarge(opt)
	if !smaller(opt.Planner, other.p, given.p) {
		return false
	}
	m.Body, m.Buffers = body, nil
	return true
}

// smaller reports whether the plan of a takes less than that of b.
func smaller(how plan.Planner, a, b *plan.Problem) bool {
	is, err := plan.Smaller(how, a, b)
	must.In(err, "planning memory")
	return is
}

// follow notes which statements have to follow which: what reads a buffer follows what wrote
// it, and what writes it follows both. What may end the method, or makes a number known, comes
// before all that stands behind it.
func follow(body []Stmt, tasks []plan.Task) {
	type use struct {
		access
		at int
	}
	uses := map[*Buffer][]use{}
	barrier := -1
	for i, s := range body {
		t := &tasks[i]
		if barrier >= 0 {
			t.After = append(t.After, barrier)
		}
		after := func(j int) {
			if n := len(t.After); j != i && (n == 0 || t.After[n-1] != j) {
				t.After = append(t.After, j)
			}
		}
		eachAccess(s, func(a access) {
			root := Root(*a.buf)
			if root.Storage == Weight {
				return
			}
			list := uses[root]
			if n := len(list); n > maxPairs { // each follows the first ones and the one before it
				for _, u := range list[:maxPairs] {
					after(u.at)
				}
				after(list[n-1].at)
			} else {
				for _, u := range list {
					if (a.write || u.write) && overlap(*a.buf, *u.buf) {
						after(u.at)
					}
				}
			}
			uses[root] = append(list, use{a, i})
		})
		if decides(s) {
			barrier = i
		}
	}
}

// decides reports whether what stands behind s depends on it without reading what it writes.
func decides(s Stmt) bool {
	switch s := s.(type) {
	case *Let, *Assert:
		return true
	case *Call:
		return s.Kernel.Fails()
	}
	for _, block := range Blocks(s) {
		for _, t := range *block {
			if decides(t) {
				return true
			}
		}
	}
	return false
}
