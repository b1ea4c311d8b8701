package ops

import (
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
)

// The functions of complex numbers have the branch cuts of C99, and with them the sign of a
// zero tells which side of a cut is meant. The inverse ones are Kahan's: "Branch cuts for
// complex elementary functions" (1987).

// plusReal is x + r.
func (b *Builder) plusReal(x pair, r float64) pair { return pair{b.add(x.re, r), x.im} }

func (b *Builder) negated(x pair) pair { return pair{b.aten("neg", x.re), b.aten("neg", x.im)} }

// turned is i·x, turnedBack -i·x.
func (b *Builder) turned(x pair) pair     { return pair{b.aten("neg", x.im), x.re} }
func (b *Builder) turnedBack(x pair) pair { return pair{x.im, b.aten("neg", x.re)} }

// rotated is f of a number a quarter turn on, turned back: sin is that of sinh.
func rotated(f func(*Builder, pair) pair) func(*Builder, pair) pair {
	return func(b *Builder, x pair) pair { return b.turnedBack(f(b, b.turned(x))) }
}

// sqrt is the root whose real part is not negative.
func (b *Builder) sqrt(x pair) pair {
	size := b.aten("abs", x.re)
	t := b.aten("sqrt", b.mul(b.add(size, b.aten("hypot", x.re, x.im)), 0.5))
	zero := b.aten("eq.Scalar", t, 0)
	s := b.div(b.mul(x.im, 0.5), b.where(zero, 1, t, t.Type.DType))
	right := b.aten("ge.Scalar", x.re, 0)
	d := t.Type.DType
	return pair{b.where(right, t, b.aten("abs", s), d),
		b.where(right, s, b.aten("copysign.Tensor", t, x.im), d)}
}

func (b *Builder) cosh(x pair) pair {
	return pair{b.mul(b.aten("cosh", x.re), b.aten("cos", x.im)),
		b.mul(b.aten("sinh", x.re), b.aten("sin", x.im))}
}

func (b *Builder) sinh(x pair) pair {
	return pair{b.mul(b.aten("sinh", x.re), b.aten("cos", x.im)),
		b.mul(b.aten("cosh", x.re), b.aten("sin", x.im))}
}

// tanh is that of a real part within ±40, where no square leaves the range of float32 and the
// imaginary part is 0 but for 1e-34.
func (b *Builder) tanh(x pair) pair {
	re := b.aten("clamp", x.re, -40.0, 40.0)
	sinh, sin, cos := b.aten("sinh", re), b.aten("sin", x.im), b.aten("cos", x.im)
	norm := b.add(b.mul(sinh, sinh), b.mul(cos, cos))
	return pair{b.div(b.mul(sinh, b.aten("cosh", re)), norm), b.div(b.mul(sin, cos), norm)}
}

func (b *Builder) acos(x pair) pair {
	s, t := b.sqrt(b.plusReal(b.negated(x), 1)), b.sqrt(b.plusReal(x, 1))
	return pair{b.mul(b.aten("atan2", s.re, t.re), 2.0),
		b.aten("asinh", b.times(b.conjugate(t), s).im)}
}

func (b *Builder) acosh(x pair) pair {
	s, t := b.sqrt(b.plusReal(x, -1)), b.sqrt(b.plusReal(x, 1))
	return pair{b.aten("asinh", b.times(b.conjugate(s), t).re),
		b.mul(b.aten("atan2", s.im, t.re), 2.0)}
}

func (b *Builder) asin(x pair) pair {
	s, t := b.sqrt(b.plusReal(b.negated(x), 1)), b.sqrt(b.plusReal(x, 1))
	return pair{b.aten("atan2", x.re, b.times(s, t).re),
		b.aten("asinh", b.times(b.conjugate(s), t).im)}
}

