package inspect

import (
	"cmp"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/plan"
)

// Memory describes a method's planned memory.
type Memory struct {
	Bytes int64 `json:"bytes"` // of all buffers
	// LowerBound is what any plan of the same tensors needs, Greedy what placing
	// them by size gives.
	LowerBound int64    `json:"lower_bound"`
	Greedy     int64    `json:"greedy"`
	Buffers    []Buffer `json:"buffers"`
	// Steps are what happens in the method's time, in order: "entry", the
	// instructions, "return". In generated code they have no names.
	Steps  []string `json:"steps,omitempty"`
	Length int      `json:"length"` // the number of steps
	Boxes  []Box    `json:"tensors"`
}

// Buffer is one planned buffer, or the arena.
type Buffer struct {
	ID         int   `json:"id"` // memory id; 0 for the arena
	Bytes      int64 `json:"bytes"`
	Align      int64 `json:"align"`
	LowerBound int64 `json:"lower_bound"`
	PeakStep   int   `json:"peak_step"` // the first step that needs LowerBound; -1: none
	Greedy     int64 `json:"greedy"`
}

// Box is a tensor in space and time.
type Box struct {
	Name   string      `json:"name"`
	Buffer int         `json:"buffer"` // index into Memory.Buffers
	Offset int64       `json:"offset"`
	Bytes  int64       `json:"bytes"`
	Live   []plan.Span `json:"live"` // the steps during which it needs its memory
}

// newMemory describes a plan. Steps may be nil; ids number the buffers from it on.
func newMemory(problem *plan.Problem, pl *plan.Plan, steps []string, firstID int) *Memory {
	report := must.Get(plan.NewReport(problem, pl))
	greedy := must.Get(plan.Greedy{}.Plan(problem))
	m := &Memory{Bytes: report.Size, LowerBound: report.LowerBound, Greedy: greedy.Size(),
		Steps: steps, Length: len(steps)}
	for i, mem := range pl.Memories {
		b := Buffer{ID: firstID + i, Bytes: mem.Size, Align: mem.Align,
			LowerBound: report.Peaks[i].Bytes, PeakStep: report.Peaks[i].Step}
		if i < len(greedy.Memories) {
			b.Greedy = greedy.Memories[i].Size
		}
		m.Buffers = append(m.Buffers, b)
	}
	for i, live := range report.Live {
		b := &problem.Buffers[i]
		if b.Size == 0 || len(live) == 0 {
			continue
		}
		m.Boxes = append(m.Boxes, Box{Name: b.Name, Buffer: b.Memory, Offset: pl.Offsets[i],
			Bytes: b.Size, Live: live})
		m.Length = max(m.Length, live[len(live)-1].Last+1)
	}
	seq.Sort(m.Boxes, func(a, b Box) int {
		return cmp.Or(cmp.Compare(a.Buffer, b.Buffer), cmp.Compare(a.Live[0].First,
			b.Live[0].First), cmp.Compare(a.Offset, b.Offset))
	})
	return m
}
