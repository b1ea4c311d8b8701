package samples

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// pointwiseSamples are those of elementwise operators.
var pointwiseSamples = bySchema{
	"aten.add.Tensor":         points(dtypes, with(), with("alpha", 2)),
	"aten.add.Scalar":         points(dtypes, with(), with("alpha", 2)),
	"aten.sub.Tensor":         points(numbers, with(), with("alpha", 2)),
	"aten.sub.Scalar":         points(numbers, with(), with("alpha", 2)),
	"aten.rsub.Tensor":        points(numbers, with(), with("alpha", 2)),
	"aten.rsub.Scalar":        points(numbers, with(), with("alpha", 2)),
	"aten.mul.Tensor":         points(dtypes),
	"aten.mul.Scalar":         points(dtypes),
	"aten.div.Tensor":         points(dtypes),
	"aten.div.Scalar":         points(dtypes),
	"aten.true_divide.Tensor": points(dtypes),
	"aten.true_divide.Scalar": points(dtypes),
	"aten.div.Tensor_mode": points(numbers, domain(1, 9),
		with("rounding_mode", "trunc"),
		with("rounding_mode", "floor"),
		with("rounding_mode", nil)),
	"aten.div.Scalar_mode": points(numbers, domain(1, 9),
		with("rounding_mode", "trunc"),
		with("rounding_mode", "floor"),
		with("rounding_mode", nil)),
	"aten.floor_divide.default":    points(numbers),
	"aten.floor_divide.Scalar":     points(numbers),
	"aten.fmod.Tensor":             points(numbers),
	"aten.fmod.Scalar":             points(numbers),
	"aten.remainder.Tensor":        points(numbers),
	"aten.remainder.Scalar":        points(numbers),
	"aten.remainder.Scalar_Tensor": points(numbers),
	"aten.neg.default":             points(numbers),
	"aten.abs.default":             points(numbers),
	"aten.square.default":          points(dtypes),
	"aten.reciprocal.default":      points(dtypes, domain(0.5, 4)),
	"aten.sign.default":            points(dtypes),
	"aten.angle.default":           points(numbers),
	"aten.sgn.default":             points(dtypes),
	"aten.maximum.default":         points(dtypes),
	"aten.minimum.default":         points(dtypes),
	"aten.max.other":               points(dtypes),
	"aten.min.other":               points(dtypes),
	"aten.fmax.default":            points(dtypes),
	"aten.fmin.default":            points(dtypes),
	"aten.addcmul.default":         points(numbers, with(), with("value", 3)),
	"aten.addcdiv.default":         points(floats, domain(0.5, 4), with(), with("value", 0.5)),
	"aten.lerp.Scalar": points(floats, of("self end"),
		with("weight", 0.25),
		with("weight", 0.75)),
	"aten.lerp.Tensor":      points(floats, domain(0, 1)),
	"aten.relu.default":     points(numbers),
	"aten.relu6.default":    points(numbers, domain(-3, 9)),
	"aten.hardtanh.default": points(numbers, with(), with("min_val", -2, "max_val", 2)),
	"aten.clamp.default": points(dtypes, of("self min max"),
		with("min", -1, "max", 1),
		with("min", 1, "max", nil),
		with("min", nil, "max", 1),
		with("min", 2, "max", 1)),
	"aten.clamp.Tensor":      points(dtypes),
	"aten.clamp_min.default": points(dtypes),
	"aten.clamp_min.Tensor":  points(dtypes),
	"aten.clamp_max.default": points(dtypes),
	"aten.clamp_max.Tensor":  points(dtypes),
	"aten.clip.default": points(dtypes, of("self min max"),
		with("min", -1, "max", 1)),
	"aten.clip.Tensor":           points(dtypes),
	"aten.sigmoid.default":       points(dtypes),
	"aten.special_expit.default": points(dtypes),
	"aten.silu.default":          points(floats),
	"aten.mish.default":          points(floats),
	"aten.hardsigmoid.default":   points(floats, domain(-5, 5)),
	"aten.hardswish.default":     points(floats, domain(-5, 5)),
	"aten.gelu.default":          points(floats, with(), with("approximate", "tanh")),
	"aten.leaky_relu.default":    points(floats, with(), with("negative_slope", 0.25)),
	"aten._prelu_kernel.default": points(floats),
	"aten.elu.default": points(floats, with(),
		with("alpha", 0.5, "scale", 2, "input_scale", 1.5)),
	"aten.selu.default":        points(floats),
	"aten.celu.default":        points(floats, with(), with("alpha", 0.5)),
	"aten.softplus.default":    points(floats, with(), with("beta", 2, "threshold", 3)),
	"aten.log_sigmoid.default": points(floats),
	"aten.hardshrink.default":  points(floats),
	"aten.softshrink.default":  points(floats),
	"aten.threshold.default": points(numbers, of("self"),
		with("threshold", 1, "value", 2)),
	"aten.logit.default": points(dtypes, domain(0.05, 0.95), with(), with("eps",
		0.1)),
	"aten.eq.Tensor":                         points(dtypes, domain(-2, 2)),
	"aten.eq.Scalar":                         points(dtypes, domain(-2, 2)),
	"aten.ne.Tensor":                         points(dtypes, domain(-2, 2)),
	"aten.ne.Scalar":                         points(dtypes, domain(-2, 2)),
	"aten.lt.Tensor":                         points(dtypes, domain(-2, 2)),
	"aten.lt.Scalar":                         points(dtypes, domain(-2, 2)),
	"aten.le.Tensor":                         points(dtypes, domain(-2, 2)),
	"aten.le.Scalar":                         points(dtypes, domain(-2, 2)),
	"aten.gt.Tensor":                         points(dtypes, domain(-2, 2)),
	"aten.gt.Scalar":                         points(dtypes, domain(-2, 2)),
	"aten.ge.Tensor":                         points(dtypes, domain(-2, 2)),
	"aten.ge.Scalar":                         points(dtypes, domain(-2, 2)),
	"aten.bitwise_and.Tensor":                points(integersAndBool),
	"aten.__and__.Tensor":                    points(integersAndBool),
	"aten.bitwise_and.Scalar":                points(integersAndBool),
	"aten.__and__.Scalar":                    points(integersAndBool),
	"aten.bitwise_and.Scalar_Tensor":         points(integersAndBool),
	"aten.logical_and.default":               points(dtypes),
	"aten.bitwise_or.Tensor":                 points(integersAndBool),
	"aten.__or__.Tensor":                     points(integersAndBool),
	"aten.bitwise_or.Scalar":                 points(integersAndBool),
	"aten.__or__.Scalar":                     points(integersAndBool),
	"aten.bitwise_or.Scalar_Tensor":          points(integersAndBool),
	"aten.logical_or.default":                points(dtypes),
	"aten.bitwise_xor.Tensor":                points(integersAndBool),
	"aten.__xor__.Tensor":                    points(integersAndBool),
	"aten.bitwise_xor.Scalar":                points(integersAndBool),
	"aten.__xor__.Scalar":                    points(integersAndBool),
	"aten.bitwise_xor.Scalar_Tensor":         points(integersAndBool),
	"aten.logical_xor.default":               points(dtypes),
	"aten.__lshift__.Tensor":                 points(integers, domain(0, 7)),
	"aten.__rshift__.Tensor":                 points(integers, domain(0, 7)),
	"aten.__lshift__.Scalar":                 points(integers, domain(0, 7)),
	"aten.__rshift__.Scalar":                 points(integers, domain(0, 7)),
	"aten.bitwise_left_shift.Tensor":         points(integers, domain(0, 7)),
	"aten.bitwise_right_shift.Tensor":        points(integers, domain(0, 7)),
	"aten.bitwise_left_shift.Tensor_Scalar":  points(integers, domain(0, 7)),
	"aten.bitwise_right_shift.Tensor_Scalar": points(integers, domain(0, 7)),
	"aten.bitwise_left_shift.Scalar_Tensor":  points(integers, domain(0, 7)),
	"aten.bitwise_right_shift.Scalar_Tensor": points(integers, domain(0, 7)),
	"aten.bitwise_not.default":               points(integersAndBool),
	"aten.logical_not.default":               points(dtypes),
	"aten.isnan.default":                     points(dtypes),
	"aten.isinf.default":                     points(dtypes),
	"aten.isposinf.default":                  points(dtypes),
	"aten.isneginf.default":                  points(dtypes),
	"aten.isfinite.default":                  points(dtypes),
	"aten.signbit.default":                   points(dtypes),
	"aten.floor.default":                     points(numbers),
	"aten.ceil.default":                      points(numbers),
	"aten.trunc.default":                     points(numbers),
	"aten.fix.default":                       points(numbers),
	"aten.round.default":                     points(numbers),
	"aten.round.decimals": points(numbers, with("decimals", 2),
		with("decimals", -1),
		with("decimals", 0)),
	"aten.frac.default":          points(floats),
	"aten.sqrt.default":          points(dtypes, domain(0, 9)),
	"aten.rsqrt.default":         points(dtypes, domain(0.1, 9)),
	"aten.exp.default":           points(dtypes),
	"aten.exp2.default":          points(dtypes),
	"aten.expm1.default":         points(dtypes),
	"aten.log.default":           points(dtypes, domain(0.01, 9)),
	"aten.log2.default":          points(dtypes, domain(0.01, 9)),
	"aten.log10.default":         points(dtypes, domain(0.01, 9)),
	"aten.log1p.default":         points(dtypes, domain(-0.9, 9)),
	"aten.sin.default":           points(dtypes),
	"aten.cos.default":           points(dtypes),
	"aten.tan.default":           points(dtypes, domain(-1.5, 1.5)),
	"aten.asin.default":          points(dtypes, domain(-1, 1)),
	"aten.acos.default":          points(dtypes, domain(-1, 1)),
	"aten.atan.default":          points(dtypes),
	"aten.sinh.default":          points(dtypes),
	"aten.cosh.default":          points(dtypes),
	"aten.tanh.default":          points(dtypes),
	"aten.asinh.default":         points(dtypes),
	"aten.acosh.default":         points(dtypes, domain(1, 9)),
	"aten.atanh.default":         points(dtypes, domain(-0.9, 0.9)),
	"aten.erf.default":           points(dtypes),
	"aten.erfc.default":          points(dtypes),
	"aten.special_erf.default":   points(dtypes),
	"aten.special_erfc.default":  points(dtypes),
	"aten.special_expm1.default": points(dtypes),
	"aten.special_exp2.default":  points(dtypes),
	"aten.special_log1p.default": points(dtypes, domain(-0.9, 9)),
	"aten.deg2rad.default":       points(dtypes),
	"aten.rad2deg.default":       points(dtypes),
	"aten.sinc.default":          points(dtypes),
	"aten.special_sinc.default":  points(dtypes),
	"aten.pow.Tensor_Tensor":     points(dtypes, domain(0.25, 3), with()),
	"aten.pow.Tensor_Scalar": points(dtypes, domain(0.25, 3),
		with("exponent", 2),
		with("exponent", 3),
		with("exponent", 0),
		with("exponent", 1),
		with("exponent", 7)),
	"aten.pow.Scalar":                   points(dtypes, domain(0.25, 3), with("self", 2)),
	"aten.atan2.default":                points(dtypes),
	"aten.hypot.default":                points(floats),
	"aten.copysign.Tensor":              points(dtypes),
	"aten.copysign.Scalar":              points(dtypes),
	"aten.logaddexp.default":            points(floats),
	"aten.logaddexp2.default":           points(floats),
	"aten.special_xlog1py.default":      points(dtypes, domain(-0.9, 4)),
	"aten.special_xlog1py.other_scalar": points(dtypes, domain(-0.9, 4)),
	"aten.special_xlog1py.self_scalar":  points(dtypes, domain(-0.9, 4)),
	"aten.special_entr.default":         points(dtypes, domain(-0.5, 4)),
	"aten.special_ndtr.default":         points(dtypes),
	"aten.xlogy.Tensor":                 points(dtypes, domain(0.1, 4)),
	"aten.xlogy.Scalar_Other":           points(dtypes, domain(0.1, 4)),
	"aten.xlogy.Scalar_Self":            points(dtypes, domain(0.1, 4)),
	"aten.where.self":                   points(dtypes, of("?condition self other")),
	"aten.where.ScalarSelf":             points(dtypes, of("?condition self other")),
	"aten.where.ScalarOther":            points(dtypes, of("?condition self other")),
	"aten.where.Scalar":                 points(dtypes, of("?condition self other")),
	"aten.masked_fill.Scalar":           points(dtypes, of("self ?mask ?value"), with("value", 2)),
	"aten.masked_fill.Tensor":           points(dtypes, of("self ?mask ?value"), with("value", 2)),
	"aten.nan_to_num.default": points(dtypes, with(),
		with("nan", 1.5, "posinf", 7.0, "neginf", -7.0)),
	"aten.heaviside.default": points(dtypes, domain(-1, 1)),
	"aten.isclose.default": points(dtypes, with(),
		with("rtol", 0.5, "atol", 0.25, "equal_nan", true)),
	"aten.float_power.Tensor_Tensor": points(dtypes, domain(0.25, 3)),
	"aten.float_power.Tensor_Scalar": points(dtypes, domain(0.25, 3)),
	"aten.float_power.Scalar":        points(dtypes, domain(0.25, 3)),
	"aten.gcd.default":               points(integers),
	"aten.lcm.default":               points(integers),
	"aten.polygamma.default": points(dtypes, domain(0.5, 5),
		with("n", 1),
		with("n", 3),
		with("n", 0)),
	"aten.lgamma.default":                            points(dtypes, domain(-3.5, 9)),
	"aten.special_gammaln.default":                   points(dtypes, domain(-3.5, 9)),
	"aten.digamma.default":                           points(dtypes, domain(-3.5, 9)),
	"aten.special_digamma.default":                   points(dtypes, domain(-3.5, 9)),
	"aten.special_psi.default":                       points(dtypes, domain(-3.5, 9)),
	"aten.erfinv.default":                            points(dtypes, domain(-0.99, 0.99)),
	"aten.special_erfinv.default":                    points(dtypes, domain(-0.99, 0.99)),
	"aten.special_ndtri.default":                     points(dtypes, domain(0.01, 0.99)),
	"aten.i0.default":                                points(dtypes, domain(-20, 20)),
	"aten.special_i0.default":                        points(dtypes, domain(-20, 20)),
	"aten.special_modified_bessel_i0.default":        points(dtypes, domain(-20, 20)),
	"aten.special_i0e.default":                       points(dtypes, domain(-20, 20)),
	"aten.special_i1.default":                        points(dtypes, domain(-20, 20)),
	"aten.special_modified_bessel_i1.default":        points(dtypes, domain(-20, 20)),
	"aten.special_i1e.default":                       points(dtypes, domain(-20, 20)),
	"aten.special_erfcx.default":                     points(dtypes, domain(-3, 12)),
	"aten.special_log_ndtr.default":                  points(dtypes, domain(-12, 8)),
	"aten.special_spherical_bessel_j0.default":       points(dtypes),
	"aten.special_bessel_j0.default":                 points(dtypes, domain(-20, 20)),
	"aten.special_bessel_j1.default":                 points(dtypes, domain(-20, 20)),
	"aten.special_bessel_y0.default":                 points(dtypes, domain(0.1, 20)),
	"aten.special_bessel_y1.default":                 points(dtypes, domain(0.1, 20)),
	"aten.special_airy_ai.default":                   points(dtypes, domain(-10, 6)),
	"aten.special_modified_bessel_k0.default":        points(dtypes, domain(0.1, 9)),
	"aten.special_modified_bessel_k1.default":        points(dtypes, domain(0.1, 9)),
	"aten.special_scaled_modified_bessel_k0.default": points(dtypes, domain(0.1, 20)),
	"aten.special_scaled_modified_bessel_k1.default": points(dtypes, domain(0.1, 20)),
	"aten.igamma.default":                            points(floats, domain(0.1, 30)),
	"aten.igammac.default":                           points(floats, domain(0.1, 30)),
	"aten.special_gammainc.default":                  points(floats, domain(0.1, 30)),
	"aten.special_gammaincc.default":                 points(floats, domain(0.1, 30)),
	"aten.special_zeta.default":                      points(dtypes, domain(1.5, 6), with()),
	"aten.special_zeta.other_scalar": points(dtypes, domain(1.5, 6), with("other",
		2.5)),
	"aten.special_zeta.self_scalar": points(dtypes, domain(1.5, 6), with("self",
		2.5)),
	"aten.nextafter.default": points([]ir.DType{ir.Float32,
		ir.Float64}),
	"aten.special_chebyshev_polynomial_t.default": points(dtypes, domain(0, 5)),
	"aten.special_chebyshev_polynomial_t.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_chebyshev_polynomial_t.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_chebyshev_polynomial_u.default": points(dtypes, domain(0, 5)),
	"aten.special_chebyshev_polynomial_u.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_chebyshev_polynomial_u.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_chebyshev_polynomial_v.default": points(dtypes, domain(0, 5)),
	"aten.special_chebyshev_polynomial_v.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_chebyshev_polynomial_v.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_chebyshev_polynomial_w.default": points(dtypes, domain(0, 5)),
	"aten.special_chebyshev_polynomial_w.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_chebyshev_polynomial_w.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_hermite_polynomial_h.default": points(dtypes, domain(0, 5)),
	"aten.special_hermite_polynomial_h.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_hermite_polynomial_h.x_scalar": points(dtypes, domain(0, 5), with("x",
		0.75)),
	"aten.special_hermite_polynomial_he.default": points(dtypes, domain(0, 5)),
	"aten.special_hermite_polynomial_he.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_hermite_polynomial_he.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_laguerre_polynomial_l.default": points(dtypes, domain(0, 5)),
	"aten.special_laguerre_polynomial_l.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_laguerre_polynomial_l.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_legendre_polynomial_p.default": points(dtypes, domain(0, 5)),
	"aten.special_legendre_polynomial_p.n_scalar": points(dtypes, domain(0, 5), with("n",
		4)),
	"aten.special_legendre_polynomial_p.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_shifted_chebyshev_polynomial_t.default": points(dtypes, domain(0, 5)),
	"aten.special_shifted_chebyshev_polynomial_t.n_scalar": points(dtypes, domain(0, 5),
		with("n", 4)),
	"aten.special_shifted_chebyshev_polynomial_t.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_shifted_chebyshev_polynomial_u.default": points(dtypes, domain(0, 5)),
	"aten.special_shifted_chebyshev_polynomial_u.n_scalar": points(dtypes, domain(0, 5),
		with("n", 4)),
	"aten.special_shifted_chebyshev_polynomial_u.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_shifted_chebyshev_polynomial_v.default": points(dtypes, domain(0, 5)),
	"aten.special_shifted_chebyshev_polynomial_v.n_scalar": points(dtypes, domain(0, 5),
		with("n", 4)),
	"aten.special_shifted_chebyshev_polynomial_v.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
	"aten.special_shifted_chebyshev_polynomial_w.default": points(dtypes, domain(0, 5)),
	"aten.special_shifted_chebyshev_polynomial_w.n_scalar": points(dtypes, domain(0, 5),
		with("n", 4)),
	"aten.special_shifted_chebyshev_polynomial_w.x_scalar": points(dtypes, domain(0, 5),
		with("x", 0.75)),
}

