package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// marginLossOps are losses that rank, embed or count: most are nothing once a
// margin is kept.
func marginLossOps() []Op {
	pairs := func(r *Rand) (s []int64, x func() Input, sign func() Input) {
		s = r.Shape(2)
		return s, func() Input { return f32(s...) }, func() Input {
			return Tensor(ir.Float32, Values{Lo: -1, Hi: 1}, s...)
		}
	}
	return []Op{
		derived("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			d := b.mul(b.Op("aten.neg.default", c.Value("target")), b.sub(c.Value("input1"),
				c.Value("input2")))
			return b.reduced(c, b.hinge(d, c.Arg("margin")))
		}, func(r *Rand) []Sample {
			_, x, sign := pairs(r)
			return []Sample{NewSample("input1", x(), "input2", x(), "target", sign(), "margin",
				0.5), NewSample("input1", x(), "input2", x(), "target", sign(), "reduction", 0)}
		}),
		derived("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			x, t := c.Value("self"), c.Value("target")
			apart := b.where(b.Op("aten.ne.Scalar", t, 1), b.hinge(b.Op("aten.neg.default", x),
				c.Arg("margin")), 0, x.Type.DType)
			same := b.where(b.Op("aten.ne.Scalar", t, -1), x, 0, x.Type.DType)
			return b.reduced(c, b.add(apart, same))
		}, func(r *Rand) []Sample {
			s, x, _ := pairs(r)
			sign := Tensor(ir.Int64, Values{Lo: -1, Hi: 1}, s...)
			return []Sample{NewSample("self", x(), "target", sign), NewSample("self", x(), "target",
				sign, "margin", 0.3, "reduction", 2)}
		}),
		derived("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				away := b.mul(b.Op("aten.neg.default", c.Value("target")), c.Value("self"))
				return b.reduced(c, b.Op("aten.log1p.default", b.Op("aten.exp.default", away)))
			}, func(r *Rand) []Sample {
				_, x, sign := pairs(r)
				return []Sample{NewSample("self", x(), "target", sign()), NewSample("self", x(),
					"target", sign(), "reduction", 0)}
			}),
		derived("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", cosineEmbedding, func(r *Rand) []Sample {
			n, k := r.Dim(), r.Dim()
			sign := func(shape ...int64) Input {
				return Tensor(ir.Int64, Values{Lo: -1, Hi: 1}, shape...)
			}
			return []Sample{
				NewSample("input1", f32(n, k), "input2", f32(n, k), "target", sign(n),
					"margin", 0.1),
				NewSample("input1", f32(k), "input2", f32(k), "target", sign(), "reduction", 0),
			}
		}),
		derived("aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
			tripletMargin, func(r *Rand) []Sample {
				n, k := r.Dim(), r.Dim()
				return []Sample{
					NewSample("anchor", f32(n, k), "positive", f32(n, k), "negative", f32(n, k)),
					NewSample("anchor", f32(n, k), "positive", f32(n, k), "negative", f32(n, k),
						"p", 1.0, "swap", true, "reduction", 0),
				}
			}),
		derived("aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor", multiMargin, func(r *Rand) []Sample {
			n, k := r.Dim(), 1+r.Dim()
			return []Sample{
				NewSample("self", f32(n, k), "target", indices(k, n)),
				NewSample("self", f32(k), "target", indices(k), "p", 2),
				NewSample("self", f32(n, k), "target", indices(k, n), "margin", 0.5, "weight",
					f32(k), "reduction", 0),
			}
		}),
		derived("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", poissonLoss, func(r *Rand) []Sample {
			s := r.Shape(2)
			x := func(lo, hi float64) Input {
				return Tensor(ir.Float32, Values{Lo: lo, Hi: hi}, s...)
			}
			return []Sample{
				NewSample("input", x(-2, 2), "target", x(0, 3), "log_input", true, "full", false,
					"eps", 1e-8, "reduction", 1),
				NewSample("input", x(0.5, 2), "target", x(0, 3), "log_input", false, "full", true,
					"eps", 1e-8, "reduction", 0),
			}
		}),
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
	margin, err := c.Float("margin")
	if err != nil {
		return nil, err
	}
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
	p, err := c.Float("p")
	if err != nil {
		return nil, err
	}
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
