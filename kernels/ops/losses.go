package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
)

// lossOps compare predictions with targets.
func lossOps() []entry {
	return []entry{
		pairLoss("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
			func(b *Builder, _ *Call, d *ir.Value) *ir.Value { return b.mul(d, d) }),
		pairLoss("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
			func(b *Builder, _ *Call, d *ir.Value) *ir.Value { return b.aten("abs", d) }),
		pairLoss("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, "+
			"float beta=1.) -> Tensor", func(b *Builder, c *Call, d *ir.Value) *ir.Value {
			beta := must(c.Float("beta"))
			far := b.aten("abs", d)
			if beta == 0 {
				return far
			}
			near := b.aten("div.Scalar", b.aten("mul.Scalar", b.mul(d, d), 0.5), beta)
			return b.where(b.aten("lt.Scalar", far, beta), near, b.aten("sub.Scalar", far,
				0.5*beta), d.Type.DType)
		}),
		pairLoss("aten::huber_loss(Tensor self, Tensor target, int reduction=1, "+
			"float delta=1.) -> Tensor", func(b *Builder, c *Call, d *ir.Value) *ir.Value {
			delta := must(c.Float("delta"))
			size := b.aten("abs", d)
			far := b.aten("mul.Scalar", b.aten("sub.Scalar", size, 0.5*delta), delta)
			return b.where(b.aten("lt.Scalar", size, delta), b.aten("mul.Scalar", b.mul(d, d),
				0.5), far, d.Type.DType)
		}),
		derived("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) "+
			"-> Tensor", func(b *Builder, c *Call) *ir.Value {
			x, t := c.Value("self"), c.Value("target")
			var loss *ir.Value
			if c.Bool("log_target") {
				loss = b.mul(b.aten("exp", t), b.sub(t, x))
			} else {
				loss = b.sub(b.aten("xlogy.Tensor", t, t), b.mul(t, x))
			}
			return b.reduced(c, loss)
		}),
		derived("aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, "+
			"int reduction=1) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			// Takes logarithms no smaller than -100.
			x, t := c.Value("self"), c.Value("target")
			least := func(v *ir.Value) *ir.Value {
				return b.aten("maximum", v, b.scalar(-100.0, v.Type.DType))
			}
			no := b.mul(b.aten("sub.Scalar", t, 1), least(b.aten("log1p", b.aten("neg", x))))
			return b.weighted(c, b.sub(no, b.mul(t, least(b.aten("log", x)))))
		}),
		derived("aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, "+
			"Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x, t := c.Value("self"), c.Value("target")
				log := b.aten("log_sigmoid", x)
				if c.Has("pos_weight") {
					w := b.aten("sub.Scalar", c.Value("pos_weight"), 1)
					log = b.mul(b.aten("add.Scalar", b.mul(w, t), 1), log)
				}
				return b.weighted(c, b.sub(b.mul(b.aten("rsub.Scalar", t, 1), x), log))
			}),
		chunkedCrossEntropy("",
			", str reduction, int ignore_index, float label_smoothing, int batch_chunk_size, "+
				"str acc_policy, ScalarType acc_dtype, bool allow_retain_graph, bool compute_input_grad, "+
				"bool compute_linear_weight_grad, bool compute_linear_bias_grad) -> (Tensor, Tensor, Tensor, "+
				"Tensor)"),
		chunkedCrossEntropy("_no_reduction",
			", int ignore_index, int batch_chunk_size, str acc_policy, ScalarType acc_dtype) -> Tensor"),
		derived("aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, "+
			"int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor", crossEntropy),
		derived("aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "+
			"SymInt ignore_index=-100) -> Tensor",
			func(b *Builder, c *Call) *ir.Value { return classLoss(b, c, c.Value("self"), 0) }),
	}
}

// reduced is what a loss gives of its elements: all, their mean or their sum.
func (b *Builder) reduced(c *Call, loss *ir.Value) *ir.Value {
	switch n := must(c.Int("reduction")); {
	case n == 0:
		return loss
	case n == 1:
		return b.aten("mean", loss)
	case n == 2:
		return b.aten("sum", loss)
	}
	panic(c.Errorf("reduction is none of 0, 1 and 2"))
}

// pairLoss is a loss of the difference between self and target.
func pairLoss(schema string, f func(*Builder, *Call, *ir.Value) *ir.Value) entry {
	return derived(schema, func(b *Builder, c *Call) *ir.Value {
		loss := f(b, c, b.sub(c.Value("self"), c.Value("target")))
		return b.reduced(c, loss)
	})
}

