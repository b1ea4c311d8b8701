package plan

// Peak is the most that is alive at once in one memory.
type Peak struct {
	Bytes int64
	Step  int // the first step at which that is so; -1 if Bytes is 0
}

// LowerBound returns, for each memory, a size that no plan can go below: the
// largest sum, over all steps, of the sizes of the buffers that hold their
// memory at that step. Where a permitted in-place pair meets, the bytes the two
// can have in common are counted once; if a buffer has several possible
// partners at one step, only the largest saving counts, since it can lie over
// one of them only. Padding for alignment and gaps that no arrangement avoids
// are not in it, so the best plan may be larger.
func LowerBound(p *Problem) ([]Peak, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	return a.bound(), nil
}

// bound has at least one element, as Plan.Memories has.
func (a *analysis) bound() []Peak {
	memories := memoriesOf(a.nodes)
	peaks := make([]Peak, memories)
	change := make([][]int64, memories) // of the live bytes, from each step to the next
	for m := range peaks {
		peaks[m].Step = -1
		change[m] = make([]int64, a.steps+1)
	}
	for _, n := range a.nodes {
		for _, s := range n.live {
			change[n.memory][s.First] += n.size
			change[n.memory][s.Last+1] -= n.size
		}
	}
	saved := a.savings()
	for m := range peaks {
		var live int64
		for s := range a.steps {
			live += change[m][s]
			if bytes := live - saved[memoryStep{m, s}]; bytes > peaks[m].Bytes {
				peaks[m] = Peak{bytes, s}
			}
		}
	}
	return peaks
}

type memoryStep struct{ memory, step int }

// savings returns how many bytes in-place pairs can save at most at each step.
// At one step a buffer is Dst or Src, not both, and lies over at most one
// partner: the pairs chosen form a matching, whose weight neither the sum of
// the Dsts' best nor that of the Srcs' best can fall short of.
func (a *analysis) savings() map[memoryStep]int64 {
	saved := make(map[memoryStep]int64)
	for first := 0; first < len(a.pairs); {
		last := first
		byDst, bySrc := make(map[int]int64), make(map[int]int64)
		for ; last < len(a.pairs) && a.pairs[last].step == a.pairs[first].step; last++ {
			p := a.pairs[last]
			d, s := &a.nodes[p.dst], &a.nodes[p.src]
			common := min(d.size, p.delta+s.size) - max(0, p.delta)
			byDst[p.dst] = max(byDst[p.dst], common)
			bySrc[p.src] = max(bySrc[p.src], common)
		}
		sumDst, sumSrc := make(map[int]int64), make(map[int]int64) // by memory
		for n, bytes := range byDst {
			sumDst[a.nodes[n].memory] += bytes
		}
		for n, bytes := range bySrc {
			sumSrc[a.nodes[n].memory] += bytes
		}
		for m := range sumDst {
			saved[memoryStep{m, a.pairs[first].step}] = min(sumDst[m], sumSrc[m])
		}
		first = last
	}
	return saved
}
