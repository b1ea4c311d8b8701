package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// stockView is the rule for views, and for what copies like one: each becomes
// the operator that copies what it shows. What has the elements in their order
// is one change of shape.
func stockView(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) ([]*ir.Value, error) {
	if c.Op.View != nil && len(n.Outputs) > 1 {
		return stockParts(b, n, c, uses)
	}
	p, base, ok := viewOf(c)
	if !ok {
		return nil, nil
	}
	out, err := copyOf(b, p, base)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return copyingForm(b, n, c)
	}
	return []*ir.Value{out}, nil
}

// viewOf returns where each element of the only result of c lies in one of its
// operands, of the same dtype; ok is false if c does more.
func viewOf(c *ops.Call) (p *placement, base *ir.Value, ok bool) {
	if len(c.Outs) != 1 || c.Outs[0].Kind != ir.TensorKind || c.Op.Name() == toDimOrderOp {
		return nil, nil, false // the elements stay in place but for their order in memory
	}
	operand, from, vars, ok := reads(c)
	if !ok || c.Operands()[operand].Type.DType != c.Outs[0].DType {
		return nil, nil, false
	}
	base = c.Operands()[operand]
	sizes := c.Outs[0].Sizes
	if depends(c, from, vars) {
		return nil, nil, false
	}
	return place(sizes, base.Type.Sizes, func(coords []sym.Expr) []sym.Expr {
		at := make([]sym.Expr, len(from))
		for i, e := range from {
			at[i] = e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
				for d, v := range vars {
					if v.Equal(s.Expr()) {
						return coords[d], true
					}
				}
				return sym.Expr{}, false
			})
		}
		return at
	}), base, true
}

// depends reports whether coordinates depend on more than vars, sizes and
// integer arguments: on data, as those of a gather.
func depends(c *ops.Call, from, vars []sym.Expr) bool {
	known := map[*sym.Symbol]bool{}
	add := func(es []sym.Expr) {
		for _, e := range es {
			for _, s := range e.Symbols() {
				known[s] = true
			}
		}
	}
	add(vars)
	add(c.Outs[0].Sizes)
	for _, v := range c.Operands() {
		add(v.Type.Sizes)
	}
	for _, a := range c.Args {
		ir.EachRef(a, func(v *ir.Value) { add([]sym.Expr{v.Type.Expr}) })
	}
	for _, e := range from {
		for _, s := range e.Symbols() {
			if !known[s] {
				return true
			}
		}
	}
	return false
}

// copyingForm is the operator of the view's name that copies.
func copyingForm(b *ops.Builder, n *ir.Node, c *ops.Call) ([]*ir.Value, error) {
	if c.Op.View == nil {
		return nil, nil
	}
	base := ir.OpBase(n.Op)
	op := "aten." + base + "_copy" + n.Op[len("aten."+base):]
	if _, ok := b.Table.Lookup(op); !ok || !hasStockKernel(op) {
		return nil, nil
	}
	args := make([]any, 0, len(c.Args))
	for i, p := range c.Op.ParsedSchema().Args {
		args = append(args, ops.Kw(p.Name, c.Args[i]))
	}
	return b.Call(op, args...)
}

// stockParts is the rule for views with several results: all the parts of a
// tensor along a dimension are made at once, a single one by itself.
func stockParts(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) ([]*ir.Value, error) {
	views, err := c.Op.View(c)
	if err != nil || len(views) != len(n.Outputs) {
		return nil, err
	}
	places := make([]*placement, len(views))
	used := 0
	for i, view := range views {
		places[i] = place(c.Outs[i].Sizes, c.Operands()[view.Of].Type.Sizes, view.Map)
		if v := n.Output(i); v != nil && uses[v] > 0 {
			used++
		}
	}
	base := c.Operands()[views[0].Of]
	if used > 1 {
		if vs, err := together(b, places, base); vs != nil || err != nil {
			return vs, err
		}
	}
	out := make([]*ir.Value, len(views))
	for i, view := range views {
		if v := n.Output(i); v == nil || uses[v] == 0 {
			continue
		}
		if out[i], err = copyOf(b, places[i], c.Operands()[view.Of]); err != nil || out[i] == nil {
			return nil, err
		}
	}
	return out, nil
}

// together makes tensors that are consecutive parts of base, or all it has at
// one index each; nil if they are neither.
func together(b *ops.Builder, places []*placement, base *ir.Value) ([]*ir.Value, error) {
	at := -1
	var sizes []sym.Expr
	next := sym.Int(0)
	for _, p := range places {
		dim, start, _, step, ok := p.sliced()
		if !ok || at >= 0 && dim != at || !step.Is(1) || !start.Equal(next) {
			sizes = nil
			break
		}
		at = dim
		sizes = append(sizes, p.sizes[dim])
		next = sym.Add(next, p.sizes[dim])
	}
	if len(sizes) == len(places) && next.Equal(base.Type.Sizes[at]) {
		return b.Call("aten.split_with_sizes_copy.default", base, sizes, at)
	}
	for i, p := range places {
		dim, index, ok := p.selected()
		if !ok || i > 0 && dim != at || !index.Is(int64(i)) {
			return nil, nil
		}
		at = dim
	}
	if !base.Type.Sizes[at].Is(int64(len(places))) {
		return nil, nil
	}
	return b.Call("aten.unbind_copy.int", base, at)
}

// copyOf emits the tensor that p places in base as a tensor of its own; nil if
// no operator makes it.
func copyOf(b *ops.Builder, p *placement, base *ir.Value) (*ir.Value, error) {
	if p.identity() {
		return base, nil
	}
	if p.whole() {
		for base.Def != nil && base.Def.Op == viewCopyOp { // another shape of the same
			base = base.Def.Arg("self").(ir.Ref).Value
		}
		if sym.AllEqual(base.Type.Sizes, p.sizes) {
			return base, nil
		}
		return call(b, viewCopyOp, base, shapeArg(p.sizes))
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
func shapeArg(sizes []sym.Expr) any {
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
