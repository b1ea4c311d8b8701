package plan

// BufferID is the index of a buffer in Problem.Buffers.
type BufferID int

// RegionKind says how the items of a region (its own steps and its child
// regions, in step order) follow one another.
type RegionKind uint8

const (
	// Body runs its items once, in order. The root, an arm of a Cond and the
	// body of a Loop are Bodies.
	Body RegionKind = iota
	// Loop repeats its items zero or more times. It is left at the end of its
	// Test child, or, if it has none, before its first item.
	Loop
	// Test is the condition of a Loop, its first child, starting at the Loop's
	// first step. Inside it is a Body.
	Test
	// Cond runs exactly one of its children, the arms, which are Bodies that
	// cover it without gaps. "Perhaps nothing" is an empty arm.
	Cond
)

// String returns the kind's name in lower case.
func (k RegionKind) String() string {
	switch k {
	case Body:
		return "body"
	case Loop:
		return "loop"
	case Test:
		return "test"
	case Cond:
		return "cond"
	}
	return "unknown"
}

// Region is a node of the region tree. It spans the steps First..Last, both
// inclusive; an empty region has Last = First-1.
type Region struct {
	Kind   RegionKind
	Parent int // index in Problem.Regions, smaller than its own; of the root: -1
	First  int
	Last   int
}

// Alias makes a buffer a view: it owns no memory but lies Offset bytes after
// the start of Of, which may be a view itself. What is read and written through
// a view is read and written in the root.
type Alias struct {
	Of     BufferID
	Offset int64
}

// Buffer is a piece of memory. A view (Alias not nil) has its root's Region and
// Memory, whatever its own fields say.
type Buffer struct {
	Name   string // for messages and reports; need not be unique
	Size   int64  // bytes, may be zero
	Align  int64  // power of two; 0 means 1
	Reads  []int  // steps that want bytes the buffer held before, in any order
	Writes []int  // steps that write it; wholly, unless the step is in Reads too
	Region int    // index of the region whose every new execution forgets the bytes
	Alias  *Alias // nil for a root

	// Memory is the bank the buffer lies in. Offsets count from the start of
	// its bank, and buffers of different banks never meet.
	Memory int

	// Traffic is how many bytes are read and written of it while the program runs, for Spread.
	Traffic int64
}

// Share permits the call at Step to write Dst over Src: Dst may start at the
// very byte at which Src starts although both are in use at Step. It is the
// kernel's word that it has read a byte of Src before it writes Dst there, for
// the sizes at hand. It has effect only if it is safe: Step is the last to want
// Src's root, finds nothing in Dst's root yet, and touches neither of the two
// through another view. Giving a share that turns out unsafe is no error.
type Share struct {
	Step     int
	Dst, Src BufferID
}

// Problem is what a Planner gets. Regions[0] is the root, a Body from step 0 to
// the last step; a parent stands before its children and siblings stand in
// step order. Without Regions the program is straight-line code.
type Problem struct {
	Name    string // of the method, for planners that know about it
	Buffers []Buffer
	Shares  []Share
	Regions []Region
	// Banks are the memories that there are, the fastest first; nil: as many as buffers name,
	// without limits.
	Banks []Bank
}

// Root returns the buffer that owns the memory of id and how many bytes into
// it id starts. It must be called on a valid problem only.
func (p *Problem) Root(id BufferID) (BufferID, int64) {
	var off int64
	for p.Buffers[id].Alias != nil {
		a := p.Buffers[id].Alias
		off += a.Offset
		id = a.Of
	}
	return id, off
}

// regions returns the region tree, that of straight-line code if none is given.
func (p *Problem) regions() []Region {
	if len(p.Regions) > 0 {
		return p.Regions
	}
	last := -1
	for i := range p.Buffers {
		for _, s := range p.Buffers[i].Reads {
			last = max(last, s)
		}
		for _, s := range p.Buffers[i].Writes {
			last = max(last, s)
		}
	}
	return []Region{{Kind: Body, Parent: -1, First: 0, Last: last}}
}
