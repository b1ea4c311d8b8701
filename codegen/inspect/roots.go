package inspect

import (
	"slices"

	"github.com/etgen/etgen/ir/pte"
)

// place is where a planned tensor lies.
type place struct {
	memory       uint32
	offset, size uint64
}

// roots finds out whose memory each value has: a view that of what it is a view
// of, and what is moved that of where it comes from.
func (l *lifetimes) roots() {
	l.root = make([]int32, len(l.plan.Values))
	for i := range l.root {
		l.root[i] = int32(i)
	}
	l.moved, l.moves = map[int32]roots{}, map[int]pte.MoveCall{}
	l.each(func(step int, in pte.Instruction, e *pte.Effect) {
		if e.View && len(e.Writes) > 0 && len(e.Reads) > 0 {
			l.root[l.find(e.Writes[0])] = l.find(e.Reads[0])
		}
		if m, ok := in.(pte.MoveCall); ok && m.From != m.To {
			if _, ok := l.plan.Values[m.From].(*pte.Tensor); ok {
				l.moved[m.To] = append(l.moved[m.To], m.From)
				l.moves[step] = m
			}
		}
	})
	l.settle()
	l.written = make([]bool, len(l.root))
	for _, v := range l.plan.Inputs {
		l.written[l.root[v]] = true
	}
	l.each(func(_ int, _ pte.Instruction, e *pte.Effect) {
		for _, v := range slices.Concat(e.Writes, e.Updates) {
			l.written[l.root[v]] = l.written[l.root[v]] || !e.View
		}
	})
	l.readers()
	l.settle()
}

// readers finds the tensors that nothing writes in exactly the place of others:
// they hold what was last written there.
func (l *lifetimes) readers() {
	at := map[place]roots{}
	planned := func(v int32) (place, bool) {
		t, ok := l.plan.Values[v].(*pte.Tensor)
		if !ok || t.Allocation == nil || l.root[v] != v {
			return place{}, false
		}
		n, _ := t.NBytes()
		return place{t.Allocation.MemoryID, t.Allocation.Offset, uint64(n)}, true
	}
	for v := range int32(len(l.root)) {
		if p, ok := planned(v); ok && l.written[v] {
			at[p] = append(at[p], v)
		}
	}
	l.others = map[int32]roots{}
	for v := range int32(len(l.root)) {
		p, ok := planned(v)
		if !ok || l.written[v] || len(l.moved[v]) > 0 ||
			l.plan.Values[v].(*pte.Tensor).DataIndex > 0 {
			continue
		}
		switch writers := at[p]; len(writers) {
		case 0:
		case 1:
			l.root[v] = writers[0]
		default:
			l.others[v] = writers
		}
	}
}

func (l *lifetimes) find(v int32) int32 {
	for l.root[v] != v {
		v = l.root[v]
	}
	return v
}

func (l *lifetimes) settle() {
	for i := range l.root {
		l.root[i] = l.find(int32(i))
	}
}

// places returns the tensors whose memory a value may have.
func (l *lifetimes) places(v int32) roots {
	var all roots
	seen := roots{v}
	for i := 0; i < len(seen); i++ { // those added on the way too
		r := l.root[seen[i]]
		from := slices.Concat(l.moved[seen[i]], l.moved[r])
		if (len(from) == 0 || l.written[r]) && !slices.Contains(all, r) {
			all = append(all, r)
		}
		for _, f := range from {
			if !slices.Contains(seen, f) {
				seen = append(seen, f)
			}
		}
	}
	return all
}

// follow notes which steps read and write which tensors.
func (l *lifetimes) follow() {
	l.each(func(step int, _ pte.Instruction, e *pte.Effect) {
		if !e.View {
			for _, v := range slices.Concat(e.Writes, e.Updates) {
				l.write(v, step)
			}
		}
	})
	tensor := func(v int32) bool {
		_, ok := l.plan.Values[v].(*pte.Tensor)
		return ok
	}
	for _, v := range l.plan.Inputs {
		if tensor(v) {
			l.write(v, 0)
		}
	}
	l.each(func(step int, in pte.Instruction, e *pte.Effect) {
		for _, v := range slices.Concat(e.Reads, e.Updates) {
			l.read(v, step)
		}
		if j, ok := in.(pte.JumpFalseCall); ok && tensor(j.Cond) {
			l.read(j.Cond, step)
		}
	})
	for _, v := range l.plan.Outputs {
		if tensor(v) {
			l.read(v, len(l.steps)-1)
		}
	}
}

func (l *lifetimes) write(v int32, step int) {
	places := l.places(v)
	for _, r := range places {
		if len(places) > 1 { // perhaps it is another that is written
			l.uses[r].reads = append(l.uses[r].reads, step)
		}
		l.uses[r].writes = append(l.uses[r].writes, step)
	}
}

// read notes that what v holds is wanted at a step.
func (l *lifetimes) read(v int32, step int) { l.readBy(v, step, 0) }

// maxMoves bounds how many moves in a row are followed.
const maxMoves = 8

func (l *lifetimes) readBy(v int32, step, moves int) {
	if moves < maxMoves {
		l.readMoved(v, step, moves)
		if r := l.root[v]; r != v {
			l.readMoved(r, step, moves)
		}
	}
	r := l.root[v]
	if len(l.moved[v])+len(l.moved[r]) > 0 && !l.written[r] {
		return // it has no memory of its own
	}
	writers := l.others[r]
	if len(writers) == 0 {
		l.uses[r].reads = append(l.uses[r].reads, step)
		return
	}
	wrote := func(w int32, s int) bool { return slices.Contains(l.uses[w].writes, s) }
	before := l.reach(l.prev, step, func(s int) bool {
		return slices.ContainsFunc(writers, func(w int32) bool { return wrote(w, s) })
	})
	for _, w := range writers {
		if slices.ContainsFunc(l.uses[w].writes, func(s int) bool { return before[s] }) {
			l.uses[w].reads = append(l.uses[w].reads, step)
		}
	}
}

// readMoved notes that what was moved to v is wanted at a step: from the move to
// the step the memory that it was moved from is needed.
func (l *lifetimes) readMoved(v int32, step, moves int) {
	if len(l.moved[v]) == 0 {
		return
	}
	moves++
	here := func(s int) bool { m, ok := l.moves[s]; return ok && m.To == v }
	before := l.reach(l.prev, step, here)
	for s := range before {
		if !before[s] || !here(s) {
			continue
		}
		from := l.moves[s].From
		l.readBy(from, s, moves)
		after := l.reach(l.next, s, here)
		for _, r := range l.places(from) {
			for t := range after {
				if after[t] && (t == step || before[t] && !here(t)) {
					l.uses[r].held = append(l.uses[r].held, t)
				}
			}
		}
	}
}