// plainSamples are those of elementwise operators with operands of their own.
var plainSamples = byName{
	"aten.prelu.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", Tensor(ir.Float32, Values{}, 2, 3, 4), "weight",
				Tensor(ir.Float32, Values{}, 3)),
			NewSample("self", Tensor(ir.BFloat16, Values{}, 2, 3), "weight",
				Tensor(ir.BFloat16, Values{}, 1)),
			NewSample("self", Tensor(ir.Float64, Values{}, 5), "weight",
				Tensor(ir.Float64, Values{}, 1)),
		}
	},
	"aten.glu.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", Tensor(ir.Float32, Values{}, 2, 6)),
			NewSample("self", Tensor(ir.Float16, Values{}, 4, 3), "dim", 0),
		}
	},
	"aten.frexp.Tensor": func(r *Rand) []Sample {
		var out []Sample
		for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float16} {
			out = append(out, NewSample("self", Tensor(d, Values{Lo: -300, Hi: 300},
				r.Shape(2)...)), NewSample("self", Tensor(d, Values{Special: true}, 9)))
		}
		return out
	},
	"aten.rrelu.default": selfSamples(2),
	"aten.rrelu_with_noise_functional.default": func(r *Rand) []Sample {
		s := r.Shape(2)
		return []Sample{NewSample("self", f32(s...), "noise", f32(s...), "lower", 0.1)}
	},
	"aten.dist.default": pairSamples,
	"aten.ldexp.Tensor": pairSamples,
}

