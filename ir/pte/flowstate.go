package pte

import (
	"maps"
	"slices"
	"sort"
)

// span is how many histories a part holds, run how many parts a group.
const (
	span = 64
	run  = 16
)

// part is what happened to the tensors of a run of places. States share parts, and
// a part that is shared is not changed.
type part struct {
	history [span]history
	lying   [span]history // of each home, all that data has that may be there, and maybe more
	any     history       // all of lying
	shared  bool
}

// group is a run of parts, so that a state of many is cloned, and looked through,
// in fewer steps. States share groups as they share parts.
type group struct {
	parts  [run]*part // nil: none
	any    history    // of all parts
	shared bool
}

// state is what holds before an instruction, by value. The data of a tensor is
// in its own home unless at says in whose: more than one if paths differ. A state
// costs what is different from those it was made of.
type state struct {
	flow   *flow
	groups []*group // in the order of the index
	at     map[int32][]int32
	copied int // bytes of what was shared and is not
}

// partBytes and groupBytes are about what a part and a group take.
const (
	partBytes  = 2*span + 16
	groupBytes = 8*run + 16
)

func newState(f *flow) *state {
	s := &state{flow: f, at: map[int32][]int32{}}
	for k := range (len(f.index.values) + span - 1) / span {
		if k%run == 0 {
			s.groups = append(s.groups, &group{})
		}
		s.groups[k/run].parts[k%run] = &part{}
	}
	return s
}

func (s *state) clone() *state {
	s.flow.steps += len(s.groups) + len(s.at)
	for _, g := range s.groups {
		g.shared = true
	}
	return &state{flow: s.flow, groups: slices.Clone(s.groups), at: maps.Clone(s.at)}
}

// bytes is about what a state takes that is a clone of another.
func (s *state) bytes(of *state) int { return 8*len(s.groups) + of.copied + 64*len(s.at) }

// part returns the k-th part, which is not to be changed.
func (s *state) part(k int) *part { return s.groups[k/run].parts[k%run] }

func (s *state) history(v int32) history {
	p := int(s.flow.index.position[v])
	return s.part(p / span).history[p%span]
}

func (s *state) set(v int32, h history) {
	p := int(s.flow.index.position[v])
	if s.part(p / span).history[p%span] == h {
		return
	}
	s.mutable(p / span).history[p%span] = h
	places, moved := s.at[v]
	if !moved {
		s.lies(v, h)
	}
	for _, o := range places {
		s.lies(o, h)
	}
}

// lies notes that data with a history may be in the home of o.
func (s *state) lies(o int32, h history) {
	if o == freed {
		return
	}
	p := int(s.flow.index.position[o])
	if had := s.part(p / span).lying[p%span]; had|h != had {
		s.adds(p/span, p%span, h)
	}
}

// adds notes that data with a history may be in the i-th home of the k-th part.
func (s *state) adds(k, i int, h history) {
	part := s.mutable(k)
	part.lying[i] |= h
	part.any |= h
	s.groups[k/run].any |= h
}

// mutable returns the k-th part as one that no other state has, in a group that no
// other has.
func (s *state) mutable(k int) *part {
	g := s.groups[k/run]
	if g.shared {
		c := *g
		c.shared = false
		for _, p := range c.parts {
			if p != nil {
				p.shared = true
			}
		}
		g = &c
		s.groups[k/run] = g
		s.copied += groupBytes
	}
	if p := g.parts[k%run]; p.shared {
		c := *p
		c.shared = false
		g.parts[k%run] = &c
		s.copied += partBytes
	}
	return g.parts[k%run]
}

// sum finds anew what all data has that lies in the k-th part's homes, which is
// mutable, and in its group's.
func (s *state) sum(k int) {
	p, g := s.part(k), s.groups[k/run]
	p.any = 0
	for _, has := range p.lying {
		p.any |= has
	}
	g.any = 0
	for _, p := range g.parts {
		if p != nil {
			g.any |= p.any
		}
	}
}

// join adds what holds on another path and reports whether that is new.
func (s *state) join(o *state) bool {
	changed, copied := false, s.copied
	s.flow.steps += len(s.groups)
	for j, group := range o.groups {
		if group == s.groups[j] {
			continue
		}
		s.flow.steps += run
		for i, from := range group.parts {
			if from != nil && from != s.groups[j].parts[i] {
				changed = s.joinPart(j*run+i, from) || changed
			}
		}
	}
	s.flow.held += s.copied - copied
	return s.joinPlaces(o) || changed
}

