package plan

import "fmt"

// Report says how good a plan is.
type Report struct {
	Size       int64    // bytes in all memories
	LowerBound int64    // what any plan needs of them
	Peaks      []Peak   // by memory, see LowerBound
	Live       [][]Span // by buffer, of roots: the steps at which it holds its memory
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
	r := &Report{Size: pl.Size(), Peaks: a.bound(), Live: make([][]Span, len(p.Buffers))}
	for _, peak := range r.Peaks {
		r.LowerBound += peak.Bytes
	}
	for len(r.Peaks) < len(pl.Memories) {
		r.Peaks = append(r.Peaks, Peak{Step: -1})
	}
	for _, n := range a.nodes {
		r.Live[n.id] = n.live
	}
	return r, nil
}
