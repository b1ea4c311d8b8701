package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// marginLossOps are losses that rank, embed or count: most are nothing once a
// margin is kept.
func marginLossOps() []Op {
	return []Op{
		derived("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			d := b.mul(b.Op("aten.neg.default", c.Value("target")), b.sub(c.Value("input1"),
				c.Value("input2")))
			return b.reduced(c, b.hinge(d, c.Arg("margin")))
		}),
		derived("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			x, t := c.Value("self"), c.Value("target")
			apart := b.where(b.Op("aten.ne.Scalar", t, 1), b.hinge(b.Op("aten.neg.default", x),
				c.Arg("margin")), 0, x.Type.DType)
			same := b.where(b.Op("aten.ne.Scalar", t, -1), x, 0, x.Type.DType)
			return b.reduced(c, b.add(apart, same))
		}),
		derived("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				away := b.mul(b.Op("aten.neg.default", c.Value("target")), c.Value("self"))
				return b.reduced(c, b.Op("aten.log1p.default", b.Op("aten.exp.default", away)))
			}),
		derived("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", cosineEmbedding),
		derived("aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
			tripletMargin),
		derived("aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor", multiMargin),
		derived("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", poissonLoss),
	}
}

// hinge is x + margin, at least 0.
func (b *Builder) hinge(x *ir.Value, margin ir.Arg) *ir.Value {
	return b.Op("aten.clamp_min.default", b.Op("aten.add.Scalar", x, margin), 0)
}

// cosineEmbedding draws pairs of target 1 together and pushes those of -1
// apart; others count nothing.
func cosineEmbedding(b *Builder, c *Call) (*ir.Value, error) {
	x, y, t := c.Value("input1"), c.Value("input2"), c.Value("target")
	margin := must(c.Float("margin"))
	const epsilon = 1e-12
	along := func(u, v *ir.Value) *ir.Value {
		return b.Op("aten.sum.dim_IntList", b.mul(u, v), []int{-1})
	}
	size := func(v *ir.Value) *ir.Value { return b.Op("aten.add.Scalar", along(v, v), epsilon) }
	cos := b.div(along(x, y), b.Op("aten.sqrt.default", b.mul(size(x), size(y))))
	d := cos.Type.DType
	same := b.where(b.Op("aten.eq.Scalar", t, 1), b.Op("aten.rsub.Scalar", cos, 1), 0, d)
	apart := b.where(b.Op("aten.eq.Scalar", t, -1), b.hinge(cos, ir.Float(-margin)), 0, d)
	return b.reduced(c, b.add(same, apart))
}

// tripletMargin wants the anchor nearer to the positive than to the negative;
// with swap, to the nearer of it and the positive.
func tripletMargin(b *Builder, c *Call) (*ir.Value, error) {
	near, far := b.distance(c, "anchor", "positive", false), b.distance(c, "anchor",
		"negative", false)
	if c.Bool("swap") {
		far = b.Op("aten.minimum.default", far, b.distance(c, "positive", "negative", false))
	}
	return b.reduced(c, b.hinge(b.sub(near, far), c.Arg("margin")))
}

// multiMargin sums, over the classes but the target's own, what they lack of
// being a margin below it.
func multiMargin(b *Builder, c *Call) (*ir.Value, error) {
	x, t := c.Value("self"), c.Value("target")
	p := must(c.Float("p"))
	if x.Type.Rank() == 0 || x.Type.Rank() > 2 || t.Type.Rank() > 1 {
		return nil, c.Errorf("classes of %s", describeSizes([]ir.Type{x.Type, t.Type}))
	}
	single := t.Type.Rank() == 0 && x.Type.Rank() == 1
	if x.Type.Rank() == 1 {
		x = b.Op("aten.unsqueeze.default", x, 0)
	}
	k, ok := x.Type.Sizes[1].Const()
	if !ok || k == 0 {
		return nil, c.Errorf("the mean over a dynamic number of classes")
	}
	t = b.Op("aten.reshape.default", t, []int{-1})
	at := b.Op("aten.unsqueeze.default", t, 1)
	loss := b.hinge(b.sub(x, b.Op("aten.gather.default", x, 1, at)), c.Arg("margin"))
	if p == 2 {
		loss = b.mul(loss, loss)
	} else if p != 1 {
		return nil, c.Errorf("p is neither 1 nor 2")
	}
	if c.Has("weight") {
		loss = b.mul(loss, b.Op("aten.unsqueeze.default", b.Op("aten.index_select.default",
			c.Value("weight"), 0, t), 1))
	}
	own := b.Op("aten.eq.Tensor", b.Op("aten.arange.default", k), at)
	loss = b.Op("aten.sum.dim_IntList", b.where(own, 0, loss, x.Type.DType), []int{1})
	loss = b.Op("aten.div.Scalar", loss, k)
	if single {
		loss = b.Op("aten.squeeze.dims", loss, []int{0})
	}
	return b.reduced(c, loss)
}

// poissonLoss is the negative logarithm of a Poisson probability; full adds
// Stirling's approximation of the factorial's.
func poissonLoss(b *Builder, c *Call) (*ir.Value, error) {
	x, t := c.Value("input"), c.Value("target")
	d := x.Type.DType
	var loss *ir.Value
	if c.Bool("log_input") {
		loss = b.sub(b.Op("aten.exp.default", x), b.mul(t, x))
	} else {
		loss = b.sub(x, b.mul(t, b.Op("aten.log.default", b.Op("aten.add.Scalar", x,
			c.Arg("eps")))))
	}
	if c.Bool("full") {
		stirling := b.sub(b.mul(t, b.Op("aten.log.default", t)), t)
		stirling = b.add(stirling, b.Op("aten.mul.Scalar", b.Op("aten.log.default",
			b.Op("aten.mul.Scalar", t, 2*math.Pi)), 0.5))
		loss = b.add(loss, b.where(b.Op("aten.le.Scalar", t, 1), 0, stirling, d))
	}
	return b.reduced(c, loss)
}
