package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// The constants of selu.
const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// activationOps are the elementwise functions of neural networks.
func activationOps() []entry {
	return []entry{
		unary("aten::relu(Tensor self) -> Tensor", noBool, func(x *expr.Expr) *expr.Expr {
			return expr.Max(like(x, 0), x)
		}),
		unary("aten::relu6(Tensor self) -> Tensor", noBool, func(x *expr.Expr) *expr.Expr {
			return between(x, like(x, 0), like(x, 6))
		}).core(sameAs("aten.hardtanh.default", 0, 6)),
		pointwise("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
			"self", noBool,
			func(p *point) *expr.Expr {
				return between(p.x[0], p.num("min_val"), p.num("max_val"))
			}),
		clampOp("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
			"self min max"),
		clampOp("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
			"self min max"),
		clampOp("aten::clamp_min(Tensor self, Scalar min) -> Tensor", "self min").core(clampCore),
		clampOp("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
			"self min").core(clampCore),
		clampOp("aten::clamp_max(Tensor self, Scalar max) -> Tensor", "self max").core(clampCore),
		clampOp("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
			"self max").core(clampCore),

		unary("aten::sigmoid(Tensor self) -> Tensor", toFloat, fn("sigmoid")),
		unary("aten::silu(Tensor self) -> Tensor", inexact, func(x *expr.Expr) *expr.Expr {
			return expr.Div(x, expr.Add(like(x, 1), fn("exp")(expr.Neg(x))))
		}).core(opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value {
			return b.mul(x, b.aten("sigmoid", x))
		})),
		unary("aten::mish(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Mul(x, fn("tanh")(softplus(x, like(x, 1), like(x, 20))))
		}).core(asNodes),
		unary("aten::hardsigmoid(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Div(between(expr.Add(x, like(x, 3)), like(x, 0), like(x, 6)), like(x, 6))
		}).core(asNodes),
		unary("aten::hardswish(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Div(expr.Mul(x, between(expr.Add(x, like(x, 3)), like(x, 0), like(x, 6))),
				like(x, 6))
		}).core(asNodes),
		pointwise("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", "self",
			floatOnly, func(p *point) *expr.Expr {
				x, one, half := p.x[0], p.konst(1), p.konst(0.5)
				if p.c.Str("approximate") == "tanh" {
					// x·(1 + tanh u)/2 is x/(1 + exp(-2u)), which loses nothing where tanh
					// is near -1.
					cube := expr.Mul(expr.Mul(x, x), x)
					inner := expr.Mul(p.konst(-2*math.Sqrt2/math.SqrtPi),
						expr.Add(x, expr.Mul(p.konst(0.044715), cube)))
					return expr.Div(x, expr.Add(one, fn("exp")(inner)))
				}
				y := expr.Mul(expr.Mul(x, expr.Add(one,
					fn("erf")(expr.Mul(x, p.konst(math.Sqrt2/2))))), half)
				if x.DType == ir.Float64 {
					return y
				}
				// PyTorch's vectors of narrower floats give NaN for infinity.
				return expr.Select(expr.Eq(x, p.konst(inf)), p.konst(math.NaN()), y)
			}),
		pointwise("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", "self",
			floatOnly, func(p *point) *expr.Expr { return leaky(p.x[0], p.num("negative_slope")) }),
		pointwise("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", "self weight",
			floatOnly, func(p *point) *expr.Expr {
				return leaky(p.x[0], p.x[1])
			}).core(asNodes),
		derived("aten::prelu(Tensor self, Tensor weight) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				// The weight gets the shape of channels: dimension 1.
				t, w := c.Tensor("self"), c.Value("weight")
				if t.Rank() > 1 && w.Type.Rank() == 1 && !w.Type.Sizes[0].Is(1) {
					shape := slices.Repeat([]int{1}, t.Rank())
					shape[1] = -1
					w = b.aten("reshape", w, shape)
				}
				if t.Rank() == 0 {
					w = b.reshaped(w)
				}
				return b.aten("_prelu_kernel", c.Arg("self"), w)
			}),
		derived("aten::glu(Tensor self, int dim=-1) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				// The first half times the sigmoid of the second.
				t := c.Tensor("self")
				d := c.dim("dim", t.Rank())
				c.errorIf(t.Rank() == 0 || !sym.Mod(t.Sizes[d], sym.Int(2)).IsZero(),
					"dimension %d cannot be halved", d)
				half := sym.FloorDiv(t.Sizes[d], sym.Int(2))
				first := b.aten("slice.Tensor", c.Arg("self"), d, 0, half)
				second := b.aten("slice.Tensor", c.Arg("self"), d, half, t.Sizes[d])
				return b.mul(first, b.aten("sigmoid", second))
			}),
		pointwise("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> "+
			"Tensor", "self", floatOnly,
			func(p *point) *expr.Expr {
				return elu(p.x[0], p.num("alpha"), p.num("scale"), p.num("input_scale"))
			}),
		unary("aten::selu(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return elu(x, like(x, seluAlpha), like(x, seluScale), like(x, 1))
		}).core(func(b *Builder, c *Call) *ir.Value {
			return b.aten("elu", c.Value("self"), seluAlpha, seluScale)
		}),
		pointwise("aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor", "self", floatOnly,
			func(p *point) *expr.Expr {
				a := p.num("alpha")
				return elu(p.x[0], a, p.konst(1), expr.Div(p.konst(1), a))
			}).core(func(b *Builder, c *Call) *ir.Value {
			a := must(c.Float("alpha"))
			return b.aten("elu", c.Value("self"), a, 1, 1/a)
		}),
		pointwise("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
			"self", floatOnly,
			func(p *point) *expr.Expr {
				return softplus(p.x[0], p.num("beta"), p.num("threshold"))
			}).core(asNodes),
		unary("aten::log_sigmoid(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Sub(expr.Min(like(x, 0), x), fn("log1p")(fn("exp")(expr.Neg(expr.Abs(x)))))
		}).core(asNodes),
		pointwise("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", "self", floatOnly,
			func(p *point) *expr.Expr {
				x, l := p.x[0], p.num("lambd")
				return expr.Select(expr.Le(expr.Abs(x), l), p.konst(0), x)
			}).core(asNodes),
		pointwise("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", "self", floatOnly,
			func(p *point) *expr.Expr {
				x, l := p.x[0], p.num("lambd")
				return expr.Select(expr.Gt(x, l), expr.Sub(x, l),
					expr.Select(expr.Lt(x, expr.Neg(l)), expr.Add(x, l), expr.Mul(x, p.konst(0))))
			}).core(asNodes),
		pointwise("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", "self",
			noBool, func(p *point) *expr.Expr {
				x := p.x[0]
				return expr.Select(expr.Le(x, p.num("threshold")), p.num("value"), x)
			}).core(asNodes),
		pointwise("aten::logit(Tensor self, float? eps=None) -> Tensor", "self", toFloat,
			func(p *point) *expr.Expr {
				x := p.x[0]
				if p.c.Has("eps") {
					e := p.num("eps")
					hi := expr.Sub(p.konst(1), e)
					// The lower limit counts if they cross; a NaN stays.
					x = expr.Select(expr.Lt(x, e), e, expr.Select(expr.Gt(x, hi), hi, x))
				}
				return fn("log")(expr.Div(x, expr.Sub(p.konst(1), x)))
			}).core(asNodes),
	}
}

