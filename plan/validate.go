package plan

import (
	"fmt"
	"math"
	"slices"
)

// Limits keep a malformed problem from exhausting memory; a real program stays
// orders of magnitude below.
const (
	maxSteps    = 1 << 20
	maxMemories = 256
)

// Validate reports the first fault that makes p meaningless: indices and steps
// out of range, a region tree that is none, sizes and alignments that cannot
// be, views outside their root. It does not look at lifetimes.
func (p *Problem) Validate() error {
	if err := validateRegions(p.Regions); err != nil {
		return err
	}
	if len(p.Banks) > maxMemories {
		return fmt.Errorf("plan: %d banks are more than %d", len(p.Banks), maxMemories)
	}
	for _, b := range p.Banks {
		if b.Size < 0 {
			return fmt.Errorf("plan: bank %s has negative size %d", b.Name, b.Size)
		}
	}
	regions := p.regions()
	if n := regions[0].Last; n >= maxSteps {
		return fmt.Errorf("plan: %d is beyond the highest step allowed, %d", n, maxSteps-1)
	}
	var total int64
	for id := range p.Buffers {
		if err := p.validateBuffer(BufferID(id)); err != nil {
			return err
		}
		// With the sum of all sizes and paddings in range no offset that a
		// planner computes can overflow.
		room := max(p.Buffers[id].Align, 1)
		for _, n := range []int64{p.Buffers[id].Size, room} {
			if total > math.MaxInt64-n {
				return fmt.Errorf("plan: the buffers together exceed %d bytes",
					int64(math.MaxInt64))
			}
			total += n
		}
	}
	for id := range p.Buffers {
		if err := p.validateView(BufferID(id)); err != nil {
			return err
		}
	}
	for id := range p.Buffers {
		if err := p.validateSteps(BufferID(id), regions); err != nil {
			return err
		}
	}
	for i, s := range p.Shares {
		if err := p.validateShare(s); err != nil {
			return fmt.Errorf("plan: share %d: %w", i, err)
		}
	}
	return nil
}

func (p *Problem) validID(id BufferID) bool { return id >= 0 && int(id) < len(p.Buffers) }

// label names a buffer in a message.
func (p *Problem) label(id BufferID) string {
	return fmt.Sprintf("buffer %d (%s)", id, p.Buffers[id].Name)
}

func (p *Problem) validateBuffer(id BufferID) error {
	b := &p.Buffers[id]
	switch {
	case b.Size < 0:
		return fmt.Errorf("plan: %s: negative size %d", p.label(id), b.Size)
	case b.Align < 0 || b.Align&(b.Align-1) != 0:
		return fmt.Errorf("plan: %s: alignment %d is not a power of two", p.label(id), b.Align)
	case b.Memory < 0 || b.Memory >= maxMemories:
		return fmt.Errorf("plan: %s: memory %d is not in 0..%d", p.label(id), b.Memory,
			maxMemories-1)
	case p.Banks != nil && b.Alias == nil && b.Memory >= len(p.Banks):
		return fmt.Errorf("plan: %s: memory %d is none of %d banks", p.label(id), b.Memory,
			len(p.Banks))
	case b.Alias != nil && !p.validID(b.Alias.Of):
		return fmt.Errorf("plan: %s: view of unknown buffer %d", p.label(id), b.Alias.Of)
	}
	return nil
}

// validateView checks that the chain of views from id ends at a root and that
// id lies inside it. The chain's links must not overflow on the way.
func (p *Problem) validateView(id BufferID) error {
	b := &p.Buffers[id]
	if b.Alias == nil {
		return nil
	}
	var off int64
	at := id
	for range p.Buffers {
		a := p.Buffers[at].Alias
		if a == nil {
			break
		}
		if (a.Offset > 0 && off > math.MaxInt64-a.Offset) ||
			(a.Offset < 0 && off < math.MinInt64-a.Offset) {
			return fmt.Errorf("plan: %s: view offset overflows", p.label(id))
		}
		off += a.Offset
		at = a.Of
	}
	root := &p.Buffers[at]
	switch {
	case root.Alias != nil:
		return fmt.Errorf("plan: %s: views of one another in a circle", p.label(id))
	case off < 0 || off > root.Size || b.Size > root.Size-off:
		return fmt.Errorf(
			"plan: %s: %d bytes from byte %d are not inside the %d bytes of its root, %s",
			p.label(id), b.Size, off, root.Size, p.label(at))
	case b.Align > 1 && off%b.Align != 0:
		return fmt.Errorf("plan: %s: byte %d of its root is not aligned to %d", p.label(id),
			off, b.Align)
	}
	return nil
}

