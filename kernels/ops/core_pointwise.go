package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// rsubCore is other - alpha·self.
func rsubCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	x, y := b.tensor(c, "self", d), b.tensor(c, "other", d)
	return b.Op("aten.sub.Tensor", y, x, Kw("alpha", c.Arg("alpha")))
}

func fmaxCore(op string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		d := c.Outs[0].DType
		x, y := b.tensor(c, "self", d), b.tensor(c, "other", d)
		m := b.where(b.Op("aten.isnan.default", y), x, b.Op(op, x, y), d)
		return b.where(b.Op("aten.isnan.default", x), y, m, d)
	}
}

func addcCore(combine string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		d := c.Outs[0].DType
		m := opmath(d)
		x, t1, t2 := b.tensor(c, "self", m), b.tensor(c, "tensor1", m), b.tensor(c, "tensor2", m)
		return b.cast(b.add(x, b.Op(combine, b.mul(t1, c.Arg("value")), t2)), d)
	}
}

func lerpCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	x, y := b.tensor(c, "self", m), b.tensor(c, "end", m)
	w := b.tensor(c, "weight", m)
	diff := b.sub(y, x)
	near := b.add(x, b.mul(w, diff))
	far := b.sub(y, b.mul(diff, b.sub(b.scalar(1, m), w)))
	near = b.where(b.Op("aten.lt.Scalar", b.Op("aten.abs.default", w), 0.5), near, far, m)
	return b.cast(near, d)
}

func roundDecimalsCore(b *Builder, c *Call, x *ir.Value) *ir.Value {
	n, err := c.Int("decimals")
	if err != nil || !x.Type.DType.IsFloat() {
		return b.Op("aten.clone.default", x)
	}
	ten := math.Pow10(int(max(n, -n)))
	switch {
	case n > 0:
		return b.div(b.Op("aten.round.default", b.mul(x, ten)), ten)
	case n < 0:
		return b.mul(b.Op("aten.round.default", b.div(x, ten)), ten)
	}
	return b.Op("aten.round.default", x)
}

func swapped2(op string) coreForm {
	return func(b *Builder, c *Call) *ir.Value { return b.Op(op, c.Arg("other"), c.Arg("self")) }
}

func infCore(value float64) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		return b.Op("aten.eq.Scalar", c.Value("self"), value)
	}
}

func isFiniteCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	if !x.Type.DType.IsFloat() {
		return b.Op("aten.full_like.default", x, true, Kw("dtype", ir.Bool))
	}
	return b.Op("aten.logical_and.default", b.Op("aten.eq.Tensor", x, x), b.Op("aten.logical_not.default", b.Op("aten.isinf.default", x)))
}

func scaleCore(k float64) coreForm {
	return opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value { return b.mul(x, k) })
}

func sincCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	px := b.mul(x, math.Pi)
	return b.where(b.Op("aten.eq.Scalar", x, 0), 1, b.div(b.Op("aten.sin.default", px), px), x.Type.DType)
}

func xlogyCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	x, y := b.tensor(c, "self", m), b.tensor(c, "other", m)
	r := b.where(b.Op("aten.eq.Scalar", x, 0), 0, b.mul(x, b.Op("aten.log.default", y)), m)
	return b.cast(b.where(b.Op("aten.isnan.default", y), math.NaN(), r, m), d)
}

func logAddExpCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	x, y := b.tensor(c, "self", m), b.tensor(c, "other", m)
	top := b.Op("aten.maximum.default", x, y)
	far := b.Op("aten.neg.default", b.Op("aten.abs.default", b.sub(x, y)))
	r := b.add(top, b.Op("aten.log1p.default", b.Op("aten.exp.default", far)))
	both := b.Op("aten.logical_and.default", b.Op("aten.eq.Tensor", x, y), b.Op("aten.isinf.default", x))
	return b.cast(b.where(both, x, r, m), d)
}

func siluCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	return b.mul(x, b.Op("aten.sigmoid.default", x))
}

func mishCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	return b.mul(x, b.Op("aten.tanh.default", b.softplus(x, 1, 20)))
}

// softplus is log(1 + exp(βx))/β, x itself where βx is above the threshold.
func (b *Builder) softplus(x *ir.Value, beta, threshold any) *ir.Value {
	bx := b.mul(x, beta)
	soft := b.div(b.Op("aten.log1p.default", b.Op("aten.exp.default", bx)), beta)
	return b.where(b.Op("aten.gt.Scalar", bx, threshold), x, soft, x.Type.DType)
}

