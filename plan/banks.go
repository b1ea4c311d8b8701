package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bank is a memory that a machine has.
type Bank struct {
	Name string
	Size int64 // bytes
}

// Spread chooses the bank of every buffer of p, which it notes in Buffer.Memory, and has
// each bank planned. The first bank is the fastest: it gets what is moved most for each
// byte that it takes, then the next one what is left. What lies over another may do so
// only in one bank. If that leaves some without room, buffers are spread by their sizes. The
// error is a *FitError if no way is found. Without Banks it
// is how.Plan.
func Spread(p *Problem, how Planner) (*Plan, error) {
	if len(p.Banks) == 0 {
		return how.Plan(p)
	}
	for i := range p.Buffers {
		p.Buffers[i].Memory = 0
	}
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	if _, apart := how.(Disjoint); apart {
		a.apart()
	}
	a.connect(unlimited)
	s := &spreader{analysis: a, repacks: maxRepacks}
	sized := bySize(a.nodes, allNodes(a.nodes))
	moved := slices.Clone(sized)
	slices.SortStableFunc(moved, func(i, j int) int {
		return cmp.Compare(s.density(j), s.density(i))
	})
	forward := make([]int, len(p.Banks))
	for k := range forward {
		forward[k] = k
	}
	largest := slices.Clone(forward)
	slices.SortStableFunc(largest, func(i, j int) int {
		return cmp.Compare(p.Banks[j].Size, p.Banks[i].Size)
	})
	smallest := slices.Clone(largest)
	slices.Reverse(smallest)
	for _, try := range []struct{ order, banks []int }{{moved, forward}, {sized, forward},
		{sized, largest}, {sized, smallest}, {sized, largest[:1]}} {
		placed := s.spread(try.order, try.banks)
		if pl, err := s.planned(how, placed); pl != nil || err != nil {
			return pl, err
		}
	}
	return nil, s.fail(how)
}

// apart makes all nodes alive at all times.
func (a *analysis) apart() {
	for i := range a.nodes {
		a.nodes[i].live = []Span{{0, max(0, a.steps-1)}}
	}
	a.pairs, a.permitted = nil, nil
}

// maxRepacks is how often all buffers of a bank are placed anew for the sake of one more.
const maxRepacks = 1 << 9

// spreader chooses banks.
type spreader struct {
	*analysis
	bank    []int // by node
	offsets []int64
	repacks int
}

// density is how many bytes are moved for each that a node takes.
func (s *spreader) density(i int) float64 {
	n := &s.nodes[i]
	return float64(s.problem.Buffers[n.id].Traffic) / float64(max(n.size, 1))
}

// spread fills one bank after the other, with nodes in an order. It reports whether it has
// placed all; those that it could not are in the last bank.
func (s *spreader) spread(order, banks []int) bool {
	s.bank, s.offsets = make([]int, len(s.nodes)), make([]int64, len(s.nodes))
	left := slices.Clone(order)
	for _, b := range banks {
		pl := newPlacer(s.nodes)
		for i := range pl.offsets {
			pl.offsets[i] = -1
		}
		var in, out []int
		for _, i := range left {
			if s.add(pl, in, i, s.problem.Banks[b].Size) {
				in = append(in, i)
			} else {
				out = append(out, i)
			}
		}
		for _, i := range in {
			s.bank[i], s.offsets[i] = b, pl.offsets[i]
		}
		left = out
	}
	for _, i := range left {
		s.bank[i] = banks[len(banks)-1]
	}
	return len(left) == 0
}

// add places a node in a bank that has others, and reports whether there is room.
func (s *spreader) add(pl *placer, in []int, i int, size int64) bool {
	n := &s.nodes[i]
	if n.size > size {
		return false
	}
	if at := pl.choose(i, lowestFit); at+n.size <= size {
		pl.put(i, at)
		return true
	}
	if s.repacks == 0 {
		return false
	}
	s.repacks--
	was := slices.Clone(pl.offsets)
	pl.run(bySize(s.nodes, append(slices.Clone(in), i)), lowestFit)
	if pl.size[0] <= size {
		return true
	}
	pl.offsets, pl.size[0] = was, 0
	for _, k := range in {
		pl.size[0] = max(pl.size[0], was[k]+s.nodes[k].size)
	}
	return false
}

// planned plans each bank; nil if the buffers do not fit. Placed says that they do where
// spread has put them.
func (s *spreader) planned(how Planner, placed bool) (*Plan, error) {
	p := s.problem
	for i := range s.nodes {
		p.Buffers[s.nodes[i].id].Memory = s.bank[i]
		s.nodes[i].memory = s.bank[i]
	}
	defer func() {
		for i := range s.nodes {
			s.nodes[i].memory = 0
		}
	}()
	pl, err := how.Plan(p)
	if err != nil {
		return nil, err
	}
	for m, mem := range pl.Memories {
		switch {
		case mem.Size <= p.Banks[m].Size:
		case placed: // how is no better than the search for banks
			return s.plan(s.offsets), nil
		default:
			return nil, nil
		}
	}
	return pl, nil
}

// FitError says that buffers do not fit into the banks.
type FitError struct {
	Name  string // of the problem
	Banks []Bank
	Bytes int64 // that one bank for all would need
	// Peak are the buffers alive at the step at which most is, the largest first.
	Peak []Buffer
}

func (s *spreader) fail(how Planner) error {
	p := s.problem
	for i := range p.Buffers {
		p.Buffers[i].Memory = 0
	}
	pl, err := how.Plan(p)
	if err != nil {
		return err
	}
	e := &FitError{Name: p.Name, Banks: p.Banks, Bytes: pl.Size()}
	at := s.bound()[0].Step
	for _, i := range bySize(s.nodes, allNodes(s.nodes)) {
		if n := &s.nodes[i]; n.size > 0 && holds(n.live, at) {
			e.Peak = append(e.Peak, p.Buffers[n.id])
		}
	}
	return e
}

// Error has a table of what takes the memory.
func (e *FitError) Error() string {
	var b strings.Builder
	var banks []string
	sum := int64(0)
	for _, k := range e.Banks {
		banks = append(banks, fmt.Sprintf("%s %d", k.Name, k.Size))
		sum += k.Size
	}
	fmt.Fprintf(&b, "method %s does not fit: the banks have %d bytes (%s), one bank would need %d",
		e.Name, sum, strings.Join(banks, ", "), e.Bytes)
	if e.Bytes <= sum {
		b.WriteString("; they leave no room for a buffer as a whole")
	}
	b.WriteString("\nat the same time are alive:")
	for _, x := range e.Peak {
		fmt.Fprintf(&b, "\n%12d  %s", x.Size, x.Name)
	}
	return b.String()
}
