package inspect

import (
	"slices"

	"github.com/etgen/etgen/ir/pte"
)

// flow finds the steps, and for each step those that can come next.
func (l *lifetimes) flow() {
	fixed := l.plan.FixedBools()
	l.steps = []string{"entry"}
	ways := [][]int{{1}} // by step: where it leads
	for _, c := range l.plan.Chains {
		first := len(l.steps)
		for _, in := range c.Instructions {
			next := []int{len(l.steps) + 1}
			if j, ok := in.(pte.JumpFalseCall); ok {
				target := first + int(j.Destination)
				switch holds, known := fixed[j.Cond]; {
				case known && !holds:
					next[0] = target
				case !known && target != next[0]:
					next = append(next, target)
				}
			}
			ways = append(ways, next)
			l.steps = append(l.steps, l.label(in))
		}
	}
	l.steps = append(l.steps, "return")
	l.next = append(ways, nil)
	l.prev = make([][]int, len(l.steps))
	for s, next := range l.next {
		for _, n := range next {
			l.prev[n] = append(l.prev[n], s)
		}
	}
	l.first = make([]int, len(l.steps))
	for s, prev := range l.prev {
		if l.first[s] = s; len(prev) == 1 && prev[0] == s-1 {
			l.first[s] = l.first[s-1]
		}
	}
}

// label names an instruction.
func (l *lifetimes) label(in pte.Instruction) string {
	switch in := in.(type) {
	case pte.KernelCall:
		return l.plan.Operators[in.Op].String()
	case pte.DelegateCall:
		return l.plan.Delegates[in.Delegate].ID
	case pte.MoveCall:
		return "move"
	case pte.JumpFalseCall:
		return "jump"
	}
	return "free"
}

// reach returns the steps that can be reached from a step by ways. The step itself is
// among them only if a way leads back to it. A way ends where stop holds.
func (l *lifetimes) reach(ways [][]int, from int, stop func(step int) bool) []bool {
	reached := make([]bool, len(l.steps))
	todo := slices.Clone(ways[from])
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if reached[s] {
			continue
		}
		if reached[s] = true; !stop(s) {
			todo = append(todo, ways[s]...)
		}
	}
	return reached
}
