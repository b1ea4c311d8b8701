package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// stockView is the rule for views: each becomes the operator that copies what
// it shows. What has the elements in their order is one change of shape.
func stockView(b *ops.Builder, n *ir.Node, c *ops.Call) ([]*ir.Value, error) {
	if c.Op.View == nil {
		return nil, nil
	}
	views, err := c.Op.View(c)
	if err != nil || len(views) == 0 {
		return nil, err
	}
	out := make([]*ir.Value, len(views))
	for i, view := range views {
		if n.Output(i) == nil {
			continue
		}
		base := c.Operands()[view.Of]
		p := place(c.Outs[i].Sizes, base.Type.Sizes, view.Map)
		if out[i], err = copyOf(b, p, base); err != nil {
			return nil, err
		}
		if out[i] == nil {
			return nil, nil
		}
	}
	return out, nil
}

// copyOf emits the tensor that p places in base as a tensor of its own; nil if
// no operator makes it.
func copyOf(b *ops.Builder, p *placement, base *ir.Value) (*ir.Value, error) {
	if p.identity() {
		return base, nil
	}
	if p.whole() {
		return call(b, viewCopyOp, base, shapeArg(p.sizes, base.Type.Sizes))
	}
	if perm, ok := p.permuted(); ok {
		return call(b, "aten.permute_copy.default", base, perm)
	}
	if dim, index, ok := p.selected(); ok {
		return call(b, "aten.select_copy.int", base, dim, index)
	}
	if dim, start, end, step, ok := p.sliced(); ok {
		stop := any(end)
		if end.Equal(base.Type.Sizes[dim]) {
			stop = int64(math.MaxInt64)
		}
		return call(b, "aten.slice_copy.Tensor", base, dim, start, stop, step)
	}
	if offset, dim1, dim2, ok := p.diagonal(); ok {
		return call(b, "aten.diagonal_copy.default", base, offset, dim1, dim2)
	}
	if p.expanded() {
		return call(b, "aten.expand_copy.default", base, expandArg(b, p))
	}
	return nil, nil
}

// shapeArg returns sizes as the argument of view_copy: if all but one are
// constants, that one follows from the number of elements.
func shapeArg(sizes, base []sym.Expr) any {
	dynamic := -1
	for d, s := range sizes {
		n, ok := s.Const()
		switch {
		case ok && n == 0: // then the number of elements tells nothing
			return sizes
		case ok:
		case dynamic >= 0:
			return sizes
		default:
			dynamic = d
		}
	}
	if dynamic < 0 {
		return sizes
	}
	list := make(ir.List, len(sizes))
	for d, s := range sizes {
		n, _ := s.Const()
		list[d] = ir.Int(n)
	}
	list[dynamic] = ir.Int(-1)
	return list
}

// expandArg returns the sizes of an expansion, -1 where the base's stays.
func expandArg(b *ops.Builder, p *placement) ir.List {
	skip := len(p.sizes) - len(p.base)
	list := make(ir.List, len(p.sizes))
	for d, s := range p.sizes {
		if _, ok := s.Const(); !ok && d >= skip && p.base[d-skip].Equal(s) {
			list[d] = ir.Int(-1)
			continue
		}
		list[d] = sizeArg(b, s)
	}
	return list
}
