package plan

// AsIs keeps the places that another plan, such as that of the file a program
// was read from, gave its buffers. A buffer is placed there if its name is known
// and it still fits: it is no larger, and nothing lies there that is needed at
// the same time and has been placed before. (What holds between two tensors of
// the other plan need not hold here: fusion makes one outlive the other.) The
// rest is placed around it like Greedy does. The memory is never smaller than in
// the other plan.
type AsIs struct {
	// Methods has a layout for each problem's name.
	Methods map[string]Layout
}

// Layout is where the buffers of one problem lay.
type Layout struct {
	Size   int64 // bytes of the whole memory
	Places map[string]Place
}

// Place is a range of bytes.
type Place struct{ Offset, Size int64 }

// Plan implements Planner.
func (as AsIs) Plan(p *Problem) (*Plan, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	a.connect(unlimited)
	layout := as.Methods[p.Name]
	pl := newPlacer(a.nodes)
	for i := range pl.offsets {
		pl.offsets[i] = -1
	}
	var rest []int
	for i, n := range a.nodes {
		at, known := layout.Places[p.Buffers[n.id].Name]
		fits := known && n.memory == 0 && n.size > 0 && n.size <= at.Size && at.Offset >= 0 &&
			at.Offset&(n.align-1) == 0
		if !fits || !pl.fits(i, at.Offset) {
			rest = append(rest, i)
			continue
		}
		pl.put(i, at.Offset)
	}
	for _, i := range bySize(a.nodes, rest) {
		pl.put(i, pl.choose(i, lowestFit))
	}
	out := a.plan(pl.offsets)
	out.Memories[0].Size = max(out.Memories[0].Size, layout.Size)
	return out, nil
}

func (pl *placer) put(i int, at int64) {
	n := &pl.nodes[i]
	pl.offsets[i] = at
	pl.size[n.memory] = max(pl.size[n.memory], at+n.size)
}