func (b *Builder) atanh(x pair) pair {
	size := b.aten("abs", x.re)
	to := b.sub(1.0, size)
	norm := b.add(b.mul(to, to), b.mul(x.im, x.im))
	re := b.mul(b.aten("log1p", b.div(b.mul(size, 4.0), norm)), 0.25)
	side := b.sub(b.mul(to, b.add(size, 1.0)), b.mul(x.im, x.im))
	return pair{b.aten("copysign.Tensor", re, x.re),
		b.mul(b.aten("atan2", b.mul(x.im, 2.0), side), 0.5)}
}

// expm1 is e^x - 1, log1p the logarithm of 1 + x, both exact near 0.
func (b *Builder) expm1(x pair) pair {
	half := b.aten("sin", b.mul(x.im, 0.5))
	return pair{b.sub(b.mul(b.aten("expm1", x.re), b.aten("cos", x.im)),
		b.mul(b.mul(half, half), 2.0)), b.mul(b.aten("exp", x.re), b.aten("sin", x.im))}
}

func (b *Builder) log1p(x pair) pair {
	far := b.log(b.plusReal(x, 1))
	square := b.add(b.mul(x.re, b.add(x.re, 2.0)), b.mul(x.im, x.im))
	near := b.mul(b.aten("log1p", square), 0.5)
	within := b.aten("lt.Scalar", b.aten("hypot", x.re, x.im), 0.5)
	return pair{b.where(within, near, far.re, near.Type.DType), far.im}
}

// sigmoid is 1/(1 + e^-x). The power stays in the range of float32.
func (b *Builder) sigmoid(x pair) pair {
	x = b.negated(x)
	return b.reciprocal(b.plusReal(b.exp(pair{b.aten("clamp", x.re, nil, 85.0), x.im}), 1))
}

// scaledBy is f, with what is given to it and what it gives multiplied by real numbers.
func scaledBy(before float64, f func(*Builder, pair) pair, after float64) func(*Builder,
	pair) pair {
	by := func(b *Builder, x pair, n float64) pair {
		if n == 1 {
			return x
		}
		return pair{b.mul(x.re, n), b.mul(x.im, n)}
	}
	return func(b *Builder, x pair) pair { return by(b, f(b, by(b, x, before)), after) }
}

// complexFunctions are those of one number that have a complex result.
var complexFunctions = map[string]func(*Builder, pair) pair{
	"exp": (*Builder).exp, "log": (*Builder).log, "sqrt": (*Builder).sqrt,
	"reciprocal": (*Builder).reciprocal, "sigmoid": (*Builder).sigmoid,
	"expm1": (*Builder).expm1, "log1p": (*Builder).log1p,
	"sinh": (*Builder).sinh, "cosh": (*Builder).cosh, "tanh": (*Builder).tanh,
	"sin": rotated((*Builder).sinh), "tan": rotated((*Builder).tanh),
	"cos":  func(b *Builder, x pair) pair { return b.cosh(b.turned(x)) },
	"asin": (*Builder).asin, "acos": (*Builder).acos, "acosh": (*Builder).acosh,
	"atanh": (*Builder).atanh, "atan": rotated((*Builder).atanh),
	"asinh":  rotated((*Builder).asin),
	"exp2":   scaledBy(math.Ln2, (*Builder).exp, 1),
	"log2":   scaledBy(1, (*Builder).log, 1/math.Ln2),
	"log10":  scaledBy(1, (*Builder).log, 1/math.Ln10),
	"rsqrt":  func(b *Builder, x pair) pair { return b.reciprocal(b.sqrt(x)) },
	"square": func(b *Builder, x pair) pair { return b.times(x, x) },
	"silu":   func(b *Builder, x pair) pair { return b.times(x, b.sigmoid(x)) },
	"sgn": func(b *Builder, x pair) pair {
		r := b.aten("hypot", x.re, x.im)
		r = b.where(b.aten("eq.Scalar", r, 0), 1, r, r.Type.DType)
		return pair{b.div(x.re, r), b.div(x.im, r)}
	},
	"conj": (*Builder).conjugate, "_conj": (*Builder).conjugate,
	"conj_physical": (*Builder).conjugate, "_conj_physical": (*Builder).conjugate,
}