func softplusCore(b *Builder, c *Call, x *ir.Value) *ir.Value {
	return b.softplus(x, c.Arg("beta"), c.Arg("threshold"))
}

// relu6Of3 is relu6(x + 3).
func (b *Builder) relu6Of3(x *ir.Value) *ir.Value {
	return b.Op("aten.clamp.default", b.add(x, 3), 0, 6)
}

func hardsigmoidCore(b *Builder, _ *Call, x *ir.Value) *ir.Value { return b.div(b.relu6Of3(x), 6) }

func hardswishCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	return b.div(b.mul(x, b.relu6Of3(x)), 6)
}

func preluCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	x := b.tensor(c, "self", d)
	return b.where(b.Op("aten.gt.Scalar", x, 0), x, b.mul(x, b.tensor(c, "weight", d)), d)
}

func seluCore(b *Builder, c *Call) *ir.Value {
	return b.Op("aten.elu.default", c.Value("self"), seluAlpha, seluScale)
}

func celuCore(b *Builder, c *Call) *ir.Value {
	a, err := c.Float("alpha")
	if err != nil {
		panic(buildFailure{err})
	}
	return b.Op("aten.elu.default", c.Value("self"), a, 1, 1/a)
}

func logSigmoidCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	far := b.Op("aten.exp.default", b.Op("aten.neg.default", b.Op("aten.abs.default", x)))
	return b.sub(b.Op("aten.clamp.default", x, nil, 0), b.Op("aten.log1p.default", far))
}

func hardshrinkCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	inside := b.Op("aten.le.Scalar", b.Op("aten.abs.default", x), c.Arg("lambd"))
	return b.where(inside, 0, x, x.Type.DType)
}

func softshrinkCore(b *Builder, c *Call, x *ir.Value) *ir.Value {
	l := c.Arg("lambd")
	d := x.Type.DType
	low := b.where(b.Op("aten.lt.Tensor", x, b.Op("aten.neg.default", b.scalar(l, d))), b.add(x, l), b.mul(x, 0), d)
	return b.where(b.Op("aten.gt.Scalar", x, l), b.sub(x, l), low, d)
}

func thresholdCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	return b.where(b.Op("aten.le.Scalar", x, c.Arg("threshold")), c.Arg("value"), x, x.Type.DType)
}

func logitCore(b *Builder, c *Call, x *ir.Value) *ir.Value {
	if c.Has("eps") {
		e, err := c.Float("eps")
		if err != nil {
			panic(buildFailure{err})
		}
		x = b.Op("aten.clamp.default", x, e, 1-e)
	}
	return b.Op("aten.log.default", b.div(x, b.sub(b.scalar(1, x.Type.DType), x)))
}

func whereCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	return b.Op("aten.where.self", c.Arg("condition"), b.tensor(c, "self", d), b.tensor(c, "other", d))
}

func maskedFillCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	return b.Op("aten.where.self", c.Value("mask"), b.tensor(c, "value", d), c.Value("self"))
}

func nanToNumCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	d := x.Type.DType
	if !d.IsFloat() {
		return b.Op("aten.clone.default", x)
	}
	or := func(name string, def float64) any {
		if c.Has(name) {
			return c.Arg(name)
		}
		return def
	}
	y := b.where(b.Op("aten.eq.Scalar", x, inf), or("posinf", largest[d]), x, d)
	y = b.where(b.Op("aten.eq.Scalar", x, -inf), or("neginf", -largest[d]), y, d)
	return b.where(b.Op("aten.isnan.default", x), or("nan", 0), y, d)
}

func exp2Core(b *Builder, c *Call) *ir.Value {
	return b.Op("aten.pow.Scalar", 2.0, b.cast(c.Value("self"), c.Outs[0].DType))
}

// clampCore is clamp with the one bound that the operator has.
func clampCore(b *Builder, c *Call) *ir.Value {
	s := c.Op.sch
	d := c.Outs[0].DType
	x := b.tensor(c, "self", d)
	name := s.Args[1].Name
	if s.Args[1].Type.Name == "Tensor" {
		return b.Op("aten.clamp.Tensor", x, Kw(name, b.tensor(c, name, d)))
	}
	return b.Op("aten.clamp.default", x, Kw(name, c.Arg(name)))
}
