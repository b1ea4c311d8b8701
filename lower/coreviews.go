package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// coreViews returns the results of a view that the target does not keep, each
// made by the operator of Core ATen for where its elements lie (permute, view,
// select, slice, expand, diagonal); nil if there is none for one of them.
func coreViews(b *ops.Builder, n *ir.Node, c *ops.Call) ([]*ir.Value, error) {
	views, err := c.Op.View(c)
	if err != nil {
		return nil, err
	}
	if len(views) == 0 {
		return coreCopy(b, n, c)
	}
	forms := make([]func() (*ir.Value, error), len(views))
	for i, view := range views {
		base := c.Operands()[view.Of]
		if forms[i] = coreView(b, place(c.Outs[i].Sizes, base.Type.Sizes, view.Map),
			base); forms[i] == nil {
			return nil, nil
		}
	}
	out := make([]*ir.Value, len(views))
	for i, form := range forms {
		old := n.Output(i)
		if old == nil {
			continue
		}
		if out[i], err = form(); err != nil {
			return nil, err
		}
		if out[i] != c.Operands()[views[i].Of] {
			out[i].Type = old.Type
		}
	}
	return out, nil
}

// coreCopy returns the result of a call of an operator that makes a view where
// strides allow it (reshape) and here copies its operand.
func coreCopy(b *ops.Builder, n *ir.Node, c *ops.Call) ([]*ir.Value, error) {
	old := n.Output(0)
	if len(n.Outputs) != 1 || old == nil || len(c.Operands()) == 0 ||
		c.Operands()[0].Type.DType != old.Type.DType {
		return nil, nil
	}
	out, err := call(b, "aten.clone.default", c.Operands()[0], ops.Kw("memory_format",
		ir.ContiguousFormat))
	if err == nil {
		out, err = call(b, "aten.view.default", out, old.Type.Sizes)
	}
	if err != nil {
		return nil, err
	}
	out.Type = old.Type
	return []*ir.Value{out}, nil
}

// coreView returns what emits the tensor that p places in base; nil if there
// is no operator for it.
func coreView(b *ops.Builder, p *placement, base *ir.Value) func() (*ir.Value, error) {
	emit := func(op string, args ...any) func() (*ir.Value, error) {
		return func() (*ir.Value, error) { return call(b, op, args...) }
	}
	if p.identity() {
		return func() (*ir.Value, error) { return base, nil }
	}
	if perm, ok := p.permuted(); ok {
		return emit("aten.permute.default", base, perm)
	}
	if p.whole() {
		return emit("aten.view.default", base, p.sizes)
	}
	if dim, index, ok := p.selected(); ok {
		return emit("aten.select.int", base, dim, index)
	}
	if dim, start, end, step, ok := p.sliced(); ok {
		return emit("aten.slice.Tensor", base, dim, start, end, step)
	}
	if offset, dim1, dim2, ok := p.diagonal(); ok {
		return emit("aten.diagonal.default", base, offset, dim1, dim2)
	}
	if p.expanded() {
		return emit("aten.expand.default", base, p.sizes)
	}
	if sizes, ok := p.spread(); ok {
		return func() (*ir.Value, error) {
			column, err := call(b, "aten.view.default", base, sizes)
			if err != nil {
				return nil, err
			}
			return call(b, "aten.expand.default", column, p.sizes)
		}
	}
	return nil
}
