package rt

import (
	"cmp"
	"slices"

	"github.com/etgen/etgen/ir/pte"
)

// unreadWork bounds the pairs of tensors that are compared for one method: what
// is unread beyond it is computed for nobody.
const unreadWork = 1 << 22

// readings tells which results nobody reads. Reading goes by memory, not by
// values: programs may have a tensor where another was left, as a view of it.
type readings struct {
	b        *binder
	straight bool // the instructions run one after another, and tensors stay where they are
	touches  [][]touch
	views    [][2]int32 // what is shown, and the view, in the order of the instructions
	known    map[int32]bool
	work     int
}

// touch says that an instruction reads a value, or writes it whole without
// reading it before. Those of a value are in the order of the instructions.
type touch struct {
	at    int
	reads bool
}

// atEnd is behind every instruction: outputs are read there.
const atEnd = int(^uint(0) >> 1)

// newReadings looks at all instructions, whose arguments are known to exist.
func newReadings(b *binder) *readings {
	r := &readings{b: b, straight: len(b.plan.Chains) == 1, touches: make([][]touch, len(b.slots)),
		known: map[int32]bool{}, work: unreadWork}
	for _, v := range b.plan.Inputs {
		r.touch(v, 0, false)
	}
	at := 0
	for _, chain := range b.plan.Chains {
		for _, in := range chain.Instructions {
			at++
			switch in := in.(type) {
			case pte.KernelCall:
				r.call(in, at)
			case pte.DelegateCall:
				for _, v := range in.Args {
					r.touch(v, at, true)
				}
			case pte.MoveCall:
				r.touch(in.From, at, true)
				r.touch(in.To, at, true)
				r.straight = false
			case pte.JumpFalseCall:
				r.touch(in.Cond, at, true)
				r.straight = false
			}
		}
	}
	for _, v := range b.plan.Outputs {
		r.touch(v, atEnd, true)
	}
	r.readsThroughViews()
	return r
}

// readsThroughViews counts what reads a view as reading what it shows.
func (r *readings) readsThroughViews() {
	shown := map[int32]bool{}
	for _, w := range r.views {
		if shown[w[0]] = true; shown[w[1]] {
			r.work = -1 // views of a view that becomes another: no exporter writes that
		}
	}
	for _, w := range slices.Backward(r.views) {
		reads := slices.DeleteFunc(slices.Clone(r.touches[w[1]]), func(t touch) bool {
			return !t.reads
		})
		all := append(reads, r.touches[w[0]]...)
		r.work -= len(all)
		slices.SortStableFunc(all, func(a, b touch) int { return cmp.Compare(a.at, b.at) })
		r.touches[w[0]] = all
	}
}

// touch notes what the instruction does with v and what v lists.
func (r *readings) touch(v int32, at int, reads bool) {
	all := []int64{int64(v)}
	if kindOf(r.b.plan.Values[v]) == TensorList {
		all = append(all, listed(r.b.plan.Values[v])...)
	}
	for _, v := range all {
		if v < 0 || v >= int64(len(r.touches)) {
			continue
		}
		list := r.touches[v]
		if n := len(list); n > 0 && list[n-1].at == at {
			list[n-1].reads = list[n-1].reads || reads
			continue
		}
		r.touches[v] = append(list, touch{at, reads})
	}
}

// call notes what a call does. Results are among the arguments once and once
// more at the end; an argument that is there more often is read too.
func (r *readings) call(in pte.KernelCall, at int) {
	name := r.b.plan.Operators[in.Op].String()
	if p, ok := prims[name]; ok {
		for i, v := range in.Args {
			if name != viewOp || i == 1 { // the sizes: the data stays
				r.touch(v, at, i != p.writes || p.tensor) // et_copy_index writes a part
			}
		}
		if name == viewOp {
			r.views = append(r.views, [2]int32{in.Args[0], in.Args[2]})
		}
		return
	}
	last := len(in.Args) - 1
	results := r.b.results(in)
	var seen []int32
	for _, v := range in.Args[:last] {
		once := (v == in.Args[last] || slices.Contains(results, v)) && !slices.Contains(seen, v)
		if once {
			seen = append(seen, v)
		} else {
			r.touch(v, at, true)
		}
	}
	for _, v := range r.b.target(in) {
		r.touch(v, at, true)
	}
	for _, v := range results {
		r.touch(v, at, false)
	}
}

// unread reports whether nobody reads what instructions leave in tensor v.
func (r *readings) unread(v int32) bool {
	known, ok := r.known[v]
	if !ok {
		known = r.find(v)
		r.known[v] = known
	}
	return known
}

func (r *readings) find(v int32) bool {
	t, ok := r.b.plan.Values[v].(*pte.Tensor)
	u := r.b.uses[v]
	if !ok || u.viewed || u.input || t.DataIndex > 0 || t.IsExternal() {
		return false
	}
	for _, w := range r.touches[v] {
		if w.reads {
			return false
		}
	}
	if t.Allocation == nil {
		return r.work >= 0
	}
	first, end := t.Allocation.Offset, t.Allocation.Offset+uint64(r.size(v))
	for i, other := range r.b.plan.Values {
		r.work--
		o, ok := other.(*pte.Tensor)
		if !ok || int32(i) == v || o.Allocation == nil ||
			o.Allocation.MemoryID != t.Allocation.MemoryID ||
			o.Allocation.Offset >= end || o.Allocation.Offset+uint64(r.size(int32(i))) <= first {
			continue
		}
		if !r.writtenFirst(int32(i), v) {
			return false
		}
	}
	return r.work >= 0
}

// size returns the bytes of the memory of tensor v.
func (r *readings) size(v int32) int {
	return len(r.b.slots[v].Tensor.own)
}

// writtenFirst reports whether other, which shares memory with v, is written
// before it is read whenever v was written, in this execution or the next.
func (r *readings) writtenFirst(other, v int32) bool {
	touches := r.touches[other]
	if r.work < 0 {
		return false
	}
	if len(touches) == 0 {
		return true
	}
	if r.b.uses[other].viewed || !r.straight {
		return !slices.ContainsFunc(touches, func(t touch) bool { return t.reads })
	}
	if !slices.ContainsFunc(touches, func(t touch) bool { return !t.reads }) {
		touches = r.throughOthers(other, v)
	}
	for _, w := range r.touches[v] {
		r.work -= len(touches)
		next := slices.IndexFunc(touches, func(t touch) bool { return t.at > w.at })
		if touches[max(next, 0)].reads {
			return false
		}
	}
	return true
}

// throughOthers returns the touches of a tensor that no instruction writes, such
// as a view to which the exporter gave the place of what it shows, with what else
// writes all of its memory, v aside.
func (r *readings) throughOthers(view, v int32) []touch {
	all := slices.Clone(r.touches[view])
	of := r.b.plan.Values[view].(*pte.Tensor).Allocation
	end := of.Offset + uint64(r.size(view))
	for i, other := range r.b.plan.Values {
		r.work--
		o, ok := other.(*pte.Tensor)
		if !ok || int32(i) == v || o.Allocation == nil || o.Allocation.MemoryID != of.MemoryID ||
			o.Dynamism != pte.Static ||
			r.b.uses[i].viewed || o.Allocation.Offset > of.Offset ||
			o.Allocation.Offset+uint64(r.size(int32(i))) < end {
			continue
		}
		for _, t := range r.touches[i] {
			r.work--
			if !t.reads {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b touch) int { return cmp.Compare(a.at, b.at) })
	return all
}
