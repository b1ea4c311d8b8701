package raise

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// arm is one of the two ways of a branch, raised.
type arm struct {
	graph  *ir.Graph
	st     *state
	values []*ir.Value // parallel to the phis
}

// branch raises the ways from b to where they meet.
func (r *raiser) branch(a *area, b, merge *block, pred *ir.Value) {
	if a.on(b.next[0]) == merge && a.on(b.next[1]) == merge {
		r.now = b.jump
		r.decide(a, b, pred)
		return
	}
	between := map[*block]bool{nil: true, merge: true}
	for _, s := range a.next(b) {
		spread(s, between, a.next)
	}
	delete(between, nil)
	delete(between, merge)
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
		x.graph = r.inRegion(nil, func() (none []ir.Arg) {
			r.walk(a, r.leave(a, b.next[k]), merge)
			r.now = b.jump
			saying("after its branches", func() {
				for i, p := range phis {
					x.values[i] = r.take(p)
				}
			})
			return none
		})
		x.st, arms[k] = r.st, x
	}
	r.st, r.now = before, b.jump
	r.meet(pred, phis, arms, written)
}

// decide sets the flag of a loop where both ways lead out of its body at once.
func (r *raiser) decide(a *area, b *block, pred *ir.Value) {
	if a.flag == 0 {
		return
	}
	on := [2]bool{b.next[0] == a.head, b.next[1] == a.head}
	if on[0] == on[1] {
		r.st.scalars[a.flag] = scalar{arg: ir.BoolArg(on[0])}
		return
	}
	if on[1] {
		pred = r.b.Op("aten.logical_not.default", pred)
	}
	r.st.scalars[a.flag] = r.item(pred)
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
func (r *raiser) meet(pred *ir.Value, phis []*phi, arms []*arm, written items) {
	yes, no := arms[0], arms[1]
	var types []ir.Type
	var differ []*phi
	var keep []func() // set what is the same on both ways
	for i, p := range phis {
		v, w := yes.values[i], no.values[i]
		s, moved := yes.st.bound[p.slot]
		t, both := no.st.bound[p.slot]
		number := yes.st.scalars[p.slot]
		switch {
		case p.scalar && number.equal(no.st.scalars[p.slot]) && number.literal():
			keep = append(keep, func() { r.st.scalars[p.slot] = number })
			continue
		case p.moved && moved && both && s.slot == t.slot && s.slot >= 0:
			keep = append(keep, func() { r.st.bound[p.slot] = s })
			continue
		case v == w && !p.moved:
			keep = append(keep, func() { r.give(p, v, nil) })
			continue
		case !alike(v.Type, w.Type):
			must.Fail("its branches leave %v and %v in one place", v.Type, w.Type)
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
	for _, set := range keep {
		set()
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
		r.give(p, outs[i], among)
	}
}

// literal reports whether a scalar needs no node.
func (s scalar) literal() bool {
	_, ref := s.arg.(ir.Ref)
	return s.isExpr || s.arg != nil && !ref
}