// A composite says an operator on complex numbers by others on complex numbers; x gives its
// arguments as tensors of the result's dtype.
type composite func(b *Builder, x func(name string) *ir.Value, c *Call) *ir.Value

var complexComposites = map[string]composite{
	"aten.addcmul.default": func(b *Builder, x func(string) *ir.Value, c *Call) *ir.Value {
		return b.add(x("self"), b.mul(b.mul(x("tensor1"), c.Arg("value")), x("tensor2")))
	},
	"aten.addcdiv.default": func(b *Builder, x func(string) *ir.Value, c *Call) *ir.Value {
		return b.add(x("self"), b.div(b.mul(x("tensor1"), c.Arg("value")), x("tensor2")))
	},
	"aten.lerp.Scalar":               lerpBy,
	"aten.lerp.Tensor":               lerpBy,
	"aten.logsumexp.default":         logSumOf,
	"aten.sinc.default":              sincOf,
	"aten.special_sinc.default":      sincOf,
	"aten.pow.Tensor_Tensor":         powerOf,
	"aten.pow.Scalar":                powerOf,
	"aten.float_power.Tensor_Tensor": powerOf,
	"aten.float_power.Tensor_Scalar": powerOf,
	"aten.float_power.Scalar":        powerOf,
}

func lerpBy(b *Builder, x func(string) *ir.Value, _ *Call) *ir.Value {
	return b.add(x("self"), b.mul(x("weight"), b.sub(x("end"), x("self"))))
}

func sincOf(b *Builder, x func(string) *ir.Value, c *Call) *ir.Value {
	px := b.mul(x("self"), math.Pi)
	zero := b.aten("eq.Scalar", px, 0)
	one := b.scalar(1.0, px.Type.DType)
	return b.aten("where.self", zero, one, b.div(b.aten("sin", px),
		b.aten("where.self", zero, one, px)))
}

// powerOf is e^(exponent·log(self)). 0 to the power of 0 is 1, else 0.
func powerOf(b *Builder, x func(string) *ir.Value, _ *Call) *ir.Value {
	base, n := x("self"), x("exponent")
	one, zero := b.scalar(1.0, base.Type.DType), b.scalar(0.0, base.Type.DType)
	flat := b.aten("eq.Scalar", base, 0)
	y := b.aten("exp", b.mul(n, b.aten("log", b.aten("where.self", flat, one, base))))
	return b.aten("where.self", flat,
		b.aten("where.self", b.aten("eq.Scalar", n, 0), one, zero), y)
}

// logSumOf takes the largest real part off before it sums.
func logSumOf(b *Builder, x func(string) *ir.Value, c *Call) *ir.Value {
	z := x("self")
	top := b.aten("amax", b.aten("real", z), c.dimList(), true)
	top = b.where(b.aten("isinf", top), 0, top, top.Type.DType)
	sum := b.aten("sum.dim_IntList", b.aten("exp", b.sub(z, top)), c.dimList(), true)
	return b.aten("reshape", b.add(b.aten("log", sum), top), c.Outs[0].Sizes)
}

// logAdd is log(e^x + e^y) by way of the one with the larger real part, of whose imaginary part
// that of the result is near.
func (b *Builder) logAdd(x, y pair) pair {
	first := b.aten("ge.Tensor", x.re, y.re)
	pick := func(p, q any) *ir.Value { return b.aten("where.self", first, p, q) }
	high := pair{pick(x.re, y.re), pick(x.im, y.im)}
	more := b.log1p(b.exp(pair{b.sub(pick(y.re, x.re), high.re), b.sub(pick(y.im, x.im), high.im)}))
	return pair{b.add(high.re, more.re), b.add(high.im, more.im)}
}

// ofTruth is the form of an operator that only asks which numbers are 0.
func ofTruth(b *Builder, c *Call) *ir.Value {
	return b.Op(c.Op.Name(), c.given(func(_ string, a ir.Arg) any {
		if _, tensor := a.(ir.Ref); tensor && isComplex(a) {
			return b.aten("ne.Scalar", a, 0)
		}
		return a
	})...)
}

