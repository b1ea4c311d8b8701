package plan

import (
	"fmt"
	"slices"
)

// Span is a range of steps, both ends inclusive.
type Span struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// touch is what one step does to one root buffer, through whatever views.
type touch struct {
	step   int
	needs  bool     // wants or keeps bytes the buffer held before
	writes bool     // writes at least a part
	only   BufferID // the one buffer through which the step touches it, or -1

	liveBefore bool // a path leads from a write to this step and on to a use of what was written
	liveAfter  bool // a path leads from this step to a use of what the buffer then holds
}

// touches lists, for each root buffer, the steps that touch it in step order.
// Those of views count for their root.
func (p *Problem) touches() [][]touch {
	all := make([][]touch, len(p.Buffers))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		root, _ := p.Root(BufferID(i))
		// A view starts inside its root, so one of equal size covers it.
		covers := b.Size == p.Buffers[root].Size
		for _, s := range b.Reads {
			all[root] = append(all[root], touch{step: s, needs: true, only: BufferID(i)})
		}
		for _, s := range b.Writes {
			all[root] = append(all[root], touch{step: s, needs: !covers, writes: true,
				only: BufferID(i)})
		}
	}
	for i, list := range all {
		slices.SortStableFunc(list, func(a, b touch) int { return a.step - b.step })
		merged := list[:0]
		for _, t := range list {
			if n := len(merged); n > 0 && merged[n-1].step == t.step {
				m := &merged[n-1]
				m.needs = m.needs || t.needs
				m.writes = m.writes || t.writes
				if m.only != t.only {
					m.only = -1
				}
				continue
			}
			merged = append(merged, t)
		}
		all[i] = merged
	}
	return all
}

// liveness computes lifetimes, one root buffer at a time.
type liveness struct {
	program *program
	flow    *flow   // of the buffer's outline
	touched []int32 // by node, 1 + index in the buffer's touches
	liveIn  []bool  // the node's input state is wanted
	availIn []bool  // and a write reaches it
	stack   []int32
}

// spans returns the steps at which a buffer of the given region holds its
// memory, as maximal spans in order, and completes its touches.
//
// The bytes are forgotten whenever the region is entered, so no path leaves
// the region, and the back edge of a Loop that is the region itself is none.
func (l *liveness) spans(region int, touches []touch) ([]Span, error) {
	at := make([]int, len(touches))
	for i, t := range touches {
		at[i] = t.step
	}
	outline, at := l.program.outline(region, at)
	l.flow = newFlow(outline.regions)
	entry, exit := l.flow.entry(0), l.flow.exit(0)
	nodes := len(l.flow.succ)
	l.touched, l.liveIn, l.availIn = make([]int32, nodes), make([]bool, nodes), make([]bool, nodes)
	for i, n := range at {
		l.touched[n] = int32(i) + 1
	}

	// Backwards from the steps that need the bytes, up to a step that replaces them.
	for i, t := range touches {
		if t.needs {
			l.mark(l.liveIn, int32(at[i]))
		}
	}
	for len(l.stack) > 0 {
		n := l.pop()
		if n == entry {
			continue
		}
		for _, q := range l.flow.pred[n] {
			if k := l.touched[q]; k == 0 || touches[k-1].needs {
				l.mark(l.liveIn, q)
			}
		}
	}

	// Forwards from the writes, as far as the bytes are wanted.
	var steps []int
	follow := func(n int32) (live bool) {
		for _, q := range l.flow.succ[n] {
			if q == entry || q == exit || !l.liveIn[q] {
				continue
			}
			live = true
			l.mark(l.availIn, q)
		}
		return live
	}
	for i := range touches {
		t := &touches[i]
		steps = append(steps, at[i])
		if t.writes {
			t.liveAfter = follow(int32(at[i]))
		}
	}
	for len(l.stack) > 0 {
		n := l.pop()
		live := follow(n)
		if k := l.touched[n]; k > 0 {
			t := &touches[k-1]
			t.liveBefore, t.liveAfter = true, live
		} else if int(n) < l.flow.steps {
			steps = append(steps, int(n))
		}
	}
	for _, t := range touches {
		if t.needs && !t.writes && !t.liveBefore {
			return nil, fmt.Errorf("read in step %d before anything is written to it", t.step)
		}
	}

	slices.Sort(steps)
	var spans []Span
	for _, s := range steps {
		sp := outline.spans[s]
		if n := len(spans); n > 0 && spans[n-1].Last >= sp.First-1 {
			spans[n-1].Last = sp.Last
		} else {
			spans = append(spans, sp)
		}
	}
	return spans, nil
}

func (l *liveness) mark(set []bool, n int32) {
	if !set[n] {
		set[n] = true
		l.stack = append(l.stack, n)
	}
}

func (l *liveness) pop() int32 {
	n := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	return n
}

// Dead returns, for each step, the buffers whose bytes are worthless when the
// step begins although they were wanted at a step that may have run directly
// before. A test that overwrites them there with garbage must see no
// difference.
func Dead(p *Problem) ([][]BufferID, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	dead := make([][]BufferID, a.steps)
	next := newFlow(p.regions()).nextSteps()
	for _, n := range a.nodes {
		for _, span := range n.live {
			for s := span.First; s <= span.Last; s++ {
				for _, t := range next[s] {
					if !holds(n.live, t) && !slices.Contains(dead[t], n.id) {
						dead[t] = append(dead[t], n.id)
					}
				}
			}
		}
	}
	return dead, nil
}

// holds reports whether step s is in one of the spans.
func holds(spans []Span, s int) bool {
	_, found := slices.BinarySearchFunc(spans, s, func(sp Span, s int) int {
		switch {
		case sp.Last < s:
			return -1
		case sp.First > s:
			return 1
		}
		return 0
	})
	return found
}
