package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// simulation executes a program in memory laid out by a plan. It knows nothing
// of lifetimes: each write puts a fresh tag in the bytes it writes and remembers
// it per buffer, each read compares memory with what its buffer should hold.
type simulation struct {
	p       *Problem
	pl      *Plan
	rng     *rand.Rand
	poison  [][]BufferID // by step, or nil: buffers to overwrite with garbage before it
	mem     [][]uint64   // by memory, a tag per byte
	want    [][]uint64   // by root, what it should hold; 0: anything
	tag     uint64
	budget  int // steps to run at most
	reads   [][]BufferID
	writes  [][]BufferID
	shares  [][]Share
	regions []Region
}

// simulate runs the program a number of times with random decisions.
func simulate(p *Problem, pl *Plan, poison [][]BufferID, rng *rand.Rand, runs int) error {
	sim := &simulation{p: p, pl: pl, rng: rng, poison: poison, regions: p.regions()}
	n := sim.regions[0].Last + 1
	sim.reads, sim.writes, sim.shares = make([][]BufferID, n), make([][]BufferID, n),
		make([][]Share, n)
	for i, b := range p.Buffers {
		for _, s := range b.Reads {
			sim.reads[s] = append(sim.reads[s], BufferID(i))
		}
		for _, s := range b.Writes {
			sim.writes[s] = append(sim.writes[s], BufferID(i))
		}
	}
	for _, s := range p.Shares {
		sim.shares[s.Step] = append(sim.shares[s.Step], s)
	}
	for range runs {
		sim.mem = nil
		for _, m := range pl.Memories {
			sim.mem = append(sim.mem, make([]uint64, m.Size))
		}
		sim.want = make([][]uint64, len(p.Buffers))
		for i, b := range p.Buffers {
			sim.want[i] = make([]uint64, b.Size)
		}
		sim.budget = 400
		if err := sim.region(0); err != nil {
			return err
		}
	}
	return nil
}

// enter forgets the local buffers of region r.
func (sim *simulation) enter(r int) {
	for i, b := range sim.p.Buffers {
		if b.Alias == nil && b.Region == r {
			clear(sim.want[i])
		}
	}
}

func (sim *simulation) children(r int) []int {
	var list []int
	for i, c := range sim.regions {
		if i > 0 && c.Parent == r {
			list = append(list, i)
		}
	}
	return list
}

func (sim *simulation) region(r int) error {
	reg, kids := sim.regions[r], sim.children(r)
	switch reg.Kind {
	case Cond:
		sim.enter(r)
		return sim.region(kids[sim.rng.IntN(len(kids))])
	case Loop:
		test := len(kids) > 0 && sim.regions[kids[0]].Kind == Test
		for trips := sim.rng.IntN(4); ; trips-- {
			stop := trips == 0 || sim.budget <= 0
			if stop && !test {
				return nil
			}
			sim.enter(r)
			if test {
				if err := sim.region(kids[0]); err != nil || stop {
					return err
				}
				if err := sim.items(sim.regions[kids[0]].Last+1, reg.Last, kids[1:]); err != nil {
					return err
				}
			} else if err := sim.items(reg.First, reg.Last, kids); err != nil {
				return err
			}
		}
	}
	sim.enter(r)
	return sim.items(reg.First, reg.Last, kids)
}

func (sim *simulation) items(first, last int, kids []int) error {
	s := first
	for _, k := range kids {
		for ; s < sim.regions[k].First; s++ {
			if err := sim.step(s); err != nil {
				return err
			}
		}
		if err := sim.region(k); err != nil {
			return err
		}
		s = sim.regions[k].Last + 1
	}
	for ; s <= last; s++ {
		if err := sim.step(s); err != nil {
			return err
		}
	}
	return nil
}

// bytes is where a buffer lies in memory, and what those bytes should be.
func (sim *simulation) bytes(id BufferID) (mem, want []uint64) {
	root, shift := sim.p.Root(id)
	at, size := sim.pl.Offsets[id], sim.p.Buffers[id].Size
	return sim.mem[sim.p.Buffers[root].Memory][at : at+size], sim.want[root][shift : shift+size]
}

func (sim *simulation) fresh() uint64 { sim.tag++; return sim.tag }

func (sim *simulation) step(s int) error {
	sim.budget--
	if sim.poison != nil {
		for _, id := range sim.poison[s] {
			mem, _ := sim.bytes(id)
			for i := range mem {
				mem[i] = sim.fresh()
			}
		}
	}
	// The kernel may write any of its outputs before it has read anything, but
	// not where a share makes it work in place, nor where it wants the old bytes.
	for _, w := range sim.writes[s] {
		root, _ := sim.p.Root(w)
		if slices.ContainsFunc(sim.reads[s], func(r BufferID) bool {
			o, _ := sim.p.Root(r)
			return o == root
		}) {
			continue
		}
		inPlace := int64(0)
		for _, sh := range sim.shares[s] {
			if sh.Dst == w && sim.pl.Offsets[sh.Src] == sim.pl.Offsets[w] {
				inPlace = max(inPlace, sim.p.Buffers[sh.Src].Size)
			}
		}
		mem, _ := sim.bytes(w)
		for i := range mem {
			if int64(i) >= inPlace {
				mem[i] = sim.fresh()
			}
		}
	}
	for _, r := range sim.reads[s] {
		mem, want := sim.bytes(r)
		for i := range mem {
			if want[i] != 0 && mem[i] != want[i] {
				return fmt.Errorf("step %d reads byte %d of %s: destroyed", s, i, sim.p.label(r))
			}
		}
	}
	for _, w := range sim.writes[s] {
		mem, want := sim.bytes(w)
		from, to := 0, len(mem)
		if slices.Contains(sim.reads[s], w) && to > 0 { // an update writes what it likes
			from = sim.rng.IntN(to)
			to = from + sim.rng.IntN(to-from+1)
		}
		tag := sim.fresh()
		for i := from; i < to; i++ {
			mem[i], want[i] = tag, tag
		}
	}
	return nil
}
