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
			all[root] = append(all[root], touch{step: s, needs: !covers, writes: true, only: BufferID(i)})
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

// liveness computes lifetimes, one root buffer at a time. The mark slices hold,
// per node of the flow graph, the number of the buffer that marked it last, so
// that nothing has to be cleared in between.
type liveness struct {
	flow    *flow
	turn    int32
	touched []int32 // index in the buffer's touches, valid if touchedBy is turn
	by      []int32
	liveIn  []int32 // the node's input state is wanted
	availIn []int32 // and a write reaches it
	stack   []int32
}

func newLiveness(f *flow) *liveness {
	n := len(f.succ)
	return &liveness{flow: f, touched: make([]int32, n), by: make([]int32, n),
		liveIn: make([]int32, n), availIn: make([]int32, n)}
}

// spans returns the steps at which a buffer of the given region holds its
// memory, as maximal spans in order, and completes its touches. The work is
// proportional to the lifetime, not to the program.
//
// The bytes are forgotten whenever the region is entered, so no path leaves
// the region, and the back edge of a Loop that is the region itself is none.
func (l *liveness) spans(region int, touches []touch) ([]Span, error) {
	l.turn++
	entry, exit := l.flow.entry(region), l.flow.exit(region)
	for i, t := range touches {
		l.by[t.step], l.touched[t.step] = l.turn, int32(i)
	}

	// Backwards from the steps that need the bytes, up to a step that replaces them.
	for _, t := range touches {
		if t.needs {
			l.mark(l.liveIn, int32(t.step))
		}
	}
	for len(l.stack) > 0 {
		n := l.pop()
		if n == entry {
			continue
		}
		for _, q := range l.flow.pred[n] {
			if l.by[q] != l.turn || touches[l.touched[q]].needs {
				l.mark(l.liveIn, q)
			}
		}
	}

	// Forwards from the writes, as far as the bytes are wanted.
	var steps []int
	follow := func(n int32) (live bool) {
		for _, q := range l.flow.succ[n] {
			if q == entry || q == exit || l.liveIn[q] != l.turn {
				continue
			}
			live = true
			l.mark(l.availIn, q)
		}
		return live
	}
	for i := range touches {
		t := &touches[i]
		steps = append(steps, t.step)
		if t.writes {
			t.liveAfter = follow(int32(t.step))
		}
	}
	for len(l.stack) > 0 {
		n := l.pop()
		live := follow(n)
		if l.by[n] == l.turn {
			t := &touches[l.touched[n]]
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
		if n := len(spans); n > 0 && spans[n-1].Last == s-1 {
			spans[n-1].Last = s
		} else {
			spans = append(spans, Span{s, s})
		}
	}
	return spans, nil
}

func (l *liveness) mark(set []int32, n int32) {
	if set[n] != l.turn {
		set[n] = l.turn
		l.stack = append(l.stack, n)
	}
}

func (l *liveness) pop() int32 {
	n := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	return n
}

// Lifetimes returns, for each buffer, the steps at which it holds its memory,
// as maximal spans in order. It is nil for views and External buffers.
func Lifetimes(p *Problem) ([][]Span, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	all := make([][]Span, len(p.Buffers))
	for _, n := range a.nodes {
		all[n.id] = n.live
	}
	return all, nil
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
	dead := make([][]BufferID, a.flow.steps)
	next := a.flow.nextSteps()
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