// between limits x to lo..hi, hi first if they cross; a NaN in x stays. lo and
// hi are numbers.
func between(x, lo, hi *expr.Expr) *expr.Expr { return expr.Min(hi, expr.Max(lo, x)) }

// clampOp limits self to bounds that may be absent.
func clampOp(schema, operands string) entry {
	hasMin := operands != "self max"
	return pointwise(schema, operands, same, func(p *point) *expr.Expr {
		x := p.x[0]
		lo, hi := p.x[1], p.x[len(p.x)-1]
		if x.DType == ir.Bool { // only for the order of false and true
			return clampBool(p, hasMin)
		}
		if hasMin && lo != nil {
			x = maxNaN(x, lo)
		}
		if (!hasMin || len(p.x) == 3) && hi != nil {
			x = minNaN(x, hi)
		}
		return x
	})
}

func clampBool(p *point, hasMin bool) *expr.Expr {
	x := p.x[0]
	if hasMin && p.x[1] != nil {
		x = expr.Or(x, p.x[1])
	}
	if hi := p.x[len(p.x)-1]; (!hasMin || len(p.x) == 3) && hi != nil {
		x = expr.And(x, hi)
	}
	return x
}

func leaky(x, slope *expr.Expr) *expr.Expr {
	return expr.Select(expr.Gt(x, like(x, 0)), x, expr.Mul(x, slope))
}

func elu(x, alpha, scale, inputScale *expr.Expr) *expr.Expr {
	neg := expr.Mul(fn("expm1")(expr.Mul(x, inputScale)), expr.Mul(alpha, scale))
	return expr.Select(expr.Le(x, like(x, 0)), neg, expr.Mul(x, scale))
}

// softplus is log(1 + exp(βx))/β, x itself where βx is above the threshold.
func softplus(x, beta, threshold *expr.Expr) *expr.Expr {
	bx := expr.Mul(x, beta)
	return expr.Select(expr.Gt(bx, threshold), x, expr.Div(fn("log1p")(fn("exp")(bx)), beta))
}

// clampCore is clamp with the one bound that the operator has.
func clampCore(b *Builder, c *Call) *ir.Value {
	s := c.Op.sch
	d := c.Outs[0].DType
	x := b.tensor(c, "self", d)
	name := s.Args[1].Name
	if s.Args[1].Type.Name == "Tensor" {
		return b.aten("clamp.Tensor", x, Kw(name, b.tensor(c, name, d)))
	}
	return b.aten("clamp", x, Kw(name, c.Arg(name)))
}
