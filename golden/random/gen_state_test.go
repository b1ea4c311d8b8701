package random

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// update writes rows or elements of a tensor, a buffer if there is one, at places
// that another tensor names, in place: as caches are written. What is written may
// be read from the same memory.
func (g *generator) update() error {
	var v *ir.Value
	if !g.chance(4) {
		v = g.any(func(v *ir.Value) bool {
			return v.Def == nil && v.Const != nil &&
				v.Type.Rank() > 0
		})
	}
	if v == nil {
		v = g.any(func(v *ir.Value) bool { return v.Type.Rank() > 0 && !g.shows(v) })
	}
	if v == nil {
		return errNoFit
	}
	if g.chance(3) { // a part of it
		if err := g.viewOf(v); err != nil {
			return err
		}
		v = g.live[len(g.live)-1]
	}
	if v.Type.Rank() == 0 || g.shows(v) {
		return errNoFit
	}
	d := g.r.IntN(v.Type.Rank())
	n := dim(v, d)
	if n <= 0 {
		return errNoFit
	}
	k := min(n, 1+g.r.Int64N(3))
	sizes := slices.Clone(v.Type.Sizes)
	sizes[d] = sym.Int(k)
	source := func() *ir.Value {
		t := ir.TensorOf(v.Type.DType, sizes...)
		if u := g.any(func(u *ir.Value) bool { return sameType(u.Type, t) }); u != nil &&
			g.chance(2) {
			return u
		}
		return g.weight(v.Type.DType, sizes...)
	}
	var err error
	switch g.r.IntN(8) {
	case 0, 1, 2: // of one row, which no index names twice
		sizes[d] = sym.Int(1)
		err = g.inPlace("aten.index_copy_.default", v, d, g.indices(n, sym.Int(1)), source())
	case 3:
		if isBool(v) {
			return errNoFit
		}
		err = g.inPlace("aten.index_add_.default", v, d, g.indices(n, sym.Int(k)), source())
	case 4:
		if isBool(v) {
			return errNoFit
		}
		err = g.inPlace("aten.scatter_add_.default", v, d, g.indices(n, sizes...), source())
	case 5:
		err = g.inPlace("aten.index_fill_.int_Scalar", v, d, g.indices(n, sym.Int(k)), g.scalar(v))
	case 6:
		list := slices.Repeat(ir.List{ir.None{}}, d+1)
		list[d] = ir.Ref{Value: g.indices(n, sym.Int(1))}
		sizes[d] = sym.Int(1)
		err = g.inPlace("aten.index_put_.default", v, list, source())
	default: // a part moves
		if n < 2 {
			return errNoFit
		}
		move := g.r.Int64N(2)
		from, e := g.b.Call("aten.slice.Tensor", v, d, move, n-1+move)
		if e != nil {
			return e
		}
		moved, e := g.b.Call("aten.clone.default", from[0])
		if e != nil {
			return e
		}
		to, e := g.b.Call("aten.slice.Tensor", v, d, 1-move, n-move)
		if e != nil {
			return e
		}
		g.keep(from...)
		err = g.inPlace("aten.copy_.default", to[0], moved[0])
	}
	if err == nil {
		g.wrote = true
	}
	return err
}
