package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/plan"
)

// maxMemories is how many planned buffers can be described.
const maxMemories = 256

// lifetimes finds out how long the planned tensors of a method need their
// memory, from what its instructions do. Step 0 is the call's entry, the steps
// after it are the instructions of all chains, the last is the return.
type lifetimes struct {
	plan    *pte.ExecutionPlan
	effects [][]pte.Effect
	steps   []string
	next    [][]int // by step: which can follow
	prev    [][]int
	first   []int // by step: the first step of its run, in which each has one successor

	// by value: the planned tensor whose memory it has, itself for most
	root    []int32
	moved   map[int32]roots      // by value that moves write: whose memory it may have
	moves   map[int]pte.MoveCall // of tensors, by step
	written []bool               // by root: something other than a move gives it data
	// by value that nothing writes: those that are written in its place
	others  map[int32]roots
	uses    []use // by value
	problem plan.Problem
	offsets []int64
}

type roots = []int32

// use are the steps that touch a planned tensor.
type use struct {
	reads, writes []int // writes replace all of it
	held          []int // it needs its memory, whatever happened before
	bytes         int64
}

// memoryOf describes the memory of a method.
func memoryOf(p *pte.Program, ep *pte.ExecutionPlan, schemas pte.Schemas) *Memory {
	if len(ep.BufferSizes)-1 > maxMemories {
		must.Fail("method %s: %d planned buffers are too many for a memory map",
			foreign.Message(ep.Name), len(ep.BufferSizes)-1)
	}
	l := &lifetimes{plan: ep, effects: must.Get(p.Effects(ep, schemas)),
		uses: make([]use, len(ep.Values))}
	l.flow()
	l.roots()
	l.follow()
	l.build()
	pl := &plan.Plan{Offsets: l.offsets, Memories: []plan.Memory{{Align: 1}}}
	for i := 1; i < len(ep.BufferSizes); i++ {
		pl.Memories = append(pl.Memories[:i-1], plan.Memory{Size: ep.BufferSizes[i],
			Align: alignment})
	}
	return newMemory(&l.problem, pl, l.steps, 1)
}

// alignment is what runtimes align planned tensors to, in bytes.
const alignment = 16

// each calls do for every instruction with its step.
func (l *lifetimes) each(do func(step int, in pte.Instruction, e *pte.Effect)) {
	step := 1
	for c, chain := range l.plan.Chains {
		for i, in := range chain.Instructions {
			do(step, in, &l.effects[c][i])
			step++
		}
	}
}

// build makes a problem of straight-line code, in which a buffer is written and
// read so that it holds its memory when the tensor does.
func (l *lifetimes) build() {
	input := map[int32]bool{}
	for _, v := range l.plan.Inputs {
		input[l.root[v]] = true
	}
	for i, v := range l.plan.Values {
		t, ok := v.(*pte.Tensor)
		if !ok {
			continue
		}
		n, _ := t.NBytes()
		u := &l.uses[l.root[i]]
		u.bytes = max(u.bytes, n) // a view may have a larger bound
	}
	names := l.names()
	for i, v := range l.plan.Values {
		t, ok := v.(*pte.Tensor)
		if !ok || t.Allocation == nil || l.root[i] != int32(i) {
			continue
		}
		u := &l.uses[i]
		if len(u.reads)+len(u.writes) == 0 {
			continue
		}
		b := plan.Buffer{Name: names[i], Size: u.bytes, Align: alignment,
			Memory: int(t.Allocation.MemoryID) - 1}
		for _, s := range l.spans(u, !input[int32(i)], t.DataIndex > 0) {
			b.Writes = append(b.Writes, s.First)
			if s.Last > s.First {
				b.Reads = append(b.Reads, s.Last)
			}
		}
		l.problem.Buffers = append(l.problem.Buffers, b)
		l.offsets = append(l.offsets, int64(t.Allocation.Offset))
	}
	l.problem.Name = l.plan.Name
	l.problem.Regions = []plan.Region{{Kind: plan.Body, Parent: -1, Last: len(l.steps) - 1}}
}

// spans returns the steps during which a tensor needs its memory: those on a way
// from a write to a read. What is read without having been written is state: it
// needs its memory always.
func (l *lifetimes) spans(u *use, mayBeState, initial bool) []plan.Span {
	// A step that writes it is one too: what was there before is not wanted, unless the
	// step reads it as well.
	touched := slices.Concat(u.reads, u.writes, u.held)
	slices.Sort(touched)
	touched = slices.Compact(touched)
	live := seq.Map(touched, func(s int) plan.Span { return plan.Span{First: s, Last: s} })
	todo := slices.Clone(u.reads)
	passed := map[int]bool{} // ends of runs, and steps that jump out of one
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		first := l.first[s]
		at, _ := slices.BinarySearch(touched, s)
		if at > 0 && touched[at-1] >= first {
			live = append(live, plan.Span{First: touched[at-1], Last: s})
			continue
		}
		live = append(live, plan.Span{First: first, Last: s})
		for _, before := range l.prev[first] {
			if _, known := slices.BinarySearch(touched, before); !known && !passed[before] {
				passed[before] = true
				todo = append(todo, before)
			}
		}
	}
	seq.Sort(live, func(a, b plan.Span) int { return a.First - b.First })
	var spans []plan.Span
	for _, s := range live {
		if n := len(spans); n > 0 && s.First <= spans[n-1].Last+1 {
			spans[n-1].Last = max(spans[n-1].Last, s.Last)
		} else {
			spans = append(spans, s)
		}
	}
	if mayBeState && len(spans) > 0 && spans[0].First == 0 || initial {
		return []plan.Span{{First: 0, Last: len(l.steps) - 1}}
	}
	return spans
}

// names names the planned tensors: after inputs and outputs, as the file does, or
// after what writes them first.
func (l *lifetimes) names() []string {
	names := make([]string, len(l.plan.Values))
	l.each(func(step int, _ pte.Instruction, e *pte.Effect) {
		for _, v := range slices.Concat(e.Writes, e.Updates) {
			if r := l.root[v]; names[r] == "" && !e.View {
				names[r] = fmt.Sprintf("%%%d %s", r, shortName(l.steps[step]))
			}
		}
	})
	for k, v := range l.plan.Outputs {
		names[l.root[v]] = fmt.Sprintf("output %d", k)
	}
	for k, v := range l.plan.Inputs {
		names[l.root[v]] = fmt.Sprintf("input %d", k)
	}
	for i, v := range l.plan.Values {
		if t, ok := v.(*pte.Tensor); ok && t.ExtraInfo != nil && t.ExtraInfo.Name != "" {
			names[i] = t.ExtraInfo.Name
		}
		if names[i] == "" {
			names[i] = fmt.Sprintf("%%%d", i)
		}
	}
	return names
}

// shortName is an operator's name without namespace and overload.
func shortName(operator string) string {
	if _, name, ok := strings.Cut(operator, "::"); ok {
		operator = name
	}
	name, _, _ := strings.Cut(operator, ".")
	return name
}