func pairSamples(r *Rand) []Sample {
	a, b := Tensor(ir.Float32, Values{Lo: 0.5, Hi: 2}, 3, 4),
		Tensor(ir.Float32, Values{Lo: 0.5, Hi: 2}, 4)
	return []Sample{NewSample("self", a, "other", b)}
}

// given is what a test passes to an operator: the dtypes it takes, the values of its
// operands, and further arguments, each in turn.
type given struct {
	takes  []ir.DType
	names  []string // operands; one marked "?" is a mask and keeps its dtype
	values Values
	with   [][]any
}

// An option says more of what is given.
type option func(*given)

// domain restricts the values of the operands.
func domain(lo, hi float64) option {
	return func(g *given) { g.values = Values{Lo: lo, Hi: hi} }
}

// with gives arguments besides the operands: name, value, …. Given several times, each
// is used in turn.
func with(args ...any) option { return func(g *given) { g.with = append(g.with, args) } }

// of names the operands, if they are others than the tensors and the numbers without a
// default.
func of(names string) option { return func(g *given) { g.names = strings.Fields(names) } }

func newGiven(takes []ir.DType, opts []option) given {
	g := given{takes: takes}
	for _, o := range opts {
		o(&g)
	}
	if len(g.with) == 0 {
		g.with = [][]any{nil}
	}
	return g
}