// joinPart adds to the k-th part what another path has in its place.
func (s *state) joinPart(k int, from *part) bool {
	changed := false
	s.flow.steps += span
	for i, h := range from.history {
		if old := s.part(k).history[i]; old|h != old {
			s.mutable(k).history[i] |= h
			changed = true
		}
		if old, h := s.part(k).lying[i], from.lying[i]; old|h != old {
			s.adds(k, i, h)
		}
	}
	return changed
}

func (s *state) joinPlaces(o *state) bool {
	changed := false
	s.flow.steps += len(s.at) + len(o.at)
	for v := range s.at {
		if _, ok := o.at[v]; !ok {
			changed = s.joinPlace(v, []int32{v}) || changed
		}
	}
	for v, places := range o.at {
		changed = s.joinPlace(v, places) || changed
	}
	return changed
}

func (s *state) joinPlace(v int32, places []int32) bool {
	old := s.places(v)
	union := slices.Concat(old, places)
	slices.Sort(union)
	union = slices.Compact(union)
	if own := s.flow.homes[v]; own.kind == memory && slices.ContainsFunc(union, func(o int32) bool {
		return o != v && o != freed && s.flow.homes[o] == own
	}) { // a view that lies where it is planned
		union = slices.DeleteFunc(union, func(o int32) bool { return o == v })
	}
	changed := !slices.Equal(union, old)
	if changed {
		s.flow.held += 4 * len(union)
	}
	s.move(v, union) // even if it was there before: its history may be another
	return changed
}

// places returns the values in whose homes the data of v may be, sorted.
func (s *state) places(v int32) []int32 {
	if places, ok := s.at[v]; ok {
		return places
	}
	return []int32{v}
}

// move says where the data of v may be.
func (s *state) move(v int32, places []int32) {
	s.at[v] = places
	for _, o := range places {
		s.flow.index.host(o, v)
		s.lies(o, s.history(v))
	}
}

// homeIndex finds values by the memory they lie in.
type homeIndex struct {
	homes    []home
	values   []int32 // all, in the order of their homes
	position []int32 // by value: where in values it is
	// by position: the highest end of what lies before it in its memory, itself included
	reach  []uint64
	plain  []bool    // by part: one is plain
	some   []bool    // by group: one is plain
	guests [][]int32 // by value: those whose data was in its home in some state
	known  map[[2]int32]bool
}

func newHomeIndex(f *flow) *homeIndex {
	x := &homeIndex{homes: f.homes, position: make([]int32, len(f.homes)), guests: make([][]int32,
		len(f.homes)),
		known: map[[2]int32]bool{}}
	for i := range f.homes {
		x.values = append(x.values, int32(i))
	}
	slices.SortStableFunc(x.values, func(a, b int32) int { return x.homes[a].compare(&x.homes[b]) })
	parts := (len(x.values) + span - 1) / span
	x.plain, x.reach = make([]bool, parts), make([]uint64, len(x.values))
	x.some = make([]bool, (parts+run-1)/run)
	for p, v := range x.values {
		h := &x.homes[v]
		x.position[v], x.reach[p] = int32(p), h.hi
		if p > 0 && x.homes[x.values[p-1]].memory == h.memory {
			x.reach[p] = max(h.hi, x.reach[p-1])
		}
		if f.plain[v] {
			x.plain[p/span], x.some[p/span/run] = true, true
		}
	}
	return x
}

// near returns the positions between which all that overlaps a home lies, and those
// between which what has the same home lies.
func (x *homeIndex) near(h *home) (from, to, same, end int) {
	n := len(x.values)
	of := func(p int) *home { return &x.homes[x.values[p]] }
	from = sort.Search(n, func(p int) bool {
		return of(p).memory > h.memory || of(p).memory == h.memory && x.reach[p] > h.lo
	})
	to = sort.Search(n, func(p int) bool {
		return of(p).memory > h.memory || of(p).memory == h.memory && of(p).lo >= h.hi
	})
	same = sort.Search(n, func(p int) bool { return of(p).compare(h) >= 0 })
	end = sort.Search(n, func(p int) bool { return of(p).compare(h) > 0 })
	return from, to, same, end
}

// host notes that the data of v may be in the home of o.
func (x *homeIndex) host(o, v int32) {
	if o == freed || x.known[[2]int32{o, v}] {
		return
	}
	x.known[[2]int32{o, v}] = true
	x.guests[o] = append(x.guests[o], v)
}

const holds = given | initial | written // the tensor has data

