package raise

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// loop raises a loop, to its exit.
func (r *raiser) loop(l *loop) {
	if c := r.counted[l]; c != nil {
		if steps, ok := r.count(c); ok {
			r.scan(l, c, steps)
			return
		}
	}
	r.while(l)
}

// topTested reports whether the head of a loop has its only way out; inside is
// the way into the body.
func (l *loop) topTested() (inside int, ok bool) {
	for _, b := range l.blocks {
		for _, s := range b.next {
			if !l.body[s] && b != l.head {
				return 0, false
			}
		}
	}
	if l.head.jump < 0 {
		return 0, false
	}
	for k, s := range l.head.next {
		if l.body[s] && s != l.head && !l.body[l.head.next[1-k]] {
			return k, true
		}
	}
	return 0, false
}

// carry is what a loop hands on from round to round.
type carry struct {
	phis  []*phi
	inits []*ir.Value
}

// carried returns what a loop carries: what it writes of that which is live at
// its head, and, unless the head is its only way out (top), of that which is live
// where it ends; what of it the loop always writes before that begins as zeros, which
// nobody reads.
func (r *raiser) carried(l *loop, written items, top bool) *carry {
	head := r.live.in[l.head]
	live := head.clone()
	if !top {
		live.join(r.live.in[l.exit])
	}
	c := &carry{phis: r.phis(live, written)}
	for _, p := range c.phis {
		saying("before its loop", func() {
			var v *ir.Value
			if err := must.Try(func() { v = r.take(p) }); err != nil {
				if r.liveIn(p, head) {
					must.Check(err)
				}
				v = r.zeros(p)
			}
			c.inits = append(c.inits, v)
		})
	}
	return c
}

// liveIn reports whether a set has something of a phi.
func (r *raiser) liveIn(p *phi, live items) bool {
	switch {
	case p.scalar:
		return live.has(p.slot)
	case p.moved:
		return live.has(p.slot + int32(len(r.Values)))
	}
	return slices.ContainsFunc(p.chunk.readers, func(t *tensor) bool { return live.has(t.slot) })
}

func (r *raiser) zeros(p *phi) *ir.Value {
	d, sizes := ir.Uint8, []sym.Expr(nil)
	switch {
	case p.scalar:
		must.Fail("value %d is not known before it", p.slot)
	case p.moved:
		t := r.tensors[p.slot]
		d, sizes = t.dtype, r.sizesOrBounds(t)
	case p.chunk.as != nil:
		d, sizes = p.chunk.as.dtype, r.sizesOrBounds(p.chunk.as)
	default:
		sizes = ir.Ints([]int64{p.chunk.hi - p.chunk.lo})
	}
	return r.b.Op("aten.full.default", sizes, 0, kwDType(d))
}

// fresh returns inputs of a region for carried values.
func (r *raiser) fresh(of []*ir.Value) []*ir.Value {
	in := make([]*ir.Value, len(of))
	for i, v := range of {
		in[i] = &ir.Value{Name: r.b.Names.Fresh("carry"), Type: v.Type}
		r.held[in[i]] = true
	}
	return in
}

// giveAll makes the phis of a loop what values are. Moved values may be any
// tensor that is moved there.
func (r *raiser) giveAll(c *carry, vs []*ir.Value) {
	for i, p := range c.phis {
		var among []int32
		if p.moved {
			all := r.live.empty()
			for s := range r.sources(p.slot) {
				all.add(s)
			}
			all.each(func(s int32) { among = append(among, s) })
		}
		r.give(p, vs[i], among)
	}
}

// takeAll returns what the phis of a loop are after a round.
func (r *raiser) takeAll(c *carry) []*ir.Value {
	outs := make([]*ir.Value, len(c.phis))
	for i, p := range c.phis {
		saying("after a round of its loop", func() { outs[i] = r.take(p) })
		if have, want := c.inits[i].Type, outs[i].Type; !alike(have, want) {
			must.Fail("a loop finds %v in a place and leaves %v there", have, want)
		}
	}
	return outs
}

// alike reports whether two tensors have the same dtype and sizes.
func alike(t, u ir.Type) bool {
	return t.DType == u.DType && sym.AllEqual(t.Sizes, u.Sizes)
}

func refs(vs []*ir.Value) ir.List {
	list := make(ir.List, len(vs))
	for i, v := range vs {
		list[i] = ir.Ref{Value: v}
	}
	return list
}

func typesOf(vs []*ir.Value) []ir.Type {
	return seq.Map(vs, func(v *ir.Value) ir.Type { return v.Type })
}

// lastOf is the instruction to name in messages about a loop.
func (l *loop) lastOf(p *plan) int {
	last := l.head.first
	for _, b := range l.blocks {
		last = max(last, b.first)
		if b.jump >= 0 {
			last = max(last, b.jump)
		}
	}
	return min(last, len(p.code)-1)
}

// while raises a loop as while_loop. If the head alone decides whether to go
// on, it is the condition, and comes again before the body and after the loop,
// since what it writes counts there. Any other loop carries a flag.
func (r *raiser) while(l *loop) {
	at := l.lastOf(r.plan)
	inside, top := l.topTested()
	written := r.writes(l.blocks)
	r.now = at
	c := r.carried(l, written, top)
	a := r.flow.newArea(l)
	inits := c.inits
	if !top {
		a.flag = -1 - int32(l.head.rpo)
		inits = append(inits[:len(inits):len(inits)], r.tensorOf(scalar{arg: ir.BoolArg(true)}))
	}
	before := r.st
	r.invalidate(written)
	region := func(build func(in []*ir.Value) []*ir.Value) *ir.Graph {
		in := r.fresh(inits)
		r.st = before.clone()
		return r.inRegion(in, func() []ir.Arg {
			r.giveAll(c, in[:len(c.phis)])
			return refs(build(in))
		})
	}
	head := region(func(in []*ir.Value) []*ir.Value {
		if !top {
			return in[len(in)-1:]
		}
		r.instructions(l.head)
		r.now = at
		pred := r.predicate(r.conditionOf(l.head))
		if inside == 1 {
			pred = r.b.Op("aten.logical_not.default", pred)
		}
		return []*ir.Value{pred}
	})
	body := region(func(in []*ir.Value) []*ir.Value {
		first := l.head
		if top {
			r.instructions(l.head)
			first = a.on(l.head.next[inside])
		}
		r.walk(a, first, nil)
		r.now = at
		outs := r.takeAll(c)
		if !top {
			outs = append(outs, r.tensorOf(r.st.scalars[a.flag]))
		}
		return outs
	})
	n := r.b.Emit("higher_order.while_loop", []ir.NamedArg{{Value: refs(inits)}}, typesOf(inits)...)
	n.Regions = []*ir.Graph{head, body}
	r.st = before
	r.giveAll(c, n.Outputs[:len(c.phis)])
	if top {
		r.instructions(l.head)
	}
}
