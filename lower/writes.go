package lower

import (
	"cmp"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// ExplicitWrites replaces operators that write to arguments beside giving
// results, as batch norm does in training, by functional ones and copy_.
var ExplicitWrites = Pass{
	Name: "explicit-writes",
	Doc:  "write statistics that operators keep beside their results with copy_",
	Run: perNode(func(*Context, *ir.Program, *ir.Method) visitor {
		return func(b *ops.Builder, n *ir.Node) []*ir.Value {
			op, ok := b.Table.Lookup(n.Op)
			if !ok || op.Writes == nil {
				return nil
			}
			return must.Get(op.Writes(b, must.Get(b.Table.Bind(n))))
		}
	}),
}

// writeThrough returns base, the tensor that a is a view of, with what a shows
// of it replaced by v. It goes by where the view's elements lie in the base.
func writeThrough(b *ops.Builder, a *alias.Alias, base, v *ir.Value) *ir.Value {
	p := place(a.Type.Sizes, base.Type.Sizes, a.View.Map)
	if p.identity() {
		return v
	}
	if a.Type.Numel().IsZero() {
		return base
	}
	out := scatter(b, p, base, v)
	if out == nil {
		must.Fail("it writes to a view made by %s, which is not supported; write to a copy and copy_ "+
			"that back", foreign.Message(a.Node.Op))
	}
	out.Type = base.Type
	return out
}

// scatter emits base with the elements that p places replaced by v; nil if no
// operator does that.
func scatter(b *ops.Builder, p *placement, base, v *ir.Value) *ir.Value {
	if p.whole() {
		return b.Op("aten.reshape.default", v, p.base)
	}
	switch op, _, args := p.form(); op {
	case "permute":
		return b.Op("aten.permute.default", v, inverse(args[0].([]int)))
	case "select", "slice", "diagonal":
		return b.Op("aten."+op+"_scatter.default", append([]any{base, v}, args...)...)
	}
	if p.repeats() {
		must.Fail(writesOverlap)
	}
	if dim := p.fixed(); dim >= 0 { // into what base has at the one index that p shows
		part := b.Op("aten.select.int", base, dim, p.at[dim])
		written := scatter(b, p.without(dim), part, v)
		if written == nil {
			return nil
		}
		return b.Op("aten.select_scatter.default", base, written, dim, p.at[dim])
	}
	if strides, offset, ok := p.strided(base.Type.Strides, base.Type.Offset); ok {
		return b.Op("aten.as_strided_scatter.default", base, v, p.sizes, strides, offset)
	}
	return nil
}

const writesOverlap = "it writes to a tensor, several elements of which lie at one place; " +
	"clone() it before"

// inverse returns the inverse of a permutation.
func inverse[T int | uint8](perm []T) []int {
	back := make([]int, len(perm))
	for i, d := range perm {
		back[d] = i
	}
	return back
}

// mostOffsets is up to how many elements are looked at one by one.
const mostOffsets = 1 << 16

// selfOverlap is an error if several elements of a tensor that is written to lie
// at one place: what is written to one of them would be seen in the others, and
// values have an element of its own for each.
func selfOverlap(t ir.Type) {
	if t.Kind == ir.TensorKind && overlapsItself(t) {
		must.Fail(writesOverlap)
	}
}

// overlapsItself reports whether elements of t may lie at one place. Of sizes that
// only the run knows the strides tell: what is expanded has 0, and two dimensions
// of a sliding window have the same.
func overlapsItself(t ir.Type) bool {
	type dim struct{ size, stride int64 }
	var dims []dim
	static, numel := true, int64(1)
	for d, size := range t.Sizes {
		if size.IsZero() {
			return false
		}
		if size.Is(1) {
			continue
		}
		if t.Strides[d].IsZero() {
			return true
		}
		n, ok1 := size.Const()
		s, ok2 := t.Strides[d].Const()
		static = static && ok1 && ok2
		dims = append(dims, dim{n, s})
		if numel <= mostOffsets { // sizes are of a file: no overflow
			numel *= min(n, mostOffsets+1)
		}
	}
	if !static {
		for d := range t.Sizes {
			for e := range d {
				if !t.Sizes[d].Is(1) && !t.Sizes[e].Is(1) && t.Strides[d].Equal(t.Strides[e]) {
					return true
				}
			}
		}
		return false
	}
	seq.Sort(dims, func(a, b dim) int { return cmp.Compare(a.stride, b.stride) })
	disjoint, last := true, int64(0) // the greatest offset of the dimensions so far
	for _, d := range dims {
		disjoint = disjoint && d.stride > last
		last += (d.size - 1) * d.stride
	}
	if disjoint || numel > mostOffsets {
		return !disjoint
	}
	offsets := []int64{0}
	for _, d := range dims {
		more := make([]int64, 0, int64(len(offsets))*d.size)
		for i := range d.size {
			for _, o := range offsets {
				more = append(more, o+i*d.stride)
			}
		}
		offsets = more
	}
	slices.Sort(offsets)
	return len(slices.Compact(offsets)) < int(numel)
}
