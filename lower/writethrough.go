package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// writeThrough returns base, the tensor that a is a view of, with what a shows
// of it replaced by v. It goes by where the view's elements lie in the base.
func writeThrough(b *ops.Builder, a *alias.Alias, base, v *ir.Value) (*ir.Value, error) {
	p := place(a.Type.Sizes, base.Type.Sizes, a.View.Map)
	if p.identity() {
		return v, nil
	}
	if a.Type.Numel().IsZero() {
		return base, nil
	}
	out, err := scatter(b, p, base, v)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return nil, fmt.Errorf(
			"it writes to a view made by %s, which is not supported; write to a copy and copy_ that back", foreign.Message(a.Node.Op))
	}
	out.Type = base.Type
	return out, nil
}

// scatter emits base with the elements that p places replaced by v; nil if no
// operator does that.
func scatter(b *ops.Builder, p *placement, base, v *ir.Value) (*ir.Value, error) {
	if p.whole() {
		return call(b, "aten.reshape.default", v, p.base)
	}
	if perm, ok := p.permuted(); ok {
		return call(b, "aten.permute.default", v, inverse(perm))
	}
	if dim, index, ok := p.selected(); ok {
		return call(b, "aten.select_scatter.default", base, v, dim, index)
	}
	if dim, start, end, step, ok := p.sliced(); ok {
		return call(b, "aten.slice_scatter.default", base, v, dim, start, end, step)
	}
	if offset, dim1, dim2, ok := p.diagonal(); ok {
		return call(b, "aten.diagonal_scatter.default", base, v, offset, dim1, dim2)
	}
	if p.repeats() {
		return nil, fmt.Errorf(
			"it writes to a tensor, several elements of which lie at one place; clone() it before")
	}
	if dim := p.fixed(); dim >= 0 {
		return scatterAt(b, p, base, v, dim)
	}
	if strides, offset, ok := p.strided(base.Type.Strides, base.Type.Offset); ok {
		return call(b, "aten.as_strided_scatter.default", base, v, p.sizes, strides, offset)
	}
	return nil, nil
}

// scatterAt is scatter into what base has at the one index of dimension dim
// that p shows.
func scatterAt(b *ops.Builder, p *placement, base, v *ir.Value, dim int) (*ir.Value, error) {
	part, err := call(b, "aten.select.int", base, dim, p.at[dim])
	if err != nil {
		return nil, err
	}
	written, err := scatter(b, p.without(dim), part, v)
	if written == nil || err != nil {
		return nil, err
	}
	return call(b, "aten.select_scatter.default", base, written, dim, p.at[dim])
}

// inverse returns the inverse of a permutation.
func inverse(perm []int) []int {
	back := make([]int, len(perm))
	for i, d := range perm {
		back[d] = i
	}
	return back
}

// call emits an operator with one result.
func call(b *ops.Builder, op string, args ...any) (*ir.Value, error) {
	vs, err := b.Call(op, args...)
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}
