package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Check reports everything that is wrong with a plan for p, nil if nothing is:
//
//   - every memory fits into its bank;
//   - every placed buffer is inside its memory and aligned, every view at its
//     place inside its root;
//   - buffers that one step touches do not overlap, unless the step has a Share
//     for the two, they start at the same byte and it touches neither root
//     otherwise;
//   - no step reads bytes that, on some path to it, another buffer's write may
//     have destroyed since they were written.
//
// The last is checked by following the program and not by lifetimes: Check
// shares no code with the planners but Problem.Validate, which says what a
// problem is.
func Check(p *Problem, pl *Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if pl == nil || len(pl.Offsets) != len(p.Buffers) {
		return fmt.Errorf("plan: a plan needs one offset for each of %d buffers", len(p.Buffers))
	}
	c := &checker{problem: p, plan: pl, regions: p.regions()}
	c.placement()
	if len(c.faults) == 0 { // else overlaps would say nothing
		c.overlaps()
		c.follow()
	}
	return errors.Join(c.faults...)
}

// cell is what the checker knows of one root buffer at one point of the
// program, over all paths to it.
type cell struct {
	written   bool     // it was written, on some path
	destroyed bool     // and after that another buffer's write fell on it, on some path
	step      int      // where (the first found, for the message)
	by        BufferID // and by whom
}

// action is what one step does.
type action struct {
	reads, writes []BufferID // as the problem lists them: roots and views
}

type checker struct {
	problem *Problem
	plan    *Plan
	regions []Region
	faults  []error
	said    map[string]bool

	root    []BufferID
	actions []action
	shares  map[int][]Share // by step

	children [][]int
	local    [][]BufferID // roots by region
	ending   [][]BufferID // roots by the region behind which no step touches them
	back     []facts      // for each Loop: what comes round over its back edge
	cells    []cell       // by root
	log      []change     // of them
	listed   []int        // by root: when since listed it last
	asked    int          // how often since was asked
	intact   *intact
	changed  bool // some back grew in this round
	final    bool // nothing grows any more: report
}

func (c *checker) fault(format string, args ...any) {
	msg := "plan: " + fmt.Sprintf(format, args...)
	if c.said == nil {
		c.said = make(map[string]bool)
	}
	if !c.said[msg] {
		c.said[msg] = true
		c.faults = append(c.faults, errors.New(msg))
	}
}

// placement checks each buffer by itself and finds the roots.
func (c *checker) placement() {
	p, pl := c.problem, c.plan
	c.root = make([]BufferID, len(p.Buffers))
	for m, mem := range pl.Memories {
		if mem.Size < 0 || mem.Align < 1 || mem.Align&(mem.Align-1) != 0 {
			c.fault("memory %d: bad size %d or alignment %d", m, mem.Size, mem.Align)
		}
		if p.Banks != nil && (m >= len(p.Banks) || mem.Size > p.Banks[m].Size) {
			c.fault("memory %d takes %d bytes, which no bank has", m, mem.Size)
		}
	}
	for i := range p.Buffers {
		id := BufferID(i)
		b, at := &p.Buffers[i], pl.Offsets[i]
		var shift int64
		up := id
		for p.Buffers[up].Alias != nil {
			shift += p.Buffers[up].Alias.Offset
			up = p.Buffers[up].Alias.Of
		}
		c.root[i] = up
		root := &p.Buffers[up]
		if root.Memory >= len(pl.Memories) {
			c.fault("%s lies in memory %d of %d", p.label(id), root.Memory, len(pl.Memories))
			continue
		}
		mem := pl.Memories[root.Memory]
		if at < 0 || b.Size > mem.Size || at > mem.Size-b.Size {
			c.fault("%s, %d bytes at offset %d, is not inside the %d bytes of memory %d",
				p.label(id), b.Size, at, mem.Size, root.Memory)
		}
		if b.Align > 1 && (at%b.Align != 0 || mem.Align%b.Align != 0) {
			c.fault("%s at offset %d of a memory aligned to %d is not aligned to %d", p.label(id),
				at, mem.Align, b.Align)
		}
		if up == id {
			continue
		}
		if top := pl.Offsets[up]; top < 0 || at-top != shift || shift < 0 ||
			shift > root.Size-b.Size {
			c.fault("%s at offset %d is not %d bytes into its root, %s at %d", p.label(id), at,
				shift, p.label(up), top)
		}
	}
}

// overlap reports whether two different roots have a byte of memory in common.
func (c *checker) overlap(a, b BufferID) bool {
	x, y := &c.problem.Buffers[a], &c.problem.Buffers[b]
	from, to := c.plan.Offsets[a], c.plan.Offsets[b]
	return a != b && x.Memory == y.Memory &&
		max(from, to) < min(from+x.Size, to+y.Size)
}

// overlaps tables what each step does and checks that what it touches does not
// overlap.
func (c *checker) overlaps() {
	p := c.problem
	c.shares = map[int][]Share{}
	for _, sh := range p.Shares {
		c.shares[sh.Step] = append(c.shares[sh.Step], sh)
	}
	c.actions = make([]action, c.regions[0].Last+1)
	for i, b := range p.Buffers {
		for _, s := range b.Reads {
			c.actions[s].reads = append(c.actions[s].reads, BufferID(i))
		}
		for _, s := range b.Writes {
			c.actions[s].writes = append(c.actions[s].writes, BufferID(i))
		}
	}
	for s := range c.actions {
		c.together(s)
	}
}

// together checks that the roots step s touches do not overlap, except by share.
func (c *checker) together(s int) {
	var used []BufferID
	for _, id := range slices.Concat(c.actions[s].reads, c.actions[s].writes) {
		used = append(used, c.root[id])
	}
	slices.SortFunc(used, func(a, b BufferID) int {
		return cmp.Or(cmp.Compare(c.plan.Offsets[a], c.plan.Offsets[b]), cmp.Compare(a, b))
	})
	used = slices.Compact(used)
	for k, x := range used {
		for _, y := range used[k+1:] {
			if c.plan.Offsets[y] >= c.plan.Offsets[x]+c.problem.Buffers[x].Size {
				break
			}
			if c.overlap(x, y) && !c.shared(s, x, y) && !c.shared(s, y, x) {
				c.fault("step %d touches %s and %s, which overlap", s, c.problem.label(min(x, y)),
					c.problem.label(max(x, y)))
			}
		}
	}
}

// shared reports whether a share lets step s write root dst over root src.
func (c *checker) shared(s int, dst, src BufferID) bool {
	// Which buffers of a root does the step read, and write?
	touched := func(list []BufferID, root BufferID) []BufferID {
		var of []BufferID
		for _, id := range list {
			if c.root[id] == root {
				of = append(of, id)
			}
		}
		return of
	}
	only := func(list []BufferID, id BufferID) bool {
		return !slices.ContainsFunc(list, func(x BufferID) bool { return x != id })
	}
	act := c.actions[s]
	for _, sh := range c.shares[s] {
		if c.root[sh.Dst] == dst && c.root[sh.Src] == src &&
			c.plan.Offsets[sh.Dst] == c.plan.Offsets[sh.Src] &&
			c.problem.Buffers[sh.Dst].Size > 0 && c.problem.Buffers[sh.Src].Size > 0 &&
			only(touched(act.writes, dst), sh.Dst) && only(touched(act.reads, dst), sh.Dst) &&
			only(touched(act.reads, src), sh.Src) && len(touched(act.writes, src)) == 0 {
			return true
		}
	}
	return false
}
