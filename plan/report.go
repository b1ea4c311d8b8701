package plan

import "fmt"

// Report describes a plan.
type Report struct {
	Size       int64          `json:"size"`        // bytes in all memories
	LowerBound int64          `json:"lower_bound"` // see LowerBound; sum over all memories
	Memories   []MemoryReport `json:"memories"`
	Buffers    []BufferReport `json:"buffers"` // in the problem's order
}

// MemoryReport is the extent of one memory and what it could be at best.
type MemoryReport struct {
	Memory
	LowerBound int64   `json:"lower_bound"`
	PeakStep   int     `json:"peak_step"` // the first step that needs LowerBound bytes; -1: none
	Ratio      float64 `json:"ratio"`     // Size over LowerBound; 1 if both are 0
}

// BufferReport is one buffer's place.
type BufferReport struct {
	ID     BufferID `json:"id"`
	Name   string   `json:"name"`
	Memory int      `json:"memory"`
	Size   int64    `json:"size"`
	Offset int64    `json:"offset"`
	Live   []Span   `json:"live,omitempty"`  // of roots: the steps at which it holds its memory
	Root   BufferID `json:"root"`            // ID itself if it is no view
	Shift  int64    `json:"shift,omitempty"` // bytes from the start of Root
	Over   []string `json:"over,omitempty"`  // names of buffers it was written over in place
}

// NewReport describes plan pl of problem p. It does not check it.
func NewReport(p *Problem, pl *Plan) (*Report, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	if pl == nil || len(pl.Offsets) != len(p.Buffers) {
		return nil, fmt.Errorf("plan: a plan needs one offset for each of %d buffers",
			len(p.Buffers))
	}
	r := &Report{Size: pl.Size(), Buffers: make([]BufferReport, len(p.Buffers))}
	peaks := a.bound()
	for m, mem := range pl.Memories {
		mr := MemoryReport{Memory: mem, PeakStep: -1, Ratio: 1}
		if m < len(peaks) {
			mr.LowerBound, mr.PeakStep = peaks[m].Bytes, peaks[m].Step
		}
		if mr.LowerBound > 0 {
			mr.Ratio = float64(mem.Size) / float64(mr.LowerBound)
		}
		r.LowerBound += mr.LowerBound
		r.Memories = append(r.Memories, mr)
	}
	for i, b := range p.Buffers {
		root, shift := p.Root(BufferID(i))
		top := &p.Buffers[root]
		r.Buffers[i] = BufferReport{ID: BufferID(i), Name: b.Name, Memory: top.Memory, Size: b.Size,
			Offset: pl.Offsets[i], Root: root, Shift: shift}
	}
	for _, n := range a.nodes {
		r.Buffers[n.id].Live = n.live
	}
	for _, pr := range a.pairs {
		dst, src := a.nodes[pr.dst].id, a.nodes[pr.src].id
		if pl.Offsets[dst]+pr.delta == pl.Offsets[src] {
			r.Buffers[dst].Over = append(r.Buffers[dst].Over, p.Buffers[src].Name)
		}
	}
	return r, nil
}
