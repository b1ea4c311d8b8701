package pte

import (
	"maps"
	"slices"
)

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
		if b, ok := f.plan.Values[in.Cond].(Bool); ok && f.constant[in.Cond] {
			if bool(b) {
				jump = -1
			} else {
				next = -1
			}
		}
	}
	say := func(value int32, format string, args ...any) {
		if report {
			at.Value = int(value)
			f.problem(at, format, args...)
		}
	}
	for _, t := range e.reads {
		f.read(s, t, say)
	}
	for _, t := range e.inout {
		f.read(s, t, say)
	}
	if e.view {
		f.alias(s, e.outs[0], e.reads[0])
		if h := f.homes[e.outs[0]]; h.kind != nowhere && !f.sameHome(s, e.outs[0], e.reads[0]) {
			say(e.outs[0], "a view of value %d with memory of its own", e.reads[0])
		}
		return next, jump
	}
	f.apart(s, e, say)
	for _, t := range e.inout {
		f.write(s, t, true, written, i)
	}
	for _, t := range e.outs {
		f.place(s, t, say)
		f.write(s, t, false, written, i)
	}
	for _, t := range e.either { // a delegate's output where there is nothing to read
		if s.history(t)&unset == 0 {
			f.read(s, t, say)
		} else if f.place(s, t, say) {
			f.write(s, t, false, written, i)
		}
	}
	return next, jump
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
			say(v, "it has no memory: it is not planned, no constant, input or output, and nothing has moved it anywhere")
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
	case h&(unset|initial) != 0 && f.wanders[v] && slices.Contains(s.places(v), v):
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
	for _, x := range s.places(b) {
		if x == freed || f.homes[x].kind != f.homes[a].kind ||
			f.homes[x].memory != f.homes[a].memory || f.homes[x].lo != f.homes[a].lo {
			return false
		}
	}
	return true
}

// apart reports what is written and overlaps what else is or, in part, an argument.
func (f *flow) apart(s *state, e *effect, say reporter) {
	written := append(slices.Clip(e.outs), e.inout...)
	f.steps += len(written) * (len(written) + len(e.reads))
	for i, out := range written {
		if f.empty[out] || f.spent() {
			continue
		}
		for _, other := range written[:i] {
			if overlap, _ := f.relation(s, out, other); overlap && !f.empty[other] {
				say(out, "it overlaps value %d, which the call writes too", other)
			}
		}
		for _, arg := range e.reads {
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
