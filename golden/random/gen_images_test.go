package random

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// images emits convolutions that follow each other, with what stands between
// them in networks: activations, sums, parts and concatenations.
func (g *generator) images() error {
	return g.b.Do(func() error {
		h := g.r.Int64N(8) + 4
		c := pick(g.r, int64(1), 2, 3, 8, 16)
		c = min(c, maxElems/(h*h))
		x := g.input(ir.Float32, ir.Ints([]int64{1, c, h, h}))
		made := []*ir.Value{x}
		for range 2 + g.r.IntN(4) {
			y := g.image(made)
			if !fits(y.Type.Sizes) {
				break
			}
			made = append(made, y)
			if g.chance(6) {
				g.keep(y)
			}
		}
		g.keep(made[len(made)-1])
		return nil
	})
}

// image emits something on the last image or two.
func (g *generator) image(made []*ir.Value) *ir.Value {
	x := made[len(made)-1]
	sizes := x.Type.Sizes
	c := dim(x, 1)
	// like are the images that go with x, but for their channels.
	var like []*ir.Value
	for _, v := range made {
		if s := v.Type.Sizes; s[2].Equal(sizes[2]) && s[3].Equal(sizes[3]) {
			like = append(like, v)
		}
	}
	switch weighted(g.r, []int{8, 4, 2, 2, 4, 2, 1}) {
	case 0:
		return g.layer(x, 1)
	case 1:
		return g.layer(x, c)
	case 2:
		return g.b.Op(pick(g.r, "aten.relu.default", "aten.hardswish.default",
			"aten.sigmoid.default"), x)
	case 3:
		if i := slices.IndexFunc(like[:len(like)-1], func(v *ir.Value) bool {
			return dim(v, 1) == c
		}); i >= 0 {
			return g.b.Op("aten.add.Tensor", x, like[i])
		}
		return g.b.Op("aten.mul.Tensor", x, g.weight(ir.Float32, sym.Int(c), sym.Int(1),
			sym.Int(1)))
	case 4:
		list := []*ir.Value{x}
		for range 1 + g.r.IntN(2) {
			list = append(list, like[g.r.IntN(len(like))])
		}
		g.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return g.b.Op("aten.cat.default", list, 1)
	case 5:
		if c < 2 {
			return g.layer(x, 1)
		}
		vs := g.b.Ops("aten.split.Tensor", x, (c+1)/2, 1)
		if g.chance(2) { // put together again, the other way round
			return g.b.Op("aten.cat.default", []*ir.Value{g.layer(vs[1], 1), vs[0]}, 1)
		}
		return vs[g.r.IntN(len(vs))]
	}
	if dim(x, 2) < 2 || dim(x, 3) < 2 {
		return g.b.Op("aten.relu.default", x)
	}
	return g.b.Op(pick(g.r, "aten.max_pool2d.default", "aten.avg_pool2d.default"), x, []int{2, 2},
		[]int{1 + g.r.IntN(2), 2})
}

// layer is a convolution, perhaps with an activation.
func (g *generator) layer(x *ir.Value, groups int64) *ir.Value {
	c := dim(x, 1)
	out := pick(g.r, int64(1), 3, 4, 8, 16, 24)
	if groups > 1 {
		out = groups * pick(g.r, int64(1), 1, 2)
	}
	out = max(groups, min(out, maxElems/max(1, dim(x, 2)*dim(x, 3))/groups*groups))
	kh, kw := pick(g.r, int64(1), 3), pick(g.r, int64(1), 3, 3)
	stride := pick(g.r, 1, 1, 1, 2)
	pad := []int64{kh / 2, kw / 2}
	if dim(x, 2) > 4 && dim(x, 3) > 4 && g.chance(4) {
		pad = []int64{0, 0}
	}
	var bias any
	if g.chance(2) {
		bias = g.weight(ir.Float32, sym.Int(out))
	}
	w := g.held("w", ir.Parameter, ir.Float32, ir.Ints([]int64{out, c / groups, kh, kw}))
	y := g.b.Op("aten.conv2d.default", x, w, bias, []int{stride, stride}, pad, []int{1, 1}, groups)
	if g.chance(2) {
		y = g.b.Op(pick(g.r, "aten.relu.default", "aten.hardtanh.default"), y)
	}
	return y
}