func (p *Problem) validateSteps(id BufferID, regions []Region) error {
	rootID, _ := p.Root(id)
	r := p.Buffers[rootID].Region
	if r < 0 || r >= len(regions) {
		return fmt.Errorf("plan: %s: unknown region %d", p.label(rootID), r)
	}
	for _, steps := range [][]int{p.Buffers[id].Reads, p.Buffers[id].Writes} {
		for _, s := range steps {
			if s < regions[r].First || s > regions[r].Last {
				return fmt.Errorf("plan: %s: used in step %d, outside its region %d (steps %d..%d)",
					p.label(id), s, r, regions[r].First, regions[r].Last)
			}
		}
	}
	return nil
}

func (p *Problem) validateShare(s Share) error {
	switch {
	case !p.validID(s.Dst):
		return fmt.Errorf("unknown buffer %d", s.Dst)
	case !p.validID(s.Src):
		return fmt.Errorf("unknown buffer %d", s.Src)
	case !slices.Contains(p.Buffers[s.Dst].Writes, s.Step):
		return fmt.Errorf("step %d does not write %s", s.Step, p.label(s.Dst))
	case !slices.Contains(p.Buffers[s.Src].Reads, s.Step):
		return fmt.Errorf("step %d does not read %s", s.Step, p.label(s.Src))
	}
	return nil
}

// validateRegions checks the tree. Since parents stand before children and
// siblings in step order, one pass with the end of each region's last child
// suffices.
func validateRegions(regions []Region) error {
	if len(regions) == 0 {
		return nil
	}
	if r := regions[0]; r.Kind != Body || r.Parent != -1 || r.First != 0 || r.Last < -1 {
		return fmt.Errorf(
			"plan: region 0 must be a body without parent (-1) from step 0 on, not a %v of %d from step "+
				"%d to %d",
			r.Kind, r.Parent, r.First, r.Last)
	}
	next := make([]int, len(regions))     // first step after the children seen so far
	children := make([]int, len(regions)) // how many children were seen
	for i, r := range regions {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("plan: region %d (%v, steps %d..%d): %s", i, r.Kind, r.First, r.Last,
				fmt.Sprintf(format, args...))
		}
		next[i] = r.First
		if i == 0 {
			continue
		}
		if r.Kind > Cond {
			return fail("unknown kind %d", r.Kind)
		}
		if r.Parent < 0 || r.Parent >= i {
			return fail("parent %d does not stand before it", r.Parent)
		}
		parent := regions[r.Parent]
		switch {
		case r.First < parent.First || r.Last < r.First-1 || r.Last > parent.Last:
			return fail("not inside its parent, steps %d..%d", parent.First, parent.Last)
		case r.First < next[r.Parent]:
			return fail("overlaps the sibling before it or stands in wrong order")
		case parent.Kind == Cond && r.Kind != Body:
			return fail("an arm of a cond must be a body")
		case parent.Kind == Cond && r.First != next[r.Parent]:
			return fail("steps between the arms of a cond")
		case r.Kind == Test && (parent.Kind != Loop || children[r.Parent] > 0 ||
			r.First != parent.First):
			return fail("a test must be the first item of a loop")
		}
		next[r.Parent] = r.Last + 1
		children[r.Parent]++
	}
	for i, r := range regions {
		if r.Kind == Cond && (children[i] == 0 || next[i] != r.Last+1) {
			return fmt.Errorf("plan: region %d (cond, steps %d..%d): its arms do not cover it", i,
				r.First, r.Last)
		}
	}
	return nil
}