// weighted multiplies a loss by argument weight, if there is one, and reduces it.
func (b *Builder) weighted(c *Call, loss *ir.Value) *ir.Value {
	if c.Has("weight") {
		loss = b.mul(loss, c.Value("weight"))
	}
	return b.reduced(c, loss)
}

// crossEntropy is the loss of logits: for classes as for their logarithms, for
// probabilities the sum over all classes.
func crossEntropy(b *Builder, c *Call) *ir.Value {
	x, t := c.Value("self"), c.Value("target")
	smooth := must(c.Float("label_smoothing"))
	c.errorIf(x.Type.Rank() == 0 || !t.Type.DType.IsInt() && t.Type.Rank() != x.Type.Rank(),
		"classes of %s", sizesOf{x.Type, t.Type})
	d := classDim(x.Type)
	log := b.aten("_log_softmax", x, d, false)
	if t.Type.DType.IsInt() {
		return classLoss(b, c, log, smooth)
	}
	k := x.Type.Sizes[d]
	n, ok := k.Const()
	if smooth > 0 {
		c.errorIf(!ok, "label smoothing over a dynamic number of classes")
		t = b.aten("add.Scalar", b.aten("mul.Scalar", t, 1-smooth), smooth/float64(n))
	}
	loss := b.mul(log, t)
	if c.Has("weight") {
		loss = b.mul(loss, b.perClass(c.Value("weight"), x.Type))
	}
	loss = b.aten("neg", b.aten("sum.dim_IntList", loss, []int{d}))
	if must(c.Int("reduction")) != 1 {
		return b.reduced(c, loss)
	}
	// The mean is over the batch, whatever the weights.
	return b.aten("mean", loss)
}

// classDim is the dimension of the classes.
func classDim(t ir.Type) int { return min(1, t.Rank()-1) }

// perClass gives a tensor of one element per class the rank of t.
func (b *Builder) perClass(w *ir.Value, t ir.Type) *ir.Value {
	shape := slices.Repeat([]int64{1}, t.Rank())
	shape[classDim(t)] = -1
	return b.aten("reshape", w, shape)
}

// classLoss is the negative logarithm at the class that target names, smoothed
// with the mean over all; classes that are ignored count nothing.
func classLoss(b *Builder, c *Call, log *ir.Value, smooth float64) *ir.Value {
	t := c.Value("target")
	ignored := must(c.Int("ignore_index"))
	c.errorIf(!t.Type.DType.IsInt() || t.Type.Rank() != log.Type.Rank()-1, "classes of %s",
		sizesOf{log.Type, t.Type})
	d := classDim(log.Type)
	dt := log.Type.DType
	off := b.aten("eq.Scalar", t, ignored)
	at := b.aten("unsqueeze", b.where(off, 0, t, ir.Int64), d)
	pick := func(x *ir.Value) *ir.Value {
		return b.aten("neg", b.aten("squeeze.dims", b.aten("gather", x, d, at), []int{d}))
	}
	scaled := log
	if c.Has("weight") {
		scaled = b.mul(log, b.perClass(c.Value("weight"), log.Type))
	}
	loss := b.where(off, 0, pick(scaled), dt)
	n := must(c.Int("reduction"))
	total := loss
	if n == 1 { // divided by the weights of the classes that count
		var share *ir.Value
		if c.Has("weight") {
			share = b.aten("index_select", c.Value("weight"), 0, b.aten("reshape", at, []int{-1}))
			share = b.aten("reshape", share, t.Type.Sizes)
			share = b.where(off, 0, share, dt)
		} else {
			share = b.where(off, 0, 1.0, dt)
		}
		share = b.aten("sum", share)
		total = b.div(b.aten("sum", loss), share)
		if smooth == 0 {
			return total
		}
		even := b.where(off, 0, b.aten("neg", b.aten("sum.dim_IntList", scaled, []int{d})), dt)
		return b.smoothed(c, log.Type, total, b.div(b.aten("sum", even), share), smooth)
	}
	if smooth != 0 {
		even := b.where(off, 0, b.aten("neg", b.aten("sum.dim_IntList", scaled, []int{d})), dt)
		total = b.smoothed(c, log.Type, loss, even, smooth)
	}
	return b.reduced(c, total)
}

// smoothed mixes the loss of the class named with that of all.
func (b *Builder) smoothed(c *Call, t ir.Type, named, all *ir.Value,
	smooth float64) *ir.Value {
	k, ok := t.Sizes[classDim(t)].Const()
	c.errorIf(!ok || k == 0, "label smoothing over a dynamic number of classes")
	return b.add(b.aten("mul.Scalar", named, 1-smooth), b.aten("mul.Scalar", all,
		smooth/float64(k)))
}