// write notes that v holds data, and what that does to all that lies there. In
// place means that it was v's own data, so that v's views have it as well.
func (f *flow) write(s *state, v int32, inPlace bool, as history, instruction int) {
	w := &writing{f, s, v, inPlace, as, instruction}
	for _, o := range s.places(v) {
		if o != freed {
			w.home(o)
		}
	}
	s.set(v, as)
}

type writing struct {
	*flow
	s           *state
	value       int32
	inPlace     bool
	as          history
	instruction int
}

// home does to all that lies in the home of o what the writing does. Where no data
// is there is nothing to do but for those that have this very home.
func (w *writing) home(o int32) {
	h, x := &w.homes[o], w.index
	if h.lo == h.hi { // no memory, but it may have guests
		w.visit(o, true)
	}
	if h.kind != memory {
		return
	}
	alone := len(w.s.places(w.value)) == 1
	from, to, same, end := x.near(h)
	// settled reports whether there is nothing to do for data with a history that lies in
	// the homes from first on; plain says that one of those is.
	settled := func(first, number int, any history, plain bool) bool {
		w.steps++
		twins := first < end && same < first+number
		return any&holds == 0 && (!twins || any&unset == 0 && !plain && !w.inPlace)
	}
	for k := from / span; k*span < to; k++ {
		if j := k / run; (k%run == 0 || k == from/span) &&
			settled(j*run*span, run*span, w.s.groups[j].any, x.some[j]) {
			k = (j+1)*run - 1
			continue
		}
		if settled(k*span, span, w.s.part(k).any, x.plain[k]) {
			continue
		}
		w.steps += span
		changed := false
		for i := max(from-k*span, 0); i < min(span, to-k*span); i++ {
			p := k*span + i
			z := x.values[p]
			isTwin := same <= p && p < end
			if !w.changes(w.s.part(k).lying[i], isTwin, z) || z != o && !h.overlaps(&w.homes[z]) {
				continue
			}
			if alone && z != w.value && w.still[z] && x.guests[z] == nil {
				part := w.s.part(k)
				has := w.after(z, part.history[i], isTwin)
				if part.history[i] != has || part.lying[i] != has {
					part = w.s.mutable(k)
					part.history[i], part.lying[i] = has, has
					changed = true
				}
				continue
			}
			w.visit(z, isTwin)
			w.look(k, i)
		}
		if changed {
			w.s.sum(k)
		}
	}
}

// look finds anew what data has that lies in the i-th home of the k-th part.
func (w *writing) look(k, i int) {
	z := w.index.values[k*span+i]
	var has history
	if _, moved := w.s.at[z]; !moved {
		has = w.s.history(z)
	}
	w.steps += len(w.index.guests[z])
	for _, v := range w.index.guests[z] {
		if h := w.s.history(v); h|has != has && w.s.mayLie(v, z) {
			has |= h
		}
	}
	if w.s.part(k).lying[i] == has {
		return
	}
	w.s.mutable(k).lying[i] = has
	w.s.sum(k)
}

// changes reports whether the writing may change a history of x. A twin is in the
// same home.
func (w *writing) changes(h history, isTwin bool, x int32) bool {
	return h&holds != 0 || isTwin && (h&unset != 0 || w.plain[x] || w.inPlace)
}

// visit does to what lies in the home of z what the writing does.
func (w *writing) visit(z int32, isTwin bool) {
	if _, moved := w.s.at[z]; !moved {
		w.over(z)
	}
	w.steps += len(w.index.guests[z])
	for _, v := range w.index.guests[z] {
		if w.changes(w.s.history(v), isTwin, v) && w.s.mayLie(v, z) {
			w.over(v)
		}
	}
}

// mayLie reports whether v was moved and its data may be in the home of z.
func (s *state) mayLie(v, z int32) bool {
	places, moved := s.at[v]
	return moved && slices.Contains(places, z)
}

// over does to x what the writing does.
func (w *writing) over(x int32) {
	if x == w.value || w.empty[x] {
		return
	}
	if overlap, same := w.relation(w.s, x, w.value); overlap {
		w.s.set(x, w.after(x, w.s.history(x), same))
	}
}

// after returns what x has after the writing, which is over its data, that had h.
func (w *writing) after(x int32, h history, same bool) history {
	// To a compiler, a view that is nowhere is a copy of what was there.
	if same && (w.plain[x] || w.inPlace && !(w.compiler && w.viewed[x])) {
		return w.as
	}
	if h&holds != 0 {
		w.culprit[x] = w.instruction
		h = h&^holds | lost
	}
	if same && h&unset != 0 {
		h = h&^unset | w.as
	}
	return h
}
