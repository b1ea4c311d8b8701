package lower

import (
	"slices"
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// placement tells where the elements of a tensor lie in another one that it
// shows (part of): element coords of it is element at of the base.
type placement struct {
	sizes, base []sym.Expr // of the tensor, of its base
	vars        []*sym.Symbol
	coords, at  []sym.Expr
}

// place returns the placement that where describes, a map from coordinates in
// the tensor to coordinates in the base.
func place(sizes, base []sym.Expr, where func([]sym.Expr) []sym.Expr) *placement {
	p := &placement{sizes: sizes, base: base}
	p.vars, p.coords = newVars(sizes)
	p.at = where(p.coords)
	return p
}

// whole reports whether the tensor is all of the base in row-major order. Of no
// elements any order is.
func (p *placement) whole() bool {
	n := sym.Mul(p.sizes...)
	return n.Equal(sym.Mul(p.base...)) && (n.IsZero() ||
		sym.RowMajor(p.base, p.at).Equal(sym.RowMajor(p.sizes, p.coords)))
}

// identity reports whether the tensor is the base as it is.
func (p *placement) identity() bool { return sym.AllEqual(p.sizes, p.base) && p.whole() }

// permuted reports whether the tensor is all of the base with its dimensions
// in another order: dimension i of it is dimension perm[i] of the base.
func (p *placement) permuted() (perm []int, ok bool) {
	if len(p.base) != len(p.sizes) {
		return nil, false
	}
	used := make([]bool, len(p.base))
	for k, c := range p.coords {
		found := -1
		for d, x := range p.at {
			if !used[d] && x.Equal(c) && p.sizes[k].Equal(p.base[d]) {
				found = d
				break
			}
		}
		if found < 0 {
			return nil, false
		}
		used[found] = true
		perm = append(perm, found)
	}
	return perm, true
}

// selected reports whether the tensor is what the base has at one index of
// dimension dim.
func (p *placement) selected() (dim int, index sym.Expr, ok bool) {
	if len(p.sizes) != len(p.base)-1 {
		return 0, sym.Expr{}, false
	}
	for d := range p.at {
		if p.varies(p.at[d]) {
			continue
		}
		ok := true
		for k := range p.coords {
			other := k
			if k >= d {
				other++
			}
			ok = ok && p.at[other].Equal(p.coords[k]) && p.sizes[k].Equal(p.base[other])
		}
		if ok {
			return d, p.at[d], true
		}
	}
	return 0, sym.Expr{}, false
}

// sliced reports whether the tensor is every step-th element of dimension dim
// of the base, from start on up to before end.
func (p *placement) sliced() (dim int, start, end, step sym.Expr, ok bool) {
	if len(p.sizes) != len(p.base) {
		return 0, start, end, step, false
	}
	dim = -1
	for d := range p.at {
		if p.at[d].Equal(p.coords[d]) && p.sizes[d].Equal(p.base[d]) {
			continue
		}
		if dim >= 0 {
			return 0, start, end, step, false
		}
		dim = d
	}
	if dim < 0 {
		return 0, start, end, step, false
	}
	n := p.sizes[dim]
	step, start, ok = p.at[dim].Coef(p.vars[dim])
	if n.Is(1) || n.IsZero() {
		step = sym.Int(1)
	}
	if !ok || p.varies(start) || p.varies(step) || sym.LessEq(step, sym.Int(0)) {
		return 0, start, end, step, false
	}
	end = start
	if !n.IsZero() {
		end = sym.Add(start, sym.Mul(sym.Sub(n, sym.Int(1)), step), sym.Int(1))
	}
	return dim, start, end, step, true
}

// diagonal reports whether the last dimension of the tensor runs through
// dimensions dim1 and dim2 of the base at once, the latter offset ahead.
func (p *placement) diagonal() (offset sym.Expr, dim1, dim2 int, ok bool) {
	last := len(p.sizes) - 1
	if len(p.sizes) != len(p.base)-1 || last < 0 {
		return offset, 0, 0, false
	}
	var dims []int
	var offsets []sym.Expr
	k := 0
	for d, x := range p.at {
		one, rest, ok := x.Coef(p.vars[last])
		switch {
		case ok && one.Is(1) && !p.varies(rest) && len(dims) < 2:
			dims, offsets = append(dims, d), append(offsets, rest)
		case k < last && x.Equal(p.coords[k]) && p.sizes[k].Equal(p.base[d]):
			k++
		default:
			return offset, 0, 0, false
		}
	}
	if len(dims) != 2 || k != last {
		return offset, 0, 0, false
	}
	return sym.Sub(offsets[1], offsets[0]), dims[0], dims[1], true
}

// fixed returns a dimension of the base of which the tensor shows one index, -1
// if there is none.
func (p *placement) fixed() int {
	return slices.IndexFunc(p.at, func(x sym.Expr) bool { return !p.varies(x) })
}

// without returns where the tensor lies in what the base has at the one index
// of dimension dim that it shows.
func (p *placement) without(dim int) *placement {
	q := *p
	q.base = slices.Delete(slices.Clone(p.base), dim, dim+1)
	q.at = slices.Delete(slices.Clone(p.at), dim, dim+1)
	return &q
}

// expanded reports whether the tensor is the base with dimensions of size 1
// repeated and new dimensions in front.
func (p *placement) expanded() bool {
	skip := len(p.sizes) - len(p.base)
	if skip < 0 {
		return false
	}
	for d, x := range p.at {
		if !(x.IsZero() && p.base[d].Is(1)) && !(x.Equal(p.coords[skip+d]) &&
			p.base[d].Equal(p.sizes[skip+d])) {
			return false
		}
	}
	return true
}

// spread returns the sizes that the base has as a tensor of as many dimensions, with
// size 1 where it repeats; ok is false if the tensor is not the base repeated along
// new dimensions.
func (p *placement) spread() (sizes []sym.Expr, ok bool) {
	sizes = slices.Repeat([]sym.Expr{sym.Int(1)}, len(p.sizes))
	k := 0
	for d, x := range p.at {
		if x.IsZero() && p.base[d].Is(1) {
			continue
		}
		for k < len(p.coords) && !x.Equal(p.coords[k]) {
			k++
		}
		if k == len(p.coords) || !p.base[d].Equal(p.sizes[k]) {
			return nil, false
		}
		sizes[k] = p.base[d]
		k++
	}
	return sizes, true
}

// repeats reports whether several elements of the tensor are one of the base
// because a dimension does not matter.
func (p *placement) repeats() bool {
	for k, v := range p.vars {
		used := p.sizes[k].Is(1)
		for _, x := range p.at {
			used = used || x.Uses(v)
		}
		if !used {
			return true
		}
	}
	return false
}

// strided returns the strides and the offset at which the elements lie in
// storage that holds the base with the given ones; ok is false if there are
// none.
func (p *placement) strided(baseStrides []sym.Expr,
	baseOffset sym.Expr) (strides []sym.Expr, offset sym.Expr, ok bool) {
	at := baseOffset
	for d, x := range p.at {
		at = sym.Add(at, sym.Mul(x, baseStrides[d]))
	}
	strides = make([]sym.Expr, len(p.vars))
	for k, v := range p.vars {
		if strides[k], at, ok = at.Coef(v); !ok || p.varies(strides[k]) {
			return nil, at, false
		}
	}
	return strides, at, true
}

// varies reports whether x depends on where in the tensor one is.
func (p *placement) varies(x sym.Expr) bool {
	return slices.ContainsFunc(p.vars, func(v *sym.Symbol) bool { return x.Uses(v) })
}

// form returns the operator of Core ATen that shows what p places, without its namespace
// (permute, select, slice, diagonal, expand), and its arguments behind the base; "" if there
// is none.
func (p *placement) form() (op, overload string, args []any) {
	if perm, ok := p.permuted(); ok {
		return "permute", "default", []any{perm}
	}
	if dim, index, ok := p.selected(); ok {
		return "select", "int", []any{dim, index}
	}
	if dim, start, end, step, ok := p.sliced(); ok {
		return "slice", "Tensor", []any{dim, start, end, step}
	}
	if offset, dim1, dim2, ok := p.diagonal(); ok {
		return "diagonal", "default", []any{offset, dim1, dim2}
	}
	if p.expanded() {
		return "expand", "default", []any{p.sizes}
	}
	return "", "", nil
}

// coreViews returns the results of a view that the target does not keep, each
// made by the operators of Core ATen for where its elements lie; nil if there are none for
// one of them.
func coreViews(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	views := must.Get(c.Op.View(c))
	if len(views) == 0 {
		return coreCopy(b, n, c)
	}
	out := make([]*ir.Value, len(views))
	places := make([]*placement, len(views))
	for i, view := range views {
		p := place(c.Outs[i].Sizes, c.Operands()[view.Of].Type.Sizes, view.Map)
		op, _, _ := p.form()
		if _, spread := p.spread(); op == "" && !p.whole() && !spread {
			return nil
		}
		places[i] = p
	}
	for i, view := range views {
		if n.Output(i) != nil {
			out[i] = coreView(b, places[i], c.Operands()[view.Of])
		}
	}
	keepTypes(n, c, out)
	return out
}

// coreCopy returns the result of a call of an operator that makes a view where
// strides allow it (reshape) and here copies its operand.
func coreCopy(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	old := n.Output(0)
	if len(n.Outputs) != 1 || old == nil || len(c.Operands()) == 0 ||
		c.Operands()[0].Type.DType != old.Type.DType {
		return nil
	}
	out := b.Op("aten.clone.default", c.Operands()[0], ops.Kw("memory_format", ir.ContiguousFormat))
	out = b.Op("aten.view.default", out, old.Type.Sizes)
	out.Type = old.Type
	return []*ir.Value{out}
}

// coreView emits the tensor that p places in base.
func coreView(b *ops.Builder, p *placement, base *ir.Value) *ir.Value {
	op, overload, args := p.form()
	switch {
	case p.identity():
		return base
	case op != "permute" && p.whole():
		return b.Op("aten.view.default", base, p.sizes)
	case op != "":
		return b.Op("aten."+op+"."+overload, append([]any{base}, args...)...)
	}
	sizes, _ := p.spread()
	return b.Op("aten.expand.default", b.Op("aten.view.default", base, sizes), p.sizes)
}

// sameShape reports whether two types have equal kind, dtype and sizes where
// they are constants. Sizes that differ in form only may be equal: PyTorch
// traced the program with them so.
func sameShape(t, u ir.Type) bool {
	if t.Kind != u.Kind || t.DType != u.DType || len(t.Sizes) != len(u.Sizes) {
		return false
	}
	for i := range t.Sizes {
		if d, ok := sym.Sub(t.Sizes[i], u.Sizes[i]).Const(); ok && d != 0 {
			return false
		}
	}
	return true
}

// newVars makes a variable for each dimension of a tensor, and the coordinates
// they run through; that in a dimension of size 1 is 0.
func newVars(sizes []sym.Expr) (vars []*sym.Symbol, coords []sym.Expr) {
	vars, coords = make([]*sym.Symbol, len(sizes)), make([]sym.Expr, len(sizes))
	for d, s := range sizes {
		vars[d] = sym.NewVar("c"+strconv.Itoa(d), s)
		if !s.Is(1) {
			coords[d] = vars[d].Expr()
		}
	}
	return vars, coords
}