// marginLossOps are losses that rank, embed or count: most are nothing once a
// margin is kept.
func marginLossOps() []entry {
	return []entry{
		derived("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, "+
			"float margin=0., int reduction=1) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			d := b.mul(b.aten("neg", c.Value("target")), b.sub(c.Value("input1"),
				c.Value("input2")))
			return b.reduced(c, b.hinge(d, c.Arg("margin")))
		}),
		derived("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., "+
			"int reduction=1) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			x, t := c.Value("self"), c.Value("target")
			away := b.aten("clamp_min", b.sub(b.aten("full_like", x, c.Arg("margin")), x), 0)
			apart := b.where(b.aten("ne.Scalar", t, 1), away, 0, x.Type.DType)
			same := b.where(b.aten("ne.Scalar", t, -1), x, 0, x.Type.DType)
			return b.reduced(c, b.add(apart, same))
		}),
		derived("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				away := b.mul(b.aten("neg", c.Value("target")), c.Value("self"))
				return b.reduced(c, b.aten("log1p", b.aten("exp", away)))
			}),
		derived("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, "+
			"float margin=0., int reduction=1) -> Tensor", cosineEmbedding),
		derived("aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, "+
			"float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, "+
			"int reduction=1) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				// Wants the anchor nearer to the positive than to the negative;
				// with swap, to the nearer of it and the positive.
				near, far := b.distance(c, "anchor", "positive", false), b.distance(c, "anchor",
					"negative", false)
				if c.Bool("swap") {
					far = b.aten("minimum", far, b.distance(c, "positive", "negative", false))
				}
				return b.reduced(c, b.hinge(b.sub(near, far), c.Arg("margin")))
			}),
		derived("aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "+
			"Tensor? weight=None, int reduction=1) -> Tensor", multiMargin),
		derived("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
			multilabelMargin),
		derived("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, "+
			"float eps, int reduction) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			// The negative logarithm of a Poisson probability; full adds
			// Stirling's approximation of the factorial's.
			x, t := c.Value("input"), c.Value("target")
			var loss *ir.Value
			if c.Bool("log_input") {
				loss = b.sub(b.aten("exp", x), b.mul(t, x))
			} else {
				loss = b.sub(x, b.mul(t, b.aten("log", b.aten("add.Scalar", x, c.Arg("eps")))))
			}
			if c.Bool("full") {
				stirling := b.sub(b.mul(t, b.aten("log", t)), t)
				stirling = b.add(stirling, b.aten("mul.Scalar", b.aten("log",
					b.aten("mul.Scalar", t, 2*math.Pi)), 0.5))
				loss = b.add(loss, b.where(b.aten("le.Scalar", t, 1), 0, stirling,
					stirling.Type.DType))
			}
			return b.reduced(c, loss)
		}),
	}
}

// multilabelMargin wants each class that target names before a negative number to score 1 more
// than each that it does not name.
func multilabelMargin(b *Builder, c *Call) *ir.Value {
	x, t := c.Value("self"), c.Value("target")
	rank := x.Type.Rank()
	c.errorIf(rank > 2 || !sameSizes(x.Type.Sizes, t.Type.Sizes), "%s", sizesOf{x.Type, t.Type})
	if rank == 0 {
		x, t = b.aten("unsqueeze", x, 0), b.aten("unsqueeze", t, 0)
	}
	d, classes := x.Type.DType, x.Type.Sizes[max(rank, 1)-1]
	named := b.aten("cumprod", b.cast(b.aten("ge.Scalar", t, 0), d), -1)
	at := b.aten("clamp_min", t, 0)
	is := b.aten("eq.Tensor", b.aten("unsqueeze", at, -1), b.aten("arange", classes))
	pairs := b.mul(b.cast(is, d), b.aten("unsqueeze", named, -1))
	others := b.aten("rsub.Scalar", b.aten("amax", pairs, []int{-2}, true), 1)
	short := b.sub(b.aten("unsqueeze", x, -2), b.aten("unsqueeze", b.aten("gather", x, -1, at), -1))
	short = b.mul(b.aten("relu", b.aten("add.Scalar", short, 1)), b.aten("unsqueeze", named, -1))
	loss := b.aten("sum.dim_IntList", b.mul(short, others), []int{-2, -1})
	return b.reduced(c, b.div(loss, b.cast(b.scalarOf(classes), d)))
}

