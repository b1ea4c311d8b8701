package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// writeThrough returns base, the tensor that a is a view of, with what a shows
// of it replaced by v. It goes by where the view's elements lie in the base.
func writeThrough(b *ops.Builder, a *alias.Alias, base, v *ir.Value) (*ir.Value, error) {
	w := &viewWrite{b: b, base: base, v: v, sizes: a.Type.Sizes, from: base.Type.Sizes}
	w.vars, w.coords = newVars(w.sizes)
	w.at = a.View.Map(w.coords)
	var out *ir.Value
	err := b.Do(func() error {
		for _, form := range []func() *ir.Value{w.whole, w.permuted, w.selected, w.sliced, w.diagonal} {
			if out = form(); out != nil {
				return nil
			}
		}
		if w.repeats() {
			return fmt.Errorf("it writes to an expanded tensor, several elements of which lie at one place; clone() it before")
		}
		out = w.strided()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out == nil {
		return nil, fmt.Errorf("it writes to a view made by %s, which is not supported; write to a copy and copy_ that back", a.Node.Op)
	}
	if out != v && out != base {
		out.Type = base.Type
	}
	return out, nil
}

// viewWrite is a write of v to a view with the given sizes of base: element
// coords of v goes to element at of base.
type viewWrite struct {
	b          *ops.Builder
	base, v    *ir.Value
	sizes      []sym.Expr // of the view
	from       []sym.Expr // of the base
	vars       []*sym.Symbol
	coords, at []sym.Expr
}

// whole: the view shows all of the base in row-major order.
func (w *viewWrite) whole() *ir.Value {
	if !sym.Mul(w.sizes...).Equal(sym.Mul(w.from...)) || !flatten(w.from, w.at).Equal(flatten(w.sizes, w.coords)) {
		return nil
	}
	if sameSizes(w.sizes, w.from) {
		return w.v
	}
	return w.b.Op("aten.reshape.default", w.v, w.from)
}

// flatten returns the row-major position of coords.
func flatten(sizes, coords []sym.Expr) sym.Expr {
	var at sym.Expr
	for d, c := range coords {
		if !sizes[d].Is(1) {
			at = sym.Add(sym.Mul(at, sizes[d]), c)
		}
	}
	return at
}

// permuted: the view shows all of the base, its dimensions in another order.
func (w *viewWrite) permuted() *ir.Value {
	if len(w.at) != len(w.sizes) {
		return nil
	}
	perm := make([]int, len(w.at))
	used := make([]bool, len(w.at))
	for d, x := range w.at {
		perm[d] = -1
		for k, c := range w.coords {
			if x.Equal(c) && !used[k] && w.sizes[k].Equal(w.from[d]) {
				perm[d], used[k] = k, true
				break
			}
		}
		if perm[d] < 0 {
			return nil
		}
	}
	return w.b.Op("aten.permute.default", w.v, perm)
}

// selected: the view shows one index of one dimension.
func (w *viewWrite) selected() *ir.Value {
	if len(w.sizes) != len(w.from)-1 {
		return nil
	}
	for d := range w.at {
		if w.mentions(w.at[d]) {
			continue
		}
		ok := true
		for k := range w.coords {
			other := k
			if k >= d {
				other++
			}
			ok = ok && w.at[other].Equal(w.coords[k]) && w.sizes[k].Equal(w.from[other])
		}
		if ok {
			return w.b.Op("aten.select_scatter.default", w.base, w.v, d, w.at[d])
		}
	}
	return nil
}

// sliced: the view shows some indices of one dimension, a step apart.
func (w *viewWrite) sliced() *ir.Value {
	if len(w.sizes) != len(w.from) {
		return nil
	}
	dim := -1
	for d := range w.at {
		if w.at[d].Equal(w.coords[d]) && w.sizes[d].Equal(w.from[d]) {
			continue
		}
		if dim >= 0 {
			return nil
		}
		dim = d
	}
	if dim < 0 {
		return nil
	}
	n := w.sizes[dim]
	if n.IsZero() {
		return w.base
	}
	step, start, ok := w.at[dim].Coef(w.vars[dim])
	if n.Is(1) {
		step = sym.Int(1)
	}
	if !ok || w.mentions(start) || w.mentions(step) || sym.LessEq(step, sym.Int(0)) {
		return nil
	}
	end := sym.Add(start, sym.Mul(sym.Sub(n, sym.Int(1)), step), sym.Int(1))
	return w.b.Op("aten.slice_scatter.default", w.base, w.v, dim, start, end, step)
}

// diagonal: the last dimension of the view runs through two of the base.
func (w *viewWrite) diagonal() *ir.Value {
	last := len(w.sizes) - 1
	if len(w.sizes) != len(w.from)-1 || last < 0 {
		return nil
	}
	var dims []int
	var offsets []sym.Expr
	k := 0
	for d, x := range w.at {
		one, rest, ok := x.Coef(w.vars[last])
		switch {
		case ok && one.Is(1) && !w.mentions(rest) && len(dims) < 2:
			dims, offsets = append(dims, d), append(offsets, rest)
		case k < last && x.Equal(w.coords[k]) && w.sizes[k].Equal(w.from[d]):
			k++
		default:
			return nil
		}
	}
	if len(dims) != 2 || k != last {
		return nil
	}
	return w.b.Op("aten.diagonal_scatter.default", w.base, w.v, sym.Sub(offsets[1], offsets[0]), dims[0], dims[1])
}

// repeats: several elements of the view are one of the base.
func (w *viewWrite) repeats() bool {
	for k, v := range w.vars {
		used := w.sizes[k].Is(1)
		for _, x := range w.at {
			used = used || x.Uses(v)
		}
		if !used {
			return true
		}
	}
	return false
}

// strided: the view's elements lie in the storage at constant strides.
func (w *viewWrite) strided() *ir.Value {
	at := w.base.Type.Offset
	for d, x := range w.at {
		at = sym.Add(at, sym.Mul(x, w.base.Type.Strides[d]))
	}
	strides := make([]sym.Expr, len(w.vars))
	for k, v := range w.vars {
		var ok bool
		if strides[k], at, ok = at.Coef(v); !ok || w.mentions(strides[k]) {
			return nil
		}
	}
	return w.b.Op("aten.as_strided_scatter.default", w.base, w.v, w.sizes, strides, at)
}

// mentions reports whether x depends on where in the view one is.
func (w *viewWrite) mentions(x sym.Expr) bool {
	for _, v := range w.vars {
		if x.Uses(v) {
			return true
		}
	}
	return false
}
