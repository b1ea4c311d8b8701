package raise

import (
	"fmt"
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// arm is one of the two ways of a branch, raised.
type arm struct {
	graph  *ir.Graph
	st     *state
	values []*ir.Value // parallel to the phis
}

// branch raises the ways from b to where they meet.
func (r *raiser) branch(a *area, b, merge *block, pred *ir.Value) error {
	if a.on(b.next[0]) == merge && a.on(b.next[1]) == merge {
		return r.decide(a, b, pred)
	}
	between := map[*block]bool{}
	reach(a, b.next[0], merge, between)
	reach(a, b.next[1], merge, between)
	written := r.writes(slices.Collect(maps.Keys(between)))
	phis := r.phis(r.liveAt(a, merge), written)
	if merge == nil && a.flag != 0 {
		phis = append(phis, &phi{slot: a.flag, scalar: true})
	}
	before := r.st
	arms := make([]*arm, 2)
	for k := range arms {
		x := &arm{values: make([]*ir.Value, len(phis))}
		r.st = before.clone()
		var err error
		x.graph, err = r.inRegion(nil, func() error {
			if err := r.walk(a, r.leave(a, b.next[k]), merge); err != nil {
				return err
			}
			for i, p := range phis {
				v, err := r.take(p)
				if err != nil {
					return r.failAt(b.jump, fmt.Errorf("after its branches: %w", err))
				}
				x.values[i] = v
			}
			return nil
		})
		if err != nil {
			return err
		}
		x.st, arms[k] = r.st, x
	}
	r.st = before
	return r.meet(b, pred, phis, arms, written)
}

// decide sets the flag of a loop where both ways lead out of its body at once.
func (r *raiser) decide(a *area, b *block, pred *ir.Value) error {
	if a.flag == 0 {
		return nil
	}
	on := [2]bool{b.next[0] == a.head, b.next[1] == a.head}
	if on[0] == on[1] {
		r.st.scalars[a.flag] = scalar{arg: ir.BoolArg(on[0])}
		return nil
	}
	if on[1] {
		v, err := r.b.Call("aten.logical_not.default", pred)
		if err != nil {
			return r.failAt(b.jump, err)
		}
		pred = v[0]
	}
	s, err := r.item(pred)
	if err != nil {
		return r.failAt(b.jump, err)
	}
	r.st.scalars[a.flag] = s
	return nil
}

// reach adds the blocks from one on to stop, or the end of the area.
func reach(a *area, b, stop *block, seen map[*block]bool) {
	todo := []*block{b}
	for len(todo) > 0 {
		b := a.on(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if b == nil || b == stop || seen[b] {
			continue
		}
		seen[b] = true
		todo = append(todo, b.next...)
	}
}

// liveAt returns what is live at a block, or where the area ends.
func (r *raiser) liveAt(a *area, b *block) items {
	switch {
	case b != nil:
		return r.live.in[b]
	case a.head == nil:
		return r.live.in[a.end]
	}
	live := r.live.in[a.head].clone()
	live.join(r.live.in[r.flow.loops[a.head].exit])
	return live
}

// meet emits the cond node and makes the state that of both arms.
func (r *raiser) meet(b *block, pred *ir.Value, phis []*phi, arms []*arm, written items) error {
	yes, no := arms[0], arms[1]
	var types []ir.Type
	var differ []*phi
	type kept struct {
		p *phi
		s scalar
		b binding
		v *ir.Value
	}
	var same []kept
	for i, p := range phis {
		v, w := yes.values[i], no.values[i]
		if p.scalar {
			if s := yes.st.scalars[p.slot]; s.equal(no.st.scalars[p.slot]) && s.literal() {
				same = append(same, kept{p: p, s: s})
				continue
			}
		}
		if p.moved {
			s, moved := yes.st.bound[p.slot]
			t, both := no.st.bound[p.slot]
			if moved && both && s.slot == t.slot && s.slot >= 0 {
				same = append(same, kept{p: p, b: s})
				continue
			}
		}
		if v == w && !p.moved {
			same = append(same, kept{p: p, v: v})
			continue
		}
		if v.Type.DType != w.Type.DType || !sym.AllEqual(v.Type.Sizes, w.Type.Sizes) {
			return r.failAt(b.jump, fmt.Errorf("its branches leave %v and %v in one place",
				v.Type, w.Type))
		}
		differ = append(differ, p)
		types = append(types, v.Type.Dense())
		for k, x := range []*ir.Value{v, w} {
			arms[k].graph.Outputs = append(arms[k].graph.Outputs, ir.Ref{Value: x})
		}
	}
	var outs []*ir.Value
	if len(yes.graph.Nodes) > 0 || len(no.graph.Nodes) > 0 || len(differ) > 0 {
		n := r.b.Emit("higher_order.cond", []ir.NamedArg{{Value: ir.Ref{Value: pred}}}, types...)
		n.Regions = []*ir.Graph{yes.graph, no.graph}
		outs = n.Outputs
	}
	for slot, x := range r.st.bound {
		x.stale = x.stale || yes.st.bound[slot].stale || no.st.bound[slot].stale
		r.st.bound[slot] = x
	}
	r.invalidate(written)
	written.each(func(i int32) {
		if t := r.tensors[i]; t != nil && t.dynamic {
			s, t := yes.st.sizes[i], no.st.sizes[i]
			if s != nil && sym.AllEqual(s, t) {
				r.st.sizes[i] = s
			}
		}
	})
	for _, k := range same {
		switch {
		case k.p.scalar:
			r.st.scalars[k.p.slot] = k.s
		case k.p.moved:
			r.st.bound[k.p.slot] = k.b
		default:
			r.putChunk(k.p.chunk, k.v)
		}
	}
	for i, p := range differ {
		var among []int32
		if p.moved {
			for _, x := range arms {
				r.st, x.st = x.st, r.st
				for _, t := range r.among(p.slot) {
					if !slices.Contains(among, t) {
						among = append(among, t)
					}
				}
				r.st, x.st = x.st, r.st
			}
		}
		if err := r.give(p, outs[i], among); err != nil {
			return r.failAt(b.jump, err)
		}
	}
	return nil
}

// literal reports whether a scalar needs no node.
func (s scalar) literal() bool {
	_, ref := s.arg.(ir.Ref)
	return s.isExpr || s.arg != nil && !ref
}
