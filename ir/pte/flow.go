package pte

import (
	"cmp"
	"slices"
)

// What may have happened to a tensor's data when an instruction is reached: the
// union over the paths that lead there.
type history uint8

const (
	unset   history = 1 << iota // nobody has written it
	given                       // it is what the caller gave
	initial                     // it is what it was when the method was called
	written                     // an instruction wrote it
	lost                        // something else was written over it
)

// home is where a tensor's data is when the method is loaded.
type home struct {
	kind   homeKind
	memory int32 // planned memory, or the caller's: -1 less the value's index
	lo, hi uint64
}

type homeKind uint8

const (
	nowhere homeKind = iota
	constant
	memory
)

// overlaps is false for homes that are no memory: they have no extent.
func (h *home) overlaps(o *home) bool {
	return h.lo < o.hi && o.lo < h.hi && h.memory == o.memory
}

// compare orders homes by memory, then by where they are in it.
func (h *home) compare(o *home) int {
	return cmp.Or(cmp.Compare(h.memory, o.memory), cmp.Compare(h.lo, o.lo), cmp.Compare(h.hi, o.hi),
		cmp.Compare(h.kind, o.kind))
}

// freed is the home, as an index, of tensors whose memory was given back.
const freed int32 = -1

// These bound what the look at memory takes: its time, in values looked at, and
// the bytes it holds. Programs that exporters write take far less.
const (
	maxSteps = 1 << 28
	maxHeld  = 1 << 26
)

// flow follows data through the instructions of a method.
type flow struct {
	*planVerifier
	homes   []home
	index   *homeIndex
	tensors []int32 // values that are tensors with data
	// by value: no instruction writes it or moves its data, it is no input and has no initial data
	plain    []bool
	viewed   []bool // by value: a view of something that has no memory of its own
	still    []bool // by value: a tensor with data, which no instruction moves
	empty    []bool // by value: a tensor of no bytes
	input    []bool
	constant []bool // by value: a bool that no instruction changes
	carried  []bool // by value: its data of one call is read by the next
	moved    []int  // by value: the instruction that moved another to it, -1 for none
	wanders  []bool // by value: it is another tensor when a call ends
	culprit  []int  // by value: an instruction that wrote over it, -1 for none
	steps    int
	held     int
	speak    bool // problems are reported, which they are not while loops are followed
}

// memory checks that tensors are read only while they hold their data.
func (p *planVerifier) memory() {
	f := newFlow(p)
	entry := f.entry()
	var exit *state
	for {
		f.carried = make([]bool, len(p.plan.Values))
		exit = f.run(entry.clone())
		again := false
		if exit != nil {
			again = entry.joinPlaces(exit) // what moved stays moved until the next call
			for v, places := range exit.at {
				if !f.input[v] && !slices.Equal(places, []int32{v}) {
					f.wanders[v] = true
				}
			}
		}
		if !again || f.spent() {
			break
		}
	}
	if f.speak = !f.spent(); f.speak {
		exit = f.run(entry.clone())
	}
	if f.spent() {
		p.bad(-1, "its use of memory is too entangled to follow: %d steps, %d bytes",
			f.steps, f.held)
		return
	}
	if exit != nil {
		f.end(exit)
	}
}

func (f *flow) spent() bool { return f.steps > f.verifier.steps || f.held > maxHeld }

func newFlow(p *planVerifier) *flow {
	n := len(p.plan.Values)
	f := &flow{planVerifier: p, homes: make([]home, n), plain: make([]bool, n),
		input: make([]bool, n), still: make([]bool, n), empty: make([]bool, n),
		constant: make([]bool, n), culprit: make([]int, n), moved: make([]int, n),
		wanders: make([]bool, n), viewed: make([]bool, n)}
	output := make([]bool, n)
	for _, i := range p.plan.Inputs {
		f.input[i] = true
	}
	for _, i := range p.plan.Outputs {
		output[i] = true
	}
	for i, v := range p.plan.Values {
		t, ok := v.(*Tensor)
		if !ok {
			_, f.constant[i] = v.(Bool)
			f.constant[i] = f.constant[i] && !f.input[i]
			continue
		}
		bytes, _ := t.NBytes()
		if f.empty[i] = bytes == 0; bytes > 0 {
			f.tensors, f.still[i] = append(f.tensors, int32(i)), true
		}
		f.plain[i] = t.Allocation != nil && !f.input[i] && !hasInitial(t)
		switch {
		case t.Allocation != nil:
			f.homes[i] = home{memory, int32(t.Allocation.MemoryID), t.Allocation.Offset,
				t.Allocation.Offset + uint64(bytes)}
		case !p.writable(int32(i)):
			f.homes[i].kind = constant
		case f.input[i] || output[i]:
			f.homes[i] = home{memory, -1 - int32(i), 0, uint64(bytes)}
		}
	}
	for c, effects := range p.calls {
		for i, e := range effects {
			for _, t := range e.outs {
				f.plain[t] = false
			}
			if e.scalar >= 0 {
				f.constant[e.scalar] = false
			}
			if e.view {
				f.still[e.outs[0]] = false
				f.viewed[e.outs[0]] = p.plan.Values[e.outs[0]].(*Tensor).Allocation == nil
			}
			switch in := p.plan.Chains[c].Instructions[i].(type) {
			case MoveCall:
				f.moved[in.To] = i
				f.plain[in.To], f.constant[in.To], f.still[in.To] = false, false, false
			case FreeCall:
				f.still[in.Value] = false
			}
		}
	}
	f.index = newHomeIndex(f)
	return f
}

// hasInitial reports that a planned tensor gets data when the method is loaded.
func hasInitial(t *Tensor) bool {
	return t.Allocation != nil && (t.DataIndex != 0 || t.ExtraInfo != nil && t.ExtraInfo.External)
}

// entry is the state before the first instruction. State has its data first: what
// it had, or a host that zeroes memory gave it. State is what has initial data, a
// name, or is changed in place. Inputs are copied in over it.
func (f *flow) entry() *state {
	s := newState(f)
	for _, i := range f.tensors {
		s.set(i, unset)
	}
	held := make([]bool, len(f.plan.Values))
	for _, effects := range f.calls {
		for _, e := range effects {
			for _, t := range e.held {
				held[t] = true
			}
		}
	}
	for _, i := range f.tensors {
		t := f.plan.Values[i].(*Tensor)
		if f.homes[i].kind == constant {
			s.set(i, written)
		} else if t.Allocation != nil && !f.input[i] && s.history(i) != initial &&
			(hasInitial(t) || held[i] || t.ExtraInfo != nil && t.ExtraInfo.Name != "") {
			f.write(s, i, true, initial, -1)
		}
	}
	for _, i := range f.tensors {
		if f.input[i] {
			f.write(s, i, false, given, -1)
		}
	}
	return s
}