// hinge is x + margin, at least 0.
func (b *Builder) hinge(x *ir.Value, margin ir.Arg) *ir.Value {
	return b.aten("clamp_min", b.aten("add.Scalar", x, margin), 0)
}

// cosineEmbedding is the loss that draws pairs of target 1 together and separates pairs of
// target -1. Pairs of another target count nothing.
func cosineEmbedding(b *Builder, c *Call) *ir.Value {
	x, y, t := c.Value("input1"), c.Value("input2"), c.Value("target")
	margin := must(c.Float("margin"))
	const epsilon = 1e-12
	along := func(u, v *ir.Value) *ir.Value {
		return b.aten("sum.dim_IntList", b.mul(u, v), []int{-1})
	}
	size := func(v *ir.Value) *ir.Value { return b.aten("add.Scalar", along(v, v), epsilon) }
	cos := b.div(along(x, y), b.aten("sqrt", b.mul(size(x), size(y))))
	d := cos.Type.DType
	same := b.where(b.aten("eq.Scalar", t, 1), b.aten("rsub.Scalar", cos, 1), 0, d)
	apart := b.where(b.aten("eq.Scalar", t, -1), b.hinge(cos, ir.Float(-margin)), 0, d)
	return b.reduced(c, b.add(same, apart))
}

// multiMargin sums, over the classes but the target's own, what they lack of
// being a margin below it.
func multiMargin(b *Builder, c *Call) *ir.Value {
	x, t := c.Value("self"), c.Value("target")
	p := must(c.Float("p"))
	c.errorIf(x.Type.Rank() == 0 || x.Type.Rank() > 2 || t.Type.Rank() > 1, "classes of %s",
		sizesOf{x.Type, t.Type})
	single := t.Type.Rank() == 0 && x.Type.Rank() == 1
	if x.Type.Rank() == 1 {
		x = b.aten("unsqueeze", x, 0)
	}
	k, ok := x.Type.Sizes[1].Const()
	c.errorIf(!ok || k == 0, "the mean over a dynamic number of classes")
	t = b.aten("reshape", t, []int{-1})
	at := b.aten("unsqueeze", t, 1)
	loss := b.hinge(b.sub(x, b.aten("gather", x, 1, at)), c.Arg("margin"))
	if p == 2 {
		loss = b.mul(loss, loss)
	} else if p != 1 {
		panic(c.Errorf("p is neither 1 nor 2"))
	}
	if c.Has("weight") {
		loss = b.mul(loss, b.aten("unsqueeze", b.aten("index_select", c.Value("weight"), 0, t), 1))
	}
	own := b.aten("eq.Tensor", b.aten("arange", k), at)
	loss = b.aten("sum.dim_IntList", b.where(own, 0, loss, x.Type.DType), []int{1})
	loss = b.aten("div.Scalar", loss, k)
	if single {
		loss = b.aten("squeeze.dims", loss, []int{0})
	}
	return b.reduced(c, loss)
}

// chunkedCrossEntropy is the cross entropy of a linear layer, which PyTorch computes by parts of
// the batch. Of the gradients that it can compute at the same time there are none.
//
//go:noinline
func chunkedCrossEntropy(name, tail string) entry {
	return entry{
		Schema: "torch_nn::_linear_cross_entropy_batch_chunked" + name +
			"(Tensor input, Tensor linear_weight, Tensor target, Tensor? linear_bias, Tensor? weight" + tail,
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			reduction, smoothing := "none", any(0.0)
			if c.Op.sch.Index("reduction") >= 0 {
				reduction, smoothing = c.Str("reduction"), c.Arg("label_smoothing")
				c.errorIf(c.Bool("compute_input_grad") || c.Bool("compute_linear_weight_grad") ||
					c.Bool("compute_linear_bias_grad"), "gradients in the forward pass")
			}
			at := slices.Index([]string{"none", "mean", "sum"}, reduction)
			c.errorIf(at < 0, "reduction %q", reduction)
			x := b.aten("linear", c.Value("input"), c.Value("linear_weight"), c.Arg("linear_bias"))
			vs := []*ir.Value{b.aten("cross_entropy_loss", x, c.Value("target"), c.Arg("weight"), at,
				c.Arg("ignore_index"), smoothing)}
			for _, rank := range []int{2, 2, 1}[:len(c.Op.sch.Returns)-1] { // no gradients
				vs = append(vs, b.aten("empty.memory_format", make([]int, rank),
					Kw("dtype", x.Type.DType)))
			}
			return vs
		},
	}
}
