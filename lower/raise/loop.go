package raise

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// loop raises a loop, to its exit.
func (r *raiser) loop(l *loop) error {
	if c := r.counted[l]; c != nil {
		if steps, ok := r.count(c); ok {
			return r.scan(l, c, steps)
		}
	}
	return r.while(l)
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
// its head. Also is what is live where it ends; what of it the loop always
// writes before that begins as zeros, which nobody reads.
func (r *raiser) carried(l *loop, written, also items) (*carry, error) {
	head := r.live.in[l.head]
	live := head.clone()
	if also != nil {
		live.join(also)
	}
	c := &carry{phis: r.phis(live, written)}
	for _, p := range c.phis {
		v, err := r.take(p)
		if err != nil && !r.liveIn(p, head) {
			v, err = r.zeros(p)
		}
		if err != nil {
			return nil, fmt.Errorf("before its loop: %w", err)
		}
		c.inits = append(c.inits, v)
	}
	return c, nil
}

// liveIn reports whether a set has something of a phi.
func (r *raiser) liveIn(p *phi, live items) bool {
	switch {
	case p.scalar:
		return live.has(p.slot)
	case p.moved:
		return live.has(p.slot + int32(len(r.Values)))
	}
	for _, t := range p.chunk.readers {
		if live.has(t.slot) {
			return true
		}
	}
	return false
}

func (r *raiser) zeros(p *phi) (*ir.Value, error) {
	d, sizes := ir.Uint8, []sym.Expr(nil)
	switch {
	case p.scalar:
		return nil, fmt.Errorf("value %d is not known before it", p.slot)
	case p.moved:
		t := r.tensors[p.slot]
		d, sizes = t.dtype, r.sizesOrBounds(t)
	case p.chunk.as != nil:
		d, sizes = p.chunk.as.dtype, r.sizesOrBounds(p.chunk.as)
	default:
		sizes = ir.Ints([]int64{p.chunk.hi - p.chunk.lo})
	}
	v, err := r.b.Call("aten.full.default", sizes, 0, kwDType(d))
	if err != nil {
		return nil, err
	}
	return v[0], nil
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
func (r *raiser) giveAll(c *carry, vs []*ir.Value) error {
	for i, p := range c.phis {
		var among []int32
		if p.moved {
			all := r.live.empty()
			for s := range r.sources(p.slot) {
				all.add(s)
			}
			all.each(func(s int32) { among = append(among, s) })
		}
		if err := r.give(p, vs[i], among); err != nil {
			return err
		}
	}
	return nil
}

// takeAll returns what the phis of a loop are after a round.
func (r *raiser) takeAll(c *carry) ([]ir.Arg, error) {
	var outs []ir.Arg
	for i, p := range c.phis {
		v, err := r.take(p)
		if err != nil {
			return nil, fmt.Errorf("after a round of its loop: %w", err)
		}
		have, want := c.inits[i].Type, v.Type
		if have.DType != want.DType || !sym.AllEqual(have.Sizes, want.Sizes) {
			return nil, fmt.Errorf("a loop finds %v in a place and leaves %v there", have, want)
		}
		outs = append(outs, ir.Ref{Value: v})
	}
	return outs, nil
}

func refs(vs []*ir.Value) ir.List {
	list := make(ir.List, len(vs))
	for i, v := range vs {
		list[i] = ir.Ref{Value: v}
	}
	return list
}

func typesOf(vs []*ir.Value) []ir.Type {
	types := make([]ir.Type, len(vs))
	for i, v := range vs {
		types[i] = v.Type
	}
	return types
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
func (r *raiser) while(l *loop) error {
	at := l.lastOf(r.plan)
	inside, top := l.topTested()
	var also items
	if !top {
		also = r.live.in[l.exit]
	}
	written := r.writes(l.blocks)
	c, err := r.carried(l, written, also)
	if err != nil {
		return r.failAt(at, err)
	}
	a := r.flow.newArea(l)
	inits := c.inits
	if !top {
		a.flag = -1 - int32(l.head.id)
		yes, err := r.tensorOf(scalar{arg: ir.BoolArg(true)})
		if err != nil {
			return r.failAt(at, err)
		}
		inits = append(inits[:len(inits):len(inits)], yes)
	}
	before := r.st
	r.invalidate(written)
	region := func(build func(in []*ir.Value) ([]ir.Arg, error)) (*ir.Graph, error) {
		in := r.fresh(inits)
		r.st = before.clone()
		var outs []ir.Arg
		g, err := r.inRegion(in, func() error {
			err := r.giveAll(c, in[:len(c.phis)])
			if err == nil {
				outs, err = build(in)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		g.Outputs = outs
		return g, nil
	}
	head, err := region(func(in []*ir.Value) ([]ir.Arg, error) {
		if !top {
			return []ir.Arg{ir.Ref{Value: in[len(in)-1]}}, nil
		}
		return r.condition(l, inside)
	})
	if err != nil {
		return r.failAt(at, err)
	}
	body, err := region(func(in []*ir.Value) ([]ir.Arg, error) {
		first := l.head
		if top {
			r.instructions(l.head)
			first = a.on(l.head.next[inside])
		}
		if err := r.walk(a, first, nil); err != nil {
			return nil, err
		}
		outs, err := r.takeAll(c)
		if err != nil || top {
			return outs, err
		}
		flag, err := r.tensorOf(r.st.scalars[a.flag])
		return append(outs, ir.Ref{Value: flag}), err
	})
	if err != nil {
		return r.failAt(at, err)
	}
	n := r.b.Emit("higher_order.while_loop", []ir.NamedArg{{Value: refs(inits)}}, typesOf(inits)...)
	n.Regions = []*ir.Graph{head, body}
	r.st = before
	if err := r.giveAll(c, n.Outputs[:len(c.phis)]); err != nil {
		return r.failAt(at, err)
	}
	if top {
		r.instructions(l.head)
	}
	return nil
}

// condition raises the head of a loop and returns whether to go on.
func (r *raiser) condition(l *loop, inside int) ([]ir.Arg, error) {
	r.instructions(l.head)
	pred, err := r.predicate(r.conditionOf(l.head))
	if err == nil && inside == 1 {
		var v []*ir.Value
		if v, err = r.b.Call("aten.logical_not.default", pred); err == nil {
			pred = v[0]
		}
	}
	if err != nil {
		return nil, err
	}
	return []ir.Arg{ir.Ref{Value: pred}}, nil
}
