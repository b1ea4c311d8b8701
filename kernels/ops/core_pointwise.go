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

// ofTensors is op with tensors in the place of numbers.
func ofTensors(op string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		d := c.Outs[0].DType
		return b.Op(op, b.tensor(c, "self", d), b.tensor(c, "other", d))
	}
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
	return b.Op("aten.logical_and.default", b.Op("aten.eq.Tensor", x, x),
		b.Op("aten.logical_not.default", b.Op("aten.isinf.default", x)))
}

func scaleCore(k float64) coreForm {
	return opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value { return b.mul(x, k) })
}

func sincCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	px := b.mul(x, math.Pi)
	return b.where(b.Op("aten.eq.Scalar", x, 0), 1, b.div(b.Op("aten.sin.default", px), px),
		x.Type.DType)
}

func xlogyCore(b *Builder, c *Call) *ir.Value { return b.timesLog(c, "aten.log.default") }

func xlog1pyCore(b *Builder, c *Call) *ir.Value { return b.timesLog(c, "aten.log1p.default") }

// timesLog is self times a logarithm of other, 0 where self is unless other is
// NaN.
func (b *Builder) timesLog(c *Call, log string) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	x, y := b.tensor(c, "self", m), b.tensor(c, "other", m)
	r := b.where(b.Op("aten.eq.Scalar", x, 0), 0, b.mul(x, b.Op(log, y)), m)
	return b.cast(b.where(b.Op("aten.isnan.default", y), math.NaN(), r, m), d)
}

func entropyCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	d := x.Type.DType
	r := b.Op("aten.neg.default", b.mul(x, b.Op("aten.log.default", x)))
	r = b.where(b.Op("aten.eq.Scalar", x, 0), 0, r, d)
	return b.where(b.Op("aten.lt.Scalar", x, 0), -inf, r, d)
}

func normalBelowCore(b *Builder, _ *Call, x *ir.Value) *ir.Value {
	at := b.Op("aten.mul.Scalar", x, math.Sqrt2/2)
	return b.Op("aten.mul.Scalar", b.Op("aten.add.Scalar", b.Op("aten.erf.default", at), 1), 0.5)
}

// logAddExp2Core is logAddExp of natural logarithms.
func logAddExp2Core(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	natural := func(name string) *ir.Value {
		return b.Op("aten.mul.Scalar", b.tensor(c, name, m), math.Ln2)
	}
	return b.cast(b.Op("aten.mul.Scalar", b.logAddExp(natural("self"), natural("other")),
		math.Log2E), d)
}

func logAddExpCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	return b.cast(b.logAddExp(b.tensor(c, "self", m), b.tensor(c, "other", m)), d)
}

// logAddExp is log(exp(x) + exp(y)) of tensors of one dtype.
func (b *Builder) logAddExp(x, y *ir.Value) *ir.Value {
	top := b.Op("aten.maximum.default", x, y)
	far := b.Op("aten.neg.default", b.Op("aten.abs.default", b.sub(x, y)))
	r := b.add(top, b.Op("aten.log1p.default", b.Op("aten.exp.default", far)))
	both := b.Op("aten.logical_and.default", b.Op("aten.eq.Tensor", x, y),
		b.Op("aten.isinf.default", x))
	return b.where(both, x, r, r.Type.DType)
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
	a := must(c.Float("alpha"))
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
	low := b.where(b.Op("aten.lt.Tensor", x, b.Op("aten.neg.default", b.scalar(l, d))), b.add(x, l),
		b.mul(x, 0), d)
	return b.where(b.Op("aten.gt.Scalar", x, l), b.sub(x, l), low, d)
}

func thresholdCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	return b.where(b.Op("aten.le.Scalar", x, c.Arg("threshold")), c.Arg("value"), x, x.Type.DType)
}

func logitCore(b *Builder, c *Call, x *ir.Value) *ir.Value {
	if c.Has("eps") {
		e := must(c.Float("eps"))
		x = b.Op("aten.clamp.default", x, e, 1-e)
	}
	return b.Op("aten.log.default", b.div(x, b.sub(b.scalar(1, x.Type.DType), x)))
}

func whereCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	return b.Op("aten.where.self", c.Arg("condition"), b.tensor(c, "self", d),
		b.tensor(c, "other", d))
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

// signbitCore finds the sign of a zero by its direction in the plane.
func signbitCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	if x.Type.DType == ir.Bool || x.Type.DType.IsUnsigned() {
		return b.Op("aten.full_like.default", x, false, Kw("dtype", ir.Bool))
	}
	return b.negative(x)
}

