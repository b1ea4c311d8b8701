package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// safeSoftmaxCore is softmax, 0 in rows that have nothing to choose from.
func safeSoftmaxCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	x := b.cast(c.Value("self"), d)
	if x.Type.Rank() == 0 {
		return b.where(b.Op("aten.eq.Scalar", x, -inf), 0, b.Op("aten._softmax.default", x,
			0, false), d)
	}
	none := b.Op("aten.eq.Scalar", b.Op("aten.amax.default", x, ir.List{c.Arg("dim")}, true),
		math.Inf(-1))
	return b.Op("aten.masked_fill.Scalar", b.Op("aten._softmax.default", x, c.Arg("dim"), false),
		none, 0)
}

func rmsNormCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("input")
	d := x.Type.DType
	m := opmath(d)
	lead := must(c.trailing(x.Type))
	eps := epsilon(m)
	if c.Has("eps") {
		eps = must(c.Float("eps"))
	}
	var dims []int
	for k := lead; k < x.Type.Rank(); k++ {
		dims = append(dims, k)
	}
	x = b.cast(x, m)
	mean := b.Op("aten.mean.dim", b.mul(x, x), dims, true)
	y := b.mul(x, b.Op("aten.rsqrt.default", b.add(mean, eps)))
	if c.Has("weight") {
		y = b.mul(y, b.cast(c.Value("weight"), m))
	}
	return b.cast(y, d)
}

// instanceNormCore is group norm with a channel to each group, or batch norm
// with the statistics given.
func instanceNormCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("input")
	if !c.Bool("use_input_stats") {
		return b.Op("aten._native_batch_norm_legit_no_training.default", x, c.Arg("weight"),
			c.Arg("bias"), c.Arg("running_mean"), c.Arg("running_var"), c.Arg("momentum"),
			c.Arg("eps"))
	}
	sizes := x.Type.Sizes
	groups, ok := sizes[1].Const()
	if !ok {
		check(c.Errorf("an instance norm of a dynamic number of channels"))
	}
	return b.Op("aten.native_group_norm.default", x, c.Arg("weight"), c.Arg("bias"), sizes[0],
		sizes[1], sym.Mul(sizes[2:]...), groups, c.Arg("eps"))
}

// trainCore is batch norm in training mode, which gives the statistics it
// would leave too.
func trainCore(b *Builder, c *Call) []*ir.Value {
	x, mean, variance := c.Value("input"), c.Value("running_mean"), c.Value("running_var")
	if !c.Bool("training") {
		out := b.Ops("aten._native_batch_norm_legit_no_training.default", x, c.Arg("weight"),
			c.Arg("bias"), mean, variance, c.Arg("momentum"), c.Arg("eps"))
		return append(out, mean, variance)
	}
	out := b.Ops("aten._native_batch_norm_legit.no_stats", x, c.Arg("weight"), c.Arg("bias"), true,
		c.Arg("momentum"), c.Arg("eps"))
	momentum := must(c.Float("momentum"))
	dims := []int{0}
	for d := 2; d < x.Type.Rank(); d++ {
		dims = append(dims, d)
	}
	m := opmath(x.Type.DType)
	x = b.cast(x, m)
	blend := func(old, seen *ir.Value) *ir.Value {
		return b.cast(b.add(b.mul(b.cast(old, m), 1-momentum), b.mul(seen, momentum)),
			old.Type.DType)
	}
	return append(out, blend(mean, b.Op("aten.mean.dim", x, dims)),
		blend(variance, b.Op("aten.var.correction", x, dims, Kw("correction", 1))))
}

func weightNormCore(b *Builder, c *Call) *ir.Value {
	v, g := c.Value("v"), c.Value("g")
	d := v.Type.DType
	m := opmath(d)
	keep := -1
	n := must(c.Int("dim"))
	if n != -1 {
		keep = must(c.wrapDim(n, v.Type.Rank()))
	}
	var dims []int
	for k := range v.Type.Rank() {
		if k != keep {
			dims = append(dims, k)
		}
	}
	v = b.cast(v, m)
	norm := b.Op("aten.sqrt.default", b.Op("aten.sum.dim_IntList", b.mul(v, v), dims, true))
	return b.cast(b.mul(v, b.div(b.cast(g, m), norm)), d)
}
