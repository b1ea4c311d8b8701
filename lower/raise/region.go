package raise

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// inRegion builds a graph that the next node owns.
func (r *raiser) inRegion(inputs []*ir.Value, build func() []ir.Arg) *ir.Graph {
	b, views := r.b, r.views
	defer func() { r.b, r.views = b, views }()
	return must.Get(b.Region(inputs, func(e *ir.Emitter) ([]ir.Arg, error) {
		r.b, r.views = ops.NewBuilder(r.table, e), map[seenAs]*ir.Value{}
		return build(), nil
	}))
}

// walk raises blocks from b on until stop, or the end of the area.
func (r *raiser) walk(a *area, b, stop *block) {
	for b != nil && b != stop {
		if l := r.flow.loops[b]; l != nil && l.head != a.head {
			r.loop(l)
			b = r.leave(a, l.exit)
			continue
		}
		r.instructions(b)
		b = r.onward(a, b)
	}
}

// leave goes to a block and returns it, nil if that leads out of the area; a
// loop that keeps a flag notes whether it goes on.
func (r *raiser) leave(a *area, to *block) *block {
	next := a.on(to)
	if next == nil && a.flag != 0 {
		r.st.scalars[a.flag] = scalar{arg: ir.BoolArg(to == a.head)}
	}
	return next
}

func (r *raiser) instructions(b *block) {
	for i := b.first; i < b.end; i++ {
		r.b.Loc, r.now = r.code[i].loc, i
		r.try(i, func() { r.instruction(i) })
	}
	if b.jump >= 0 {
		r.b.Loc = r.code[b.jump].loc
	}
}

func (r *raiser) instruction(i int) {
	switch in := r.code[i].Instruction.(type) {
	case pte.KernelCall:
		if !r.stepCall(i, in) {
			r.call(in)
		}
	case pte.DelegateCall:
		r.delegateCall(i, in)
	case pte.MoveCall:
		if r.tensors[in.To] == nil {
			r.st.scalars[in.To] = r.scalar(in.From)
		} else if b, ok := r.st.bound[in.From]; ok {
			r.st.bound[in.To] = b
		} else {
			r.st.bound[in.To] = binding{slot: in.From}
		}
	} // FreeCall: memory is none of the graph's business
}

// onward returns the block after b, having raised what branches off.
func (r *raiser) onward(a *area, b *block) *block {
	if b.jump < 0 {
		return r.leave(a, b.next[0])
	}
	slot := r.code[b.jump].Instruction.(pte.JumpFalseCall).Cond
	if isScalar(r.Values[slot]) {
		if known, ok := r.scalar(slot).arg.(ir.BoolArg); ok {
			way := 1
			if known {
				way = 0
			}
			return r.leave(a, b.next[way])
		}
	}
	var pred *ir.Value
	if !r.try(b.jump, func() { pred = r.predicate(slot) }) {
		return r.leave(a, b.next[0])
	}
	merge := a.merge[b]
	r.branch(a, b, merge, pred)
	return merge
}

// predicate returns a bool or bool tensor value as a tensor without dimensions.
func (r *raiser) predicate(slot int32) *ir.Value {
	if r.tensors[slot] == nil { // a number or bool: VerifyMeaning has seen to it
		v := r.tensorOf(r.scalar(slot))
		if v.Type.DType != ir.Bool {
			must.Fail("its condition, value %d, is no bool", slot)
		}
		return v
	}
	v := r.read(slot)
	if v.Type.DType != ir.Bool || !v.Type.Numel().Is(1) {
		must.Fail("its condition is %v, not one bool", v.Type)
	}
	return r.reshape(v, rowMajor(v.Type.Rank()), ir.StaticTensor(ir.Bool), nil)
}

// phi is something that depends on the way taken, or that a loop carries: a
// range of memory, a scalar or what a moved tensor value means.
type phi struct {
	slot   int32
	scalar bool
	moved  bool
	chunk  *chunk
}

// chunk is a range of memory that is handed on as one value: as the tensor that
// reads it, or as bytes if tensors read parts of it.
type chunk struct {
	place
	as      *tensor // nil: bytes
	readers []*tensor
}

// chunks makes ranges of tensors whose places overlap.
func (r *raiser) chunks(slots []int32) []*chunk {
	ts := seq.Map(slots, func(s int32) *tensor { return r.tensors[s] })
	slices.SortStableFunc(ts, func(a, b *tensor) int {
		for _, d := range []int64{a.place.memory - b.place.memory, a.place.lo - b.place.lo,
			b.place.hi - a.place.hi} {
			if d != 0 {
				return int(min(1, max(-1, d)))
			}
		}
		return int(a.slot - b.slot)
	})
	var out []*chunk
	for _, t := range ts {
		if n := len(out); n > 0 && out[n-1].overlaps(t.place) {
			c := out[n-1]
			c.readers = append(c.readers, t)
			if t.place != c.place {
				c.hi, c.as = max(c.hi, t.place.hi), c.whole(t)
			}
			continue
		}
		out = append(out, &chunk{place: t.place, as: t, readers: []*tensor{t}})
	}
	return out
}

