package plan

// Planner places the buffers of a problem. The result passes Check. An error
// says what is wrong with the problem; a valid one can always be planned.
type Planner interface {
	Plan(*Problem) (*Plan, error)
}

// Plan says where each buffer lies.
type Plan struct {
	// Offsets has, per buffer, its first byte, counted from the start of its memory.
	Offsets []int64

	// Memories has at least one element and is indexed by Buffer.Memory.
	Memories []Memory
}

// Memory is the extent of one memory bank.
type Memory struct {
	Size  int64 // bytes
	Align int64 // what the bank's first byte must be aligned to
}

// Size is the number of bytes in all memories together.
func (p *Plan) Size() int64 {
	var sum int64
	for _, m := range p.Memories {
		sum += m.Size
	}
	return sum
}

// Disjoint gives every root buffer bytes of its own.
type Disjoint struct{}

// Plan implements Planner.
func (Disjoint) Plan(p *Problem) (*Plan, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	offsets := make([]int64, len(a.nodes))
	var end [maxMemories]int64
	for i, n := range a.nodes {
		offsets[i] = alignUp(end[n.memory], n.align)
		end[n.memory] = offsets[i] + n.size
	}
	return a.plan(offsets), nil
}

// plan turns the offsets of the nodes into a plan.
func (a *analysis) plan(offsets []int64) *Plan {
	p := a.problem
	pl := &Plan{Offsets: make([]int64, len(p.Buffers))}
	roots := make([]int64, len(p.Buffers))
	pl.Memories = []Memory{{Align: 1}}
	for i, n := range a.nodes {
		roots[n.id] = offsets[i]
		for len(pl.Memories) <= n.memory {
			pl.Memories = append(pl.Memories, Memory{Align: 1})
		}
		m := &pl.Memories[n.memory]
		m.Size = max(m.Size, offsets[i]+n.size)
		m.Align = max(m.Align, n.align)
	}
	for i := range pl.Offsets {
		root, off := p.Root(BufferID(i))
		pl.Offsets[i] = roots[root] + off
	}
	return pl
}

// alignUp returns the lowest multiple of align, a power of two, from n on.
func alignUp(n, align int64) int64 { return n + (-n)&(align-1) }
