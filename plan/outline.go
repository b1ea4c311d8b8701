package plan

import "sort"

// outline is what one buffer sees of a program: the steps that touch it, and the
// regions around them. What stands between these without touching it is one step,
// through which bytes are held or not, whatever is in it. So the work for a
// buffer grows with how often it is touched and not with the program.
type outline struct {
	regions []Region // a tree in terms of the outline's steps; the root is the buffer's region
	spans   []Span   // by step of the outline, the steps it stands for
}

// program is the region tree as outlines are made of it.
type program struct {
	regions  []Region
	children [][]int
	inner    []int // by step, the innermost region
}

func newProgram(regions []Region) *program {
	p := &program{regions: regions, children: make([][]int, len(regions)),
		inner: make([]int, regions[0].Last+1)}
	for i, r := range regions {
		if i > 0 {
			p.children[r.Parent] = append(p.children[r.Parent], i)
		}
		for s := r.First; s <= r.Last && i > 0; s++ {
			p.inner[s] = i // parents stand before their children
		}
	}
	return p
}

// outline returns what a buffer of a region sees that steps touch, which are
// sorted, and these steps' places in it.
func (p *program) outline(region int, steps []int) (*outline, []int) {
	b := &outliner{program: p, out: &outline{}}
	b.region(region, -1, steps)
	return b.out, b.places
}

type outliner struct {
	*program
	out    *outline
	places []int
}

// add appends a step that stands for the steps from first to last, if any.
func (b *outliner) add(first, last int) {
	if first <= last {
		b.out.spans = append(b.out.spans, Span{first, last})
	}
}

// region adds region r, which the steps touch.
func (b *outliner) region(r, parent int, steps []int) {
	reg := b.regions[r]
	at := len(b.out.regions)
	b.out.regions = append(b.out.regions, Region{Kind: reg.Kind, Parent: parent,
		First: len(b.out.spans)})
	next := reg.First
	child := func(c int, touches []int) {
		b.add(next, b.regions[c].First-1)
		b.region(c, at, touches)
		next = b.regions[c].Last + 1
	}
	// take returns the steps that are in region c.
	take := func(c int) []int {
		n := sort.SearchInts(steps, b.regions[c].Last+1)
		taken := steps[:n]
		steps = steps[n:]
		return taken
	}
	kids := b.children[r]
	switch {
	case reg.Kind == Cond: // arms that do not touch it are ways past those that do
		for _, c := range kids {
			child(c, take(c))
		}
	case reg.Kind == Loop && len(kids) > 0 && b.regions[kids[0]].Kind == Test:
		child(kids[0], take(kids[0]))
	}
	for len(steps) > 0 {
		s := steps[0]
		c := b.inner[s]
		if c == r {
			b.add(next, s-1)
			b.places = append(b.places, len(b.out.spans))
			b.add(s, s)
			next, steps = s+1, steps[1:]
			continue
		}
		for b.regions[c].Parent != r {
			c = b.regions[c].Parent
		}
		child(c, take(c))
	}
	b.add(next, reg.Last)
	b.out.regions[at].Last = len(b.out.spans) - 1
}
