package random

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// view emits an operator whose result shows its operand in another way.
func (g *generator) view() error {
	v := g.any(isTensor)
	if v == nil {
		return errNoFit
	}
	return g.viewOf(v)
}

func (g *generator) viewOf(v *ir.Value) error {
	rank := v.Type.Rank()
	if rank == 0 {
		return g.call("aten.unsqueeze.default", v, 0)
	}
	d := g.r.IntN(rank)
	if g.chance(4) {
		d -= rank
	}
	at := (d + rank) % rank
	n := dim(v, at)
	switch weighted(g.r, []int{5, 3, 6, 4, 3, 2, 2, 3, 2, 1, 1, 2, 1, 1, 1}) {
	case 0:
		return g.reshape(v)
	case 1:
		perm := g.r.Perm(rank)
		return g.call("aten.permute.default", v, perm)
	case 2:
		start, step := g.r.IntN(3), 1+g.r.IntN(3)
		if n < 0 { // a dynamic size
			if g.chance(2) {
				return g.call("aten.slice.Tensor", v, d, 0, pick[any](g.r, nil, 1, -1))
			}
			return g.call("aten.slice.Tensor", v, d, nil, nil, step)
		}
		end := start + g.r.IntN(int(n)+2)
		if g.chance(4) {
			return g.call("aten.slice.Tensor", v, d, -2, nil, step)
		}
		return g.call("aten.slice.Tensor", v, d, start, end, step)
	case 3:
		if n == 0 || n < 0 && !g.chance(2) {
			return errNoFit
		}
		k := 0
		if n > 0 {
			k = g.r.IntN(int(n))
		}
		if g.chance(3) && n > 0 {
			k = -1 - k
		}
		return g.call("aten.select.int", v, d, k)
	case 4:
		return g.expand(v)
	case 5:
		return g.call("aten.unsqueeze.default", v, g.r.IntN(rank+1))
	case 6:
		return g.call("aten.squeeze.dim", v, d)
	case 7:
		e := g.r.IntN(rank)
		return g.call("aten.transpose.int", v, d, e)
	case 8:
		return g.call("aten.squeeze.default", v)
	case 9:
		if rank < 2 {
			return errNoFit
		}
		return g.call("aten.diagonal.default", v, g.r.IntN(2), at, (at+1)%rank)
	case 10:
		if n < 2 {
			return errNoFit
		}
		return g.call("aten.unfold.default", v, d, 2, 1+g.r.IntN(2))
	case 11:
		if n <= 0 {
			return errNoFit
		}
		return g.call("aten.split.Tensor", v, 1+g.r.IntN(int(n)), d)
	case 12:
		return g.call("aten.flatten.using_ints", v, at, rank-1)
	case 13:
		if n <= 0 || n > 6 {
			return errNoFit
		}
		return g.call("aten.unbind.int", v, d)
	}
	return g.call("aten.contiguous.default", v)
}

// reshape gives v other sizes: neighbours joined or a size split.
func (g *generator) reshape(v *ir.Value) error {
	op := pick(g.r, "aten.view.default", "aten.reshape.default", "aten.reshape.default")
	sizes := slices.Clone(v.Type.Sizes)
	if g.chance(3) && v.Type.Rank() > 0 {
		return g.call(op, v, []int{-1})
	}
	for range 1 + g.r.IntN(2) {
		if len(sizes) == 0 {
			break
		}
		d := g.r.IntN(len(sizes))
		if g.chance(2) && d+1 < len(sizes) {
			sizes[d] = sym.Mul(sizes[d], sizes[d+1])
			sizes = slices.Delete(sizes, d+1, d+2)
			continue
		}
		n, ok := sizes[d].Const()
		for _, k := range []int64{2, 3, 5} {
			if ok && n > 0 && n%k == 0 {
				sizes[d] = sym.Int(n / k)
				sizes = slices.Insert(sizes, d+g.r.IntN(2), sym.Int(k))
				break
			}
		}
		if g.chance(4) {
			sizes = slices.Insert(sizes, d, sym.Int(1))
		}
	}
	return g.call(op, v, sizes)
}

func (g *generator) expand(v *ir.Value) error {
	sizes := slices.Clone(v.Type.Sizes)
	for i, s := range sizes {
		if s.Is(1) {
			sizes[i] = g.size()
		}
	}
	if g.chance(3) {
		sizes = append([]sym.Expr{g.size()}, sizes...)
	}
	if !fits(sizes) {
		return errNoFit
	}
	return g.call("aten.expand.default", v, sizes)
}

// join emits an operator that puts tensors together or moves elements.
func (g *generator) join() error {
	v := g.any(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if v == nil {
		return errNoFit
	}
	rank := v.Type.Rank()
	d := g.r.IntN(rank)
	switch weighted(g.r, []int{6, 3, 2, 2, 2, 2}) {
	case 0:
		list := []*ir.Value{v}
		for range 1 + g.r.IntN(2) {
			w := g.any(func(w *ir.Value) bool { return joins(v, w, d) })
			if w == nil || g.chance(3) {
				sizes := slices.Clone(v.Type.Sizes)
				sizes[d] = g.size()
				w = g.weight(v.Type.DType, sizes...)
			}
			list = append(list, w)
		}
		g.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return g.call("aten.cat.default", list, d)
	case 1:
		list := []*ir.Value{v}
		for range 1 + g.r.IntN(2) {
			w := g.any(func(w *ir.Value) bool { return sameType(w.Type, v.Type) })
			if w == nil || g.chance(3) {
				w = g.weight(v.Type.DType, v.Type.Sizes...)
			}
			list = append(list, w)
		}
		return g.call("aten.stack.default", list, g.r.IntN(rank+1))
	case 2:
		return g.call("aten.flip.default", v, []int{d})
	case 3:
		repeats := make([]int64, rank)
		for i := range repeats {
			repeats[i] = int64(1 + g.r.IntN(2))
		}
		return g.call("aten.repeat.default", v, repeats)
	case 4:
		pad := make([]int64, 2*(1+g.r.IntN(rank)))
		for i := range pad {
			pad[i] = int64(g.r.IntN(3))
			if g.chance(5) && dim(v, rank-1-i/2) > 3 {
				pad[i] = -1
			}
		}
		return g.call("aten.constant_pad_nd.default", v, pad, g.scalar(v))
	}
	return g.call("aten.roll.default", v, []int{g.r.IntN(4) - 1}, []int{d})
}

// joins reports whether v and w fit to be put together along d.
func joins(v, w *ir.Value, d int) bool {
	if v.Type.DType != w.Type.DType || v.Type.Rank() != w.Type.Rank() {
		return false
	}
	for i := range v.Type.Sizes {
		if i != d && !v.Type.Sizes[i].Equal(w.Type.Sizes[i]) {
			return false
		}
	}
	return true
}
