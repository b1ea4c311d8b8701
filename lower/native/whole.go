package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// whole reports whether a call of an operator that has no form but what it
// decomposes into was left whole for a tuned kernel.
func (b *builder) whole(c *ops.Call) bool {
	return tuned.Whole(b.opt.Kernels, b.opt.Target)(c)
}

// wholeOrders lets calls that were left whole read, and write, permuted views
// where they are: the kernel does not mind the order of dimensions, and a copy
// into another is saved.
func (b *builder) wholeOrders(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			b.wholeOrders(r)
		}
		f := b.facts[n]
		if f.call == nil {
			continue
		}
		for k, v := range f.call.Operands() {
			if def := b.facts[v.Def]; def != nil && def.call != nil && def.view &&
				len(b.users[v]) == 1 && tuned.AnyOrder(f.call, k) {
				x := def.call.Operands()[loadOf(def.tensors[v.Index]).Buf]
				b.permuted(v, def.tensors[v.Index], x, false)
			}
		}
		if k := tuned.AnyStrides(f.call); k >= 0 {
			b.readThere(f.call.Operands()[k])
		}
		if !tuned.AnyOrder(f.call, -1) {
			continue
		}
		v := n.Output(0)
		if to := b.soleReader(v); to != nil && to.call != nil && to.view && len(to.tensors) == 1 {
			b.permuted(v, to.tensors[0], v, true)
		}
	}
}

// permuted gives v the order of dimensions that makes a view of x, which has t's
// coordinates, the elements of a row-major value as they lie, if it is a
// permutation that leaves the last dimension the last: v is the view, or x itself.
func (b *builder) permuted(v *ir.Value, t expr.Tensor, x *ir.Value, ofOperand bool) {
	coords := loadOf(t).Coords
	if b.orders[v] != nil || !ofOperand && b.orders[x] != nil || len(coords) != len(t.Vars) {
		return
	}
	order := make([]int, 0, len(coords))
	if ofOperand { // dimension d of x is that of the result whose coordinate it has
		for _, s := range t.Vars {
			order = append(order, slices.IndexFunc(coords, s.Expr().Equal))
		}
	} else {
		for _, c := range coords {
			order = append(order, slices.IndexFunc(symExprs(t.Vars), c.Equal))
		}
	}
	if last := len(order) - 1; slices.Contains(order, -1) || order[last] != last ||
		slices.IsSorted(order) {
		return
	}
	b.orders[v] = order
}

// readThere gives v, if it is a view of another value's elements in an order that is
// not v's, the order in which they lie, so that it needs no copy of them.
func (b *builder) readThere(v *ir.Value) {
	def := b.facts[v.Def]
	if def == nil || def.call == nil || !def.view || len(b.users[v]) != 1 || b.orders[v] != nil ||
		len(def.tensors) != 1 {
		return
	}
	t := def.tensors[0]
	b.readThere(def.call.Operands()[loadOf(t).Buf])
	order := make([]int, len(t.Vars))
	for d := range order {
		order[d] = d
	}
	rowMajor := slices.Clone(order)
	if len(order) > maxPermuted || b.isRun(def, t, v) || !permutations(order, 0, func() bool {
		b.orders[v] = order
		return b.isRun(def, t, v)
	}) || slices.Equal(order, rowMajor) {
		delete(b.orders, v)
	}
}

// maxPermuted is the most dimensions whose orders are tried.
const maxPermuted = 4

// permutations permutes the items of list from i on until found holds, and reports
// whether it did.
func permutations(list []int, i int, found func() bool) bool {
	if i == len(list) {
		return found()
	}
	for j := i; j < len(list); j++ {
		list[i], list[j] = list[j], list[i]
		if permutations(list, i+1, found) {
			return true
		}
		list[i], list[j] = list[j], list[i]
	}
	return false
}