// closeBy is isclose: numbers that are equal, or near each other in the plane.
func closeBy(b *Builder, c *Call) *ir.Value {
	x, y := c.Value("self"), c.Value("other")
	same := b.aten("eq.Tensor", x, y)
	if c.Bool("equal_nan") {
		same = b.aten("logical_or", same, b.aten("logical_and", b.aten("isnan", x),
			b.aten("isnan", y)))
	}
	apart := b.aten("abs", b.sub(x, y))
	near := b.aten("le.Tensor", apart, b.add(b.mul(b.aten("abs", y), c.Arg("rtol")), c.Arg("atol")))
	near = b.aten("logical_and", near, b.aten("lt.Scalar", apart, inf))
	return b.aten("logical_or", same, near)
}

// convolve is a convolution; what it is given is multiplied in pairs, and the bias added.
func convolve(b *Builder, c *Call) *ir.Value {
	y := b.complex(b.bilinear(c.pair("input"), c.pair("weight"), func(x, w any) *ir.Value {
		return b.Op(c.Op.Name(), c.given(func(name string, a ir.Arg) any {
			switch name {
			case "input":
				return x
			case "weight":
				return w
			case "bias":
				return nil
			}
			return a
		})...)
	}))
	if !c.Has("bias") {
		return y
	}
	bias := c.Value("bias")
	sizes := []any{-1}
	for range y.Type.Rank() - 2 {
		sizes = append(sizes, 1)
	}
	return b.add(y, b.aten("reshape", bias, must(toList(sizes))))
}

// running is the form of a running reduction along a dimension, to each number or to the last,
// or of all numbers.
func running(start pair, step func(b *Builder, x, y pair) pair) complexForm {
	return func(b *Builder, c *Call) *ir.Value {
		x := b.cast(c.Value("self"), c.Outs[0].DType)
		d := 0
		switch rank := x.Type.Rank(); {
		case c.Op.sch.Index("dim") < 0:
			x = b.aten("reshape", x, []int{-1})
		case rank == 0:
			return b.aten("clone", x)
		default:
			d = c.dim("dim", rank)
		}
		parts := []*ir.Value{b.aten("movedim.int", b.aten("real", x), d, 0),
			b.aten("movedim.int", b.aten("imag", x), d, 0)}
		var first []*ir.Value
		for k, v := range []any{start.re, start.im} {
			first = append(first, b.aten("full", parts[k].Type.Sizes[1:], v,
				Kw("dtype", x.Type.DType.Part())))
		}
		last, all := must2(b.Scan(first, parts, false, func(b *Builder, y, x []*ir.Value) (next,
			yields []*ir.Value) {
			z := step(b, pair{y[0], y[1]}, pair{x[0], x[1]})
			next = []*ir.Value{valueOf(z.re), valueOf(z.im)}
			return next, next
		}))
		place := func(v *ir.Value) *ir.Value { return v }
		switch {
		case len(c.Outs[0].Sizes) == all[0].Type.Rank() && !c.keepdim():
			last = all
			place = func(v *ir.Value) *ir.Value { return b.aten("movedim.int", v, 0, d) }
		case c.keepdim():
			place = func(v *ir.Value) *ir.Value { return b.aten("unsqueeze", v, d) }
		}
		return b.complex(pair{place(last[0]), place(last[1])})
	}
}

var variances = nodeSet("var std var_mean std_mean")

// variances are var and std: the variances of both parts add up. The mean is complex.
func (b *Builder) variances(c *Call) []*ir.Value {
	name := strings.Replace(c.Op.Name(), "aten.std", "aten.var", 1)
	var parts [2][]*ir.Value
	for k := range parts {
		parts[k] = b.Ops(name, b.partArgs(c, k)...)
	}
	v := b.add(parts[0][0], parts[1][0])
	if name != c.Op.Name() {
		v = b.aten("sqrt", v)
	}
	if len(c.Outs) == 1 {
		return []*ir.Value{v}
	}
	return []*ir.Value{v, b.complex(pair{parts[0][1], parts[1][1]})}
}
