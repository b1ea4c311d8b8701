package raise

import (
	"math/bits"
	"slices"

	"github.com/etgen/etgen/ir/pte"
)

// A set of items: of a scalar its value, of a tensor the content of its place.
// For a tensor value that Move changes, item n+slot is the content of whatever
// place it then means.
type items []uint64

func newItems(n int) items { return make(items, (n+63)/64) }

func (s items) add(i int32)      { s[i/64] |= 1 << (i % 64) }
func (s items) remove(i int32)   { s[i/64] &^= 1 << (i % 64) }
func (s items) has(i int32) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s items) clone() items { return append(items(nil), s...) }

// parts is a set of few items, of those words of items that are not 0.
type parts []part

type part struct {
	word int32
	bits uint64
}

// partsOf returns a set of slots in any order.
func partsOf(slots []int32) (s parts) {
	slices.Sort(slots)
	for _, i := range slots {
		if n := len(s); n == 0 || s[n-1].word != i/64 {
			s = append(s, part{word: i / 64})
		}
		s[len(s)-1].bits |= 1 << (i % 64)
	}
	return s
}

// removeAll removes those of t.
func (s items) removeAll(t parts) {
	for _, p := range t {
		s[p.word] &^= p.bits
	}
}

// join adds those of t and reports whether that changed s.
func (s items) join(t items) bool {
	changed := false
	for i, x := range t {
		changed = changed || x&^s[i] != 0
		s[i] |= x
	}
	return changed
}

// each calls f for every item in order.
func (s items) each(f func(int32)) {
	for i, x := range s {
		for ; x != 0; x &= x - 1 {
			f(int32(64*i + bits.TrailingZeros64(x)))
		}
	}
}

// liveness knows for every block what may be read, from its start on, before it
// is written.
type liveness struct {
	r     *raiser
	moved map[int32]bool // tensor values that Move changes
	cover []parts        // of each tensor the tensors whose places lie in its place
	in    map[*block]items
}

func (r *raiser) newLiveness() *liveness {
	n := len(r.Values)
	l := &liveness{r: r, moved: map[int32]bool{}, cover: make([]parts, n), in: map[*block]items{}}
	for i := range r.code {
		if m, ok := r.code[i].Instruction.(pte.MoveCall); ok && r.tensors[m.To] != nil {
			l.moved[m.To] = true
		}
	}
	written := map[int32]bool{}
	for i := range r.code {
		for _, w := range r.effects[i].writes {
			written[w] = true
		}
	}
	for _, i := range r.Inputs {
		written[i] = true
	}
	covered := map[place]parts{}
	for i, t := range r.tensors {
		if t == nil || t.constant || !written[int32(i)] {
			continue
		}
		if _, done := covered[t.place]; !done {
			covered[t.place] = partsOf(r.lying.covered(t.place))
		}
		l.cover[i] = covered[t.place]
	}
	l.solve()
	return l
}

func (l *liveness) empty() items { return newItems(2 * len(l.r.Values)) }

// read is the item that reading a slot reads; ok is false for constants.
func (l *liveness) read(slot int32) (item int32, ok bool) {
	t := l.r.tensors[slot]
	switch {
	case l.moved[slot]:
		return slot + int32(len(l.r.Values)), true
	case t != nil && t.constant:
		return 0, false
	}
	return slot, true
}

func (l *liveness) solve() {
	blocks := l.r.flow.blocks
	for _, b := range blocks {
		l.in[b] = l.empty()
	}
	live := l.empty()
	for changed := true; changed; {
		changed = false
		for i := len(blocks) - 1; i >= 0; i-- {
			b := blocks[i]
			l.out(b, live)
			l.through(b, live)
			changed = l.in[b].join(live) || changed
		}
	}
}

// out makes live what is so where a block's instructions end, the jump's own
// reading included.
func (l *liveness) out(b *block, live items) {
	clear(live)
	for _, s := range b.next {
		live.join(l.in[s])
	}
	if b == l.r.flow.end {
		for _, o := range l.r.Outputs {
			for _, s := range l.r.slots(o) {
				l.gen(live, s)
			}
		}
	}
	if b.jump >= 0 {
		l.apply(live, l.r.effects[b.jump])
	}
}

func (l *liveness) through(b *block, live items) {
	for i := b.end - 1; i >= b.first; i-- {
		l.apply(live, l.r.effects[i])
	}
}

func (l *liveness) gen(live items, slot int32) {
	if item, ok := l.read(slot); ok {
		live.add(item)
	}
}

// apply goes back over an instruction.
func (l *liveness) apply(live items, e effect) {
	if m := e.move; m != nil {
		to, ok := l.read(m.To)
		if !ok {
			return
		}
		if live.has(to) {
			live.remove(to)
			for _, s := range l.r.slots(m.From) {
				l.gen(live, s)
			}
		}
		return
	}
	for _, w := range e.writes {
		switch {
		case l.moved[w]: // to which place is not known here
		case l.r.tensors[w] != nil:
			live.removeAll(l.cover[w])
		default:
			live.remove(w)
		}
	}
	for _, s := range e.reads {
		l.gen(live, s)
	}
}

// atEntry returns what is read that the method's inputs do not give. A moved
// value first means its own place.
func (l *liveness) atEntry() items {
	live := l.in[l.r.flow.blocks[0]].clone()
	n := int32(len(l.r.Values))
	for slot := range l.moved {
		if live.has(n + slot) {
			live.remove(n + slot)
			if !l.r.tensors[slot].constant {
				live.add(slot)
			}
		}
	}
	for _, i := range l.r.Inputs {
		if l.r.tensors[i] == nil {
			continue
		}
		live.removeAll(l.cover[i])
	}
	return live
}
