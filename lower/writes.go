package lower

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// ExplicitWrites replaces operators that write to arguments beside giving
// results, as batch norm does in training, by functional ones and copy_.
var ExplicitWrites = Pass{
	Name: "explicit-writes",
	Doc:  "write statistics that operators keep beside their results with copy_",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		return (&ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			op, ok := ctx.Table.Lookup(n.Op)
			if !ok || op.Writes == nil {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, false, err
			}
			var vs []*ir.Value
			b := ops.NewBuilder(ctx.Table, e)
			err = b.Do(func() (err error) {
				vs, err = op.Writes(b, c)
				return err
			})
			return vs, vs == nil, err
		}}).Run(m)
	}),
}

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

// mostOffsets is up to how many elements are looked at one by one.
const mostOffsets = 1 << 16

// selfOverlap is an error if several elements of a tensor that is written to lie
// at one place: what is written to one of them would be seen in the others, and
// values have an element of its own for each.
func selfOverlap(t ir.Type) error {
	if t.Kind == ir.TensorKind && overlapsItself(t) {
		return fmt.Errorf(
			"it writes to a tensor, several elements of which lie at one place; clone() it before")
	}
	return nil
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
	slices.SortFunc(dims, func(a, b dim) int { return cmp.Compare(a.stride, b.stride) })
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

// writtenOverlap is selfOverlap of the inputs that m says it writes to.
func writtenOverlap(m *ir.Method) error {
	written := map[string]bool{}
	for _, spec := range m.Outputs {
		switch spec.Kind {
		case ir.BufferMutation, ir.ParameterMutation, ir.UserInputMutation:
			written[spec.Target] = true
		}
	}
	if len(written) == 0 {
		return nil
	}
	for i, v := range m.Graph.Inputs {
		name := m.Inputs[i].Target
		if m.Inputs[i].Kind == ir.UserInput {
			name = v.Name
		}
		if !written[name] {
			continue
		}
		if err := selfOverlap(v.Type); err != nil {
			return fmt.Errorf("method %s: %s: %w", foreign.Message(m.Name),
				foreign.Message(name), err)
		}
	}
	return nil
}
