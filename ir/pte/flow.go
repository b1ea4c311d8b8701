package pte

import (
	"cmp"
	"maps"
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
	state   []int32 // tensors that are said to be state
	homes   []home
	index   *homeIndex
	tensors []int32 // values that are tensors with data
	// by value: it is no input, has no initial data, and no instruction writes or moves it
	plain   []bool
	viewed  []bool // by value: a view of something that has no memory of its own
	still   []bool // by value: a tensor with data, which no instruction moves
	empty   []bool // by value: a tensor of no bytes
	input   []bool
	fixed   map[int32]bool // see FixedBools
	carried []bool         // by value: its data of one call is read by the next
	moved   []int          // by value: the instruction that moved another to it, -1 for none
	wanders []bool         // by value: it is another tensor when a call ends
	culprit []int          // by value: an instruction that wrote over it, -1 for none
	steps   int
	held    int
	speak   bool // problems are reported, which they are not while loops are followed
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
		fixed: p.plan.FixedBools(), culprit: make([]int, n), moved: make([]int, n),
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
			for _, t := range e.Writes {
				f.plain[t] = false
			}
			if e.View {
				f.still[e.Writes[0]] = false
				f.viewed[e.Writes[0]] = p.plan.Values[e.Writes[0]].(*Tensor).Allocation == nil
			}
			switch in := p.plan.Chains[c].Instructions[i].(type) {
			case MoveCall:
				f.moved[in.To] = i
				f.plain[in.To], f.still[in.To] = false, false
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
	return t.Allocation != nil && (t.DataIndex != 0 || t.IsExternal())
}

// isState reports that a planned tensor is said to be state: it gets data when the method is
// loaded, or has a name.
func isState(t *Tensor) bool {
	return hasInitial(t) || t.ExtraInfo != nil && t.ExtraInfo.Name != ""
}

// inState reports whether a tensor lies where one does that is said to be state.
func (f *flow) inState(v int32) bool {
	return slices.ContainsFunc(f.state, func(o int32) bool {
		return o == v || f.homes[o].overlaps(&f.homes[v])
	})
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
			for _, t := range e.Held {
				held[t] = true
			}
		}
	}
	for _, i := range f.tensors {
		t := f.plan.Values[i].(*Tensor)
		if f.homes[i].kind == constant {
			s.set(i, written)
		} else if t.Allocation != nil && !f.input[i] && s.history(i) != initial &&
			(isState(t) || held[i]) {
			if isState(t) {
				f.state = append(f.state, i)
			}
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

// run follows all chains and returns what holds at the end, nil if no path leads
// there.
func (f *flow) run(s *state) *state {
	for c := range f.plan.Chains {
		if s = f.chain(c, s); s == nil {
			break
		}
	}
	return s
}

// chain follows a chain until nothing new is found, then once more to report.
// States are kept where paths meet: at the first instruction, behind jumps and
// where they lead.
func (f *flow) chain(c int, in *state) *state {
	instructions := f.plan.Chains[c].Instructions
	n := len(instructions)
	meets := make([]bool, n+1)
	meets[0], meets[n] = true, true
	for i, in := range instructions {
		if j, ok := in.(JumpFalseCall); ok {
			meets[i+1], meets[j.Destination] = true, true
		}
	}
	states := map[int]*state{0: in}
	f.held = 0
	work := []int{0}
	arrive := func(i int, s *state, queue bool) {
		if old, ok := states[i]; !ok {
			states[i] = s.clone()
			f.held += states[i].bytes(s)
		} else if !old.join(s) {
			return
		}
		if queue && i < n {
			work = append(work, i)
		}
	}
	block := func(i int, report bool) {
		s := states[i].clone()
		for {
			if f.spent() {
				return
			}
			next, jump := f.step(s, c, i, report)
			if report { // nothing new arrives any more
				if i++; next < 0 || meets[i] {
					return
				}
				continue
			}
			if jump >= 0 {
				arrive(jump, s, true)
			}
			if i++; next < 0 {
				return
			}
			if meets[i] {
				arrive(i, s, true)
				return
			}
		}
	}
	for len(work) > 0 && !f.spent() {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if i < n {
			block(i, false)
		}
	}
	if f.speak {
		for _, i := range slices.Sorted(maps.Keys(states)) {
			if i < n {
				block(i, true)
			}
		}
	}
	return states[n]
}

// step applies an instruction. It returns the next one and the one it may jump
// to, -1 where there is no such way.
func (f *flow) step(s *state, c, i int, report bool) (next, jump int) {
	e := &f.calls[c][i]
	at := Problem{Chain: c, Instruction: i, Value: -1}
	next, jump = i+1, -1
	switch in := f.plan.Chains[c].Instructions[i].(type) {
	case KernelCall:
		at.Operator = f.plan.Operators[in.Op].String()
	case DelegateCall:
		at.Operator = f.plan.Delegates[in.Delegate].ID
	case MoveCall:
		if _, ok := f.plan.Values[in.To].(*Tensor); ok {
			f.alias(s, in.To, in.From)
		}
		return next, jump
	case FreeCall:
		s.move(in.Value, []int32{freed})
		s.set(in.Value, unset)
		return next, jump
	case JumpFalseCall:
		jump = int(in.Destination)
		switch holds, known := f.fixed[in.Cond]; {
		case known && holds:
			jump = -1
		case known:
			next = -1
		}
	}
	say := func(value int32, format string, args ...any) {
		if report {
			at.Value = int(value)
			f.problem(at, format, args...)
		}
	}
	if e.Delegate {
		if inputs := f.delegate(s, e.Updates, i, say); report {
			e.Reads, e.Writes, e.Updates = e.Updates[:inputs], e.Updates[inputs:], nil
		}
		return next, jump
	}
	for _, t := range e.Reads {
		f.read(s, t, say)
	}
	for _, t := range e.Updates {
		f.read(s, t, say)
	}
	if e.View {
		f.alias(s, e.Writes[0], e.Reads[0])
		if h := f.homes[e.Writes[0]]; h.kind != nowhere && !f.sameHome(s, e.Writes[0], e.Reads[0]) {
			say(e.Writes[0], "a view of value %d with memory of its own", e.Reads[0])
		}
		return next, jump
	}
	f.disjoint(s, e, say)
	for _, t := range e.Updates {
		f.write(s, t, true, written, i)
	}
	for _, t := range e.Writes {
		if f.place(s, t, say) && f.moveLasts(s, t) {
			say(t, "it is written before instruction %d moves another tensor to it, which is "+
				"still there in the next call", f.moved[t])
		}
		f.write(s, t, false, written, i)
	}
	return next, jump
}

// delegate follows the tensors that a delegate takes: inputs, then outputs. A constant is an
// input, and all before it; of the others the first that holds nothing to be read is an output,
// and all behind it. One that lies where another tensor was may hold that, so that it seems to be
// an input; the last is an output all the same. It returns how many are inputs.
func (f *flow) delegate(s *state, tensors []int32, instruction int, say reporter) (inputs int) {
	for i, t := range tensors {
		if f.homes[t].kind == constant {
			inputs = i + 1
		}
	}
	// What is state only because something changes it in place may be the place of a result.
	empty := func(t int32) bool {
		return s.history(t)&(unset|lost) != 0 || s.history(t)&initial != 0 && !f.inState(t)
	}
	for ; inputs < len(tensors)-1 && !empty(tensors[inputs]); inputs++ {
	}
	for _, t := range tensors[:inputs] {
		f.read(s, t, say)
	}
	for _, t := range tensors[inputs:] {
		if f.place(s, t, say) {
			f.write(s, t, false, written, instruction)
		}
	}
	return inputs
}

type reporter func(value int32, format string, args ...any)

// alias gives value to what value from is: memory and all.
func (f *flow) alias(s *state, to, from int32) {
	s.set(to, s.history(from))
	f.culprit[to] = f.culprit[from]
	s.move(to, s.places(from))
}

// place reports a tensor without memory; it returns whether there is some.
func (f *flow) place(s *state, v int32, say reporter) bool {
	if f.empty[v] {
		return true
	}
	for _, o := range s.places(v) {
		if o == freed {
			say(v, "its memory was freed")
			return false
		}
		if f.homes[o].kind == nowhere {
			say(v, "it has no memory: it is not planned, no constant, input or output, "+
				"and nothing has moved it anywhere")
			return false
		}
	}
	return true
}

func (f *flow) read(s *state, v int32, say reporter) {
	if f.empty[v] || !f.place(s, v, say) {
		return
	}
	switch h := s.history(v); {
	case h&lost != 0 && f.culprit[v] < 0:
		say(v, "it is read, but an input lies over it")
	case h&lost != 0:
		say(v, "it is read, but instruction %d has written over it", f.culprit[v])
	case h&(unset|initial) != 0 && f.moveLasts(s, v):
		say(v, "it is read before instruction %d moves another tensor to it, which is still "+
			"there in the next call",
			f.moved[v])
	case h&unset != 0 && !f.compiler:
		say(v, "it is read before anything is written to it")
	case h&initial != 0:
		for _, o := range s.places(v) {
			if s.history(o)&initial != 0 {
				f.carried[o] = true
			}
		}
	}
}

// moveLasts reports whether v may be either itself or what a move of the call before made it.
func (f *flow) moveLasts(s *state, v int32) bool {
	return f.wanders[v] && slices.Contains(s.places(v), v)
}

// relation compares the places of two values: whether any of one overlaps any of
// the other, and whether both are the same one.
func (f *flow) relation(s *state, a, b int32) (overlap, same bool) {
	_, movedA := s.at[a]
	_, movedB := s.at[b]
	if !movedA && !movedB {
		return a == b || f.homes[a].overlaps(&f.homes[b]), a == b || f.homes[a] == f.homes[b]
	}
	inA, inB := s.places(a), s.places(b)
	f.steps += len(inA) * len(inB)
	for _, x := range inA {
		for _, y := range inB {
			if x != freed && y != freed && (x == y || f.homes[x].overlaps(&f.homes[y])) {
				overlap = true
				same = len(inA) == 1 && len(inB) == 1 && (x == y || f.homes[x] == f.homes[y])
			}
		}
	}
	return overlap, same
}

func (f *flow) sameHome(s *state, a, b int32) bool {
	return !slices.ContainsFunc(s.places(b), func(x int32) bool {
		return x == freed || f.homes[x].kind != f.homes[a].kind ||
			f.homes[x].memory != f.homes[a].memory || f.homes[x].lo != f.homes[a].lo
	})
}

// disjoint reports what is written and overlaps what else is or, in part, an argument.
func (f *flow) disjoint(s *state, e *Effect, say reporter) {
	written := append(slices.Clip(e.Writes), e.Updates...)
	f.steps += len(written) * (len(written) + len(e.Reads))
	for i, out := range written {
		if f.empty[out] || f.spent() {
			continue
		}
		for _, other := range written[:i] {
			if overlap, _ := f.relation(s, out, other); overlap && !f.empty[other] {
				say(out, "it overlaps value %d, which the call writes too", other)
			}
		}
		for _, arg := range e.Reads {
			if overlap, same := f.relation(s, out, arg); overlap && !same && !f.empty[arg] {
				say(out, "it is written and overlaps value %d, which the call reads, in part", arg)
			}
		}
	}
}

// end checks what is left when the method returns: its outputs, and the state
// that its next call reads.
func (f *flow) end(s *state) {
	say := func(v int32, format string, args ...any) { f.bad(int(v), format, args...) }
	for i, v := range f.plan.Outputs {
		if _, ok := f.plan.Values[v].(*Tensor); !ok || f.empty[v] || !f.place(s, v, say) {
			continue
		}
		switch h := s.history(v); {
		case h&lost != 0 && f.culprit[v] < 0:
			f.bad(int(v), "output %d: an input lies over it", i)
		case h&lost != 0:
			f.bad(int(v), "output %d: instruction %d has written over it", i, f.culprit[v])
		case h&unset != 0 && !f.compiler:
			f.bad(int(v), "output %d: there is a path on which nothing is written to it", i)
		}
	}
	for _, v := range f.tensors {
		if f.carried[v] && s.history(v)&lost != 0 {
			f.bad(int(v),
				"the method reads what the last call left in it, but instruction %d writes over it",
				f.culprit[v])
		}
	}
}