// negative reports which elements have their sign set.
func (b *Builder) negative(x *ir.Value) *ir.Value {
	if x.Type.DType.IsFloat() {
		x = b.Op("aten.atan2.default", x, b.scalar(-1.0, x.Type.DType))
	}
	return b.Op("aten.lt.Scalar", x, 0)
}

func copysignCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	size := b.Op("aten.abs.default", b.tensor(c, "self", d))
	return b.where(b.negative(b.tensor(c, "other", d)), b.Op("aten.neg.default", size), size, d)
}

func heavisideCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	x := b.tensor(c, "self", d)
	return b.where(b.Op("aten.eq.Scalar", x, 0), b.tensor(c, "values", d),
		b.Op("aten.gt.Scalar", x, 0), d)
}

// hypotCore divides by the longer side, so that no square overflows.
func hypotCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	x, y := b.Op("aten.abs.default", b.tensor(c, "self", m)), b.Op("aten.abs.default",
		b.tensor(c, "other", m))
	long, short := b.Op("aten.maximum.default", x, y), b.Op("aten.minimum.default", x, y)
	ratio := b.div(short, b.where(b.Op("aten.eq.Scalar", long, 0), 1, long, m))
	r := b.mul(long, b.Op("aten.sqrt.default", b.add(b.mul(ratio, ratio), 1)))
	either := b.Op("aten.logical_or.default", b.Op("aten.isinf.default", x),
		b.Op("aten.isinf.default", y))
	return b.cast(b.where(either, inf, r, m), d)
}

func isCloseCore(b *Builder, c *Call) *ir.Value {
	x, y := c.Value("self"), c.Value("other")
	rtol := must(c.Float("rtol"))
	atol := must(c.Float("atol"))
	same := b.Op("aten.eq.Tensor", x, y)
	float := x.Type.DType.IsFloat()
	if float && c.Bool("equal_nan") {
		nan := b.Op("aten.logical_and.default", b.Op("aten.isnan.default", x),
			b.Op("aten.isnan.default", y))
		same = b.Op("aten.logical_or.default", same, nan)
	}
	if rtol == 0 && atol == 0 {
		return same
	}
	d := x.Type.DType
	if !float {
		d = ir.Float32
		x, y = b.cast(x, d), b.cast(y, d)
	}
	m := opmath(d)
	x, y = b.cast(x, m), b.cast(y, m)
	allowed := b.add(b.Op("aten.abs.default", b.mul(y, rtol)), atol)
	apart := b.Op("aten.abs.default", b.sub(x, y))
	near := b.Op("aten.le.Tensor", apart, allowed)
	if float { // not infinitely far apart
		near = b.Op("aten.logical_and.default", near, b.Op("aten.lt.Scalar", apart, inf))
	}
	return b.Op("aten.logical_or.default", same, near)
}

// floatPowerCore is pow in float64.
func floatPowerCore(b *Builder, c *Call) *ir.Value {
	arg := func(name string) any {
		if c.Operand(name) >= 0 {
			return b.cast(c.Value(name), ir.Float64)
		}
		return c.Arg(name)
	}
	x, y := arg("self"), arg("exponent")
	switch {
	case c.Operand("self") < 0:
		return b.Op("aten.pow.Scalar", x, y)
	case c.Operand("exponent") < 0:
		return b.Op("aten.pow.Tensor_Scalar", x, y)
	}
	return b.Op("aten.pow.Tensor_Tensor", x, y)
}

// linspaceCore counts from the nearer end, as PyTorch does.
func linspaceCore(b *Builder, c *Call) *ir.Value {
	out := c.Outs[0]
	n := must(c.Int("steps"))
	start := must(c.Float("start"))
	end := must(c.Float("end"))
	if n < 2 {
		return b.Op("aten.full.default", []int64{n}, start, Kw("dtype", out.DType))
	}
	m := opmath(out.DType)
	if !m.IsFloat() {
		m = ir.Float64
	}
	step := (end - start) / float64(n-1)
	i := b.Op("aten.arange.start_step", 0, n, 1, Kw("dtype", m))
	back := b.Op("aten.arange.start_step", n-1, -1, -1, Kw("dtype", m))
	low, high := b.add(b.mul(i, step), start), b.add(b.mul(back, -step), end)
	return b.cast(b.where(b.Op("aten.lt.Scalar", i, n/2), low, high, m), out.DType)
}