// points calls an elementwise operator on every dtype it takes, with operands of one
// shape, broadcast ones, numbers and mixed dtypes.
func points(takes []ir.DType, opts ...option) func(*Rand, *aten.Schema) []Sample {
	g := newGiven(takes, opts)
	return func(r *Rand, s *aten.Schema) []Sample {
		var out []Sample
		for i, d := range dtypes {
			if !slices.Contains(g.takes, d) {
				continue
			}
			for j, v := range g.with {
				if i >= 2 && len(g.with) > 1 && (i+j)%2 == 0 {
					continue // half of the variants for the rarer dtypes
				}
				shape := r.Shape(r.IntN(4))
				out = append(out, g.point(r, s, d, shape, v))
			}
		}
		return out
	}
}

// operands are the names of the arguments that broadcast.
func (g given) operands(s *aten.Schema) (names []string) {
	if g.names != nil {
		return g.names
	}
	for _, p := range s.Args {
		if p.Type.Name == "Tensor" || p.Type.Name == "Scalar" && !p.HasDefault && !p.KwOnly {
			names = append(names, p.Name)
		}
	}
	return names
}

func (g given) point(r *Rand, s *aten.Schema, d ir.DType, shape []int64, more []any) Sample {
	var args []any
	for i, name := range g.operands(s) {
		name, mask := strings.CutPrefix(name, "?")
		if isGiven(more, name) {
			continue
		}
		dt, sizes := d, shape
		if i > 0 {
			sizes = r.BroadcastShape(shape)
		}
		if mask {
			dt = ir.Bool
		}
		switch p := s.Args[s.Index(name)]; {
		case p.Type.Name == "Tensor":
			args = append(args, name, Tensor(dt, g.values.forDType(dt), sizes...))
		case d.IsFloat():
			args = append(args, name, ir.Float(r.IntN(8)+1)/4)
		case d == ir.Bool:
			args = append(args, name, ir.BoolArg(r.IntN(2) == 1))
		default:
			args = append(args, name, ir.Int(r.IntN(5)+1))
		}
	}
	return NewSample(append(args, more...)...)
}

func isGiven(args []any, name string) bool {
	for i := 0; i < len(args); i += 2 {
		if args[i] == name {
			return true
		}
	}
	return false
}