// whole returns the tensor that still covers a chunk when t joins it.
func (c *chunk) whole(t *tensor) *tensor {
	if c.as != nil && c.as.place.covers(t.place) && !c.as.dynamic {
		return c.as
	}
	return nil
}

func (r *raiser) readChunk(c *chunk) *ir.Value {
	if c.as != nil {
		return r.readTensor(c.as)
	}
	return r.readAs(c.place, ir.Uint8, ir.Ints([]int64{c.hi - c.lo}), rowMajor(1))
}

// putChunk makes a chunk hold a value.
func (r *raiser) putChunk(c *chunk, v *ir.Value) {
	order := rowMajor(1)
	if c.as != nil {
		order = c.as.order
		if c.as.dynamic {
			r.st.sizes[c.as.slot] = v.Type.Sizes
		}
	}
	r.written(c.place)
	r.st.put(c.place, v, order)
}

// writes returns what blocks write.
func (r *raiser) writes(blocks []*block) items {
	w := r.live.empty()
	for _, b := range blocks {
		for i := b.first; i < b.end; i++ {
			e := r.effects[i]
			if e.move != nil {
				w.add(e.move.To)
			}
			for _, s := range e.writes {
				w.add(s)
				if r.live.moved[s] {
					// It may be any tensor that was ever moved there.
					for x := range r.sources(s) {
						w.add(x)
					}
				}
			}
		}
	}
	return w
}

// sources returns the tensors that a moved value may mean.
func (r *raiser) sources(slot int32) map[int32]bool {
	all := map[int32]bool{slot: true}
	for changed := true; changed; {
		changed = false
		for i := range r.code {
			if m := r.effects[i].move; m != nil && all[m.To] && !all[m.From] {
				all[m.From], changed = true, true
			}
		}
	}
	return all
}

// phis returns what of live is among what was written.
func (r *raiser) phis(live, written items) []*phi {
	n := int32(len(r.Values))
	var out []*phi
	var content []int32
	live.each(func(i int32) {
		switch {
		case i >= n:
			if written.has(i - n) {
				out = append(out, &phi{slot: i - n, moved: true})
			}
		case r.tensors[i] == nil:
			if written.has(i) {
				out = append(out, &phi{slot: i, scalar: true})
			}
		case r.overwritten(i, written):
			content = append(content, i)
		}
	})
	for _, c := range r.chunks(content) {
		out = append(out, &phi{chunk: c})
	}
	return out
}

// overwritten reports whether anything written overlaps a tensor's place, or gives sizes to a
// tensor without elements.
func (r *raiser) overwritten(slot int32, written items) bool {
	p, hit := r.tensors[slot].place, false
	written.each(func(i int32) {
		t := r.tensors[i]
		if t != nil && !t.constant && (t.place.overlaps(p) || i == slot && t.dynamic) {
			hit = true
		}
	})
	return hit
}

// invalidate forgets what was written somewhere else.
func (r *raiser) invalidate(written items) {
	written.each(func(i int32) {
		t := r.tensors[i]
		if t == nil {
			r.st.scalars[i] = scalar{arg: ir.None{}}
			return
		}
		r.written(t.place)
		r.st.forget(t.place)
		if t.dynamic {
			r.st.sizes[i] = nil
		}
	})
}

// take returns what a phi is now, as a value.
func (r *raiser) take(p *phi) *ir.Value {
	switch {
	case p.scalar:
		return r.tensorOf(r.scalar(p.slot))
	case p.moved:
		return r.read(p.slot)
	}
	return r.readChunk(p.chunk)
}

// give makes a phi what a value is. Among are the tensors a moved value may be.
func (r *raiser) give(p *phi, v *ir.Value, among []int32) {
	switch {
	case p.scalar:
		s := r.item(v)
		r.st.scalars[p.slot] = s
	case p.moved:
		r.st.bound[p.slot] = binding{slot: -1, value: v, among: among}
	default:
		r.putChunk(p.chunk, v)
	}
}

// among returns the tensors a moved value may be now.
func (r *raiser) among(slot int32) []int32 {
	b, ok := r.st.bound[slot]
	switch {
	case !ok:
		return []int32{slot}
	case b.slot >= 0:
		return []int32{b.slot}
	}
	return b.among
}
