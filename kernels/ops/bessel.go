package ops

import (
	"math"
	"math/cmplx"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// Bessel's functions and Airy's come in two parts. Near 0 they are made of power series; far from
// it they are waves or decay, of which amplitude and phase are asymptotic in 1/x. What is smooth in
// either part is a Chebyshev series. Its coefficients are computed here, once.

// besselOps are Bessel functions of both kinds, modified ones of the second kind, and Airy's.
func besselOps() []entry {
	var ops []entry
	for _, u := range []struct {
		name, arg string
		f         func(x *expr.Expr) *expr.Expr
	}{
		{"bessel_j0", "self", besselJ0},
		{"bessel_j1", "self", besselJ1},
		{"bessel_y0", "self", besselY0},
		{"bessel_y1", "self", besselY1},
		{"modified_bessel_k0", "self", func(x *expr.Expr) *expr.Expr {
			return besselK(x, 0, false)
		}},
		{"modified_bessel_k1", "self", func(x *expr.Expr) *expr.Expr {
			return besselK(x, 1, false)
		}},
		{"scaled_modified_bessel_k0", "x", func(x *expr.Expr) *expr.Expr {
			return besselK(x, 0, true)
		}},
		{"scaled_modified_bessel_k1", "x", func(x *expr.Expr) *expr.Expr {
			return besselK(x, 1, true)
		}},
		{"airy_ai", "x", airy},
	} {
		ops = append(ops, pointwise("aten::special_"+u.name+"(Tensor "+u.arg+") -> Tensor", u.arg,
			toFloat, func(p *point) *expr.Expr { return u.f(p.x[0]) }))
	}
	return ops
}

// A chebyshev is a series in Chebyshev's polynomials on [-1, 1].
type chebyshev struct {
	coefficients   func() []float64
	single, double func() *expr.Func
}

// chebyshevOf interpolates f at the nodes of a polynomial of high degree. Name is that of the
// function that evaluates it.
func chebyshevOf(name string, f func(t float64) float64) chebyshev {
	s := chebyshev{coefficients: sync.OnceValue(func() []float64 {
		const n = 48
		values := make([]float64, n)
		for i := range values {
			values[i] = f(math.Cos(math.Pi * (float64(i) + 0.5) / n))
		}
		cs := make([]float64, n)
		for k := range cs {
			for i, v := range values {
				cs[k] += v * math.Cos(math.Pi*float64(k)*(float64(i)+0.5)/n)
			}
			cs[k] *= 2.0 / n
		}
		cs[0] /= 2
		return cs
	})}
	s.single = sync.OnceValue(func() *expr.Func { return s.function(name+"_f32", ir.Float32) })
	s.double = sync.OnceValue(func() *expr.Func { return s.function(name+"_f64", ir.Float64) })
	return s
}

// function evaluates the series by Clenshaw's rule, without the terms below the rounding errors of
// the dtype.
func (s chebyshev) function(name string, d ir.DType) *expr.Func {
	cs, sum := s.coefficients(), 0.0
	for _, c := range cs {
		sum = max(sum, math.Abs(c))
	}
	for len(cs) > 2 && math.Abs(cs[len(cs)-1]) < sum*max(epsilon(d)/16, 0x1p-50) {
		cs = cs[:len(cs)-1]
	}
	x := &expr.Var{Name: "x", DType: d}
	t := expr.Get(x)
	num := func(x float64) *expr.Expr { return expr.Num(d, x) }
	two := expr.Add(t, t)
	last, before := num(cs[len(cs)-1]), num(0)
	for k := len(cs) - 2; k > 0; k-- {
		last, before = expr.Add(expr.Sub(expr.Mul(two, last), before), num(cs[k])), last
	}
	return &expr.Func{Name: name, Params: []*expr.Var{x},
		Body: expr.Add(expr.Sub(expr.Mul(t, last), before), num(cs[0])),
		Doc:  "a Chebyshev series on [-1, 1]"}
}

// at is the series at t.
func (s chebyshev) at(t *expr.Expr) *expr.Expr {
	if t.DType == ir.Float64 {
		return expr.CallFn(s.double(), t)
	}
	return expr.CallFn(s.single(), t)
}

// hankel is √(2z/π)·exp(z)·K of order nu at z, whose real part is not negative: 1 and terms in 1/z.
// It is the integral of exp(-u)·u^(nu-½)·(1+u/2z)^(nu-½), where u is exp(s), over Γ(nu+½).
func hankel(nu float64, z complex128) complex128 {
	const step = 1.0 / 16
	var sum complex128
	for k := -100 / step; k < 5/step; k++ {
		u := math.Exp(k * step)
		sum += complex(math.Exp(-u)*math.Pow(u, nu+0.5), 0) *
			cmplx.Pow(1+complex(u, 0)/(2*z), complex(nu-0.5, 0))
	}
	return sum * complex(step/math.Gamma(nu+0.5), 0)
}

// A wave is P·cos - Q·sin of a phase that grows with x, far from 0: P and x·Q, as series in 1/x².
type wave struct {
	from float64
	p, q chebyshev
}

// waveOf is that of Hankel's function of order nu for x of at least from.
func waveOf(name string, nu, from float64) wave {
	part := func(name string, of func(complex128, float64) float64) chebyshev {
		return chebyshevOf(name, func(t float64) float64 {
			x := from / math.Sqrt((t+1)/2)
			return of(hankel(nu, complex(0, -x)), x)
		})
	}
	return wave{from, part(name+"_p", func(h complex128, _ float64) float64 { return real(h) }),
		part(name+"_q", func(h complex128, x float64) float64 { return imag(h) * x })}
}

// parts are P and Q at x.
func (w wave) parts(x *expr.Expr) (p, q *expr.Expr) {
	r := expr.Div(like(x, w.from), x)
	t := expr.Sub(expr.Mul(like(x, 2), expr.Mul(r, r)), like(x, 1))
	return w.p.at(t), expr.Div(w.q.at(t), x)
}

// nearBessel is where the power series of J and Y end.
const nearBessel = 8.0

// inSquare is the variable in [-1, 1] that stands for the square of x in [0, most²].
func inSquare(x *expr.Expr, most float64) *expr.Expr {
	return expr.Sub(expr.Mul(expr.Mul(x, x), like(x, 2/(most*most))), like(x, 1))
}

// ofSquare is a series in x² for x in [0, most].
func ofSquare(name string, most float64, f func(x float64) float64) chebyshev {
	return chebyshevOf(name, func(t float64) float64 { return f(most * math.Sqrt((t+1)/2)) })
}

var (
	waves   = [2]wave{waveOf("bessel0", 0, nearBessel), waveOf("bessel1", 1, nearBessel)}
	nearJ0  = ofSquare("bessel_j0", nearBessel, math.J0)
	nearJ1  = ofSquare("bessel_j1", nearBessel, func(x float64) float64 { return math.J1(x) / x })
	smallY0 = ofSquare("bessel_y0", nearBessel, func(x float64) float64 {
		return math.Y0(x) - 2/math.Pi*math.Log(x)*math.J0(x)
	})
	smallY1 = ofSquare("bessel_y1", nearBessel, func(x float64) float64 {
		return (math.Y1(x) - 2/math.Pi*(math.Log(x)*math.J1(x)-1/x)) / x
	})
)

// turned are the cosine and the sine of x-π/4, times √2.
func turned(x *expr.Expr) (cos, sin *expr.Expr) {
	c, s := fn("cos")(x), fn("sin")(x)
	return expr.Add(c, s), expr.Sub(s, c)
}

// amplitude is √(1/πx).
func amplitude(x *expr.Expr) *expr.Expr {
	return expr.Sqrt(expr.Div(like(x, 1/math.Pi), x))
}

func besselJ0(x *expr.Expr) *expr.Expr {
	a := expr.Abs(x)
	p, q := waves[0].parts(a)
	cos, sin := turned(a)
	far := expr.Mul(amplitude(a), expr.Sub(expr.Mul(p, cos), expr.Mul(q, sin)))
	return expr.Select(expr.Le(a, like(x, nearBessel)), nearJ0.at(inSquare(a, nearBessel)), far)
}

// besselJ1 has a phase that is π/2 behind that of besselJ0.
func besselJ1(x *expr.Expr) *expr.Expr {
	a := expr.Abs(x)
	p, q := waves[1].parts(a)
	cos, sin := turned(a)
	far := expr.Mul(amplitude(a), expr.Add(expr.Mul(p, sin), expr.Mul(q, cos)))
	far = expr.Select(expr.Lt(x, like(x, 0)), expr.Neg(far), far)
	near := expr.Mul(x, nearJ1.at(inSquare(a, nearBessel)))
	return expr.Select(expr.Le(a, like(x, nearBessel)), near, far)
}

func besselY0(x *expr.Expr) *expr.Expr {
	p, q := waves[0].parts(x)
	cos, sin := turned(x)
	far := expr.Mul(amplitude(x), expr.Add(expr.Mul(p, sin), expr.Mul(q, cos)))
	t := inSquare(x, nearBessel)
	log := expr.Mul(like(x, 2/math.Pi), expr.Mul(fn("log")(x), nearJ0.at(t)))
	return ofPositive(x, -inf,
		expr.Select(expr.Le(x, like(x, nearBessel)), expr.Add(log, smallY0.at(t)), far))
}

func besselY1(x *expr.Expr) *expr.Expr {
	p, q := waves[1].parts(x)
	cos, sin := turned(x)
	far := expr.Mul(amplitude(x), expr.Sub(expr.Mul(q, sin), expr.Mul(p, cos)))
	t := inSquare(x, nearBessel)
	log := expr.Mul(fn("log")(x), expr.Mul(x, nearJ1.at(t)))
	pole := expr.Mul(like(x, 2/math.Pi), expr.Sub(log, expr.Div(like(x, 1), x)))
	near := expr.Add(pole, expr.Mul(x, smallY1.at(t)))
	return ofPositive(x, -inf, expr.Select(expr.Le(x, like(x, nearBessel)), near, far))
}

// ofPositive is y for positive x, and NaN for negative ones.
func ofPositive(x *expr.Expr, zero float64, y *expr.Expr) *expr.Expr {
	y = expr.Select(expr.Eq(x, like(x, 0)), like(x, zero), y)
	return expr.Select(expr.Lt(x, like(x, 0)), like(x, math.NaN()), y)
}

// nearK is where the power series of K end.
const nearK = 2.0

// powers is the sum of weight(k)·(x²/4)^k/(k!·(k+order)!) for small x.
func powers(x float64, order int, weight func(k int) float64) (sum float64) {
	term := 1.0
	for k := range 20 {
		sum += term * weight(k)
		term *= x * x / 4 / float64((k+1)*(k+1+order))
	}
	return sum
}

// psi is digamma at n+1.
func psi(n int) float64 {
	sum := -0.57721566490153286061
	for k := range n {
		sum += 1 / float64(k+1)
	}
	return sum
}

var (
	nearI, smallK, decays [2]chebyshev
)

func init() {
	for order := range 2 {
		nearI[order] = ofSquare("bessel_i"+itoa(order), nearK, func(x float64) float64 {
			return powers(x, order, func(int) float64 { return 1 })
		})
		// K without the logarithm and the pole: of order 0, and of order 1 over x.
		smallK[order] = ofSquare("bessel_k"+itoa(order), nearK, func(x float64) float64 {
			return powers(x, order, func(k int) float64 {
				if order == 0 {
					return psi(k)
				}
				return -(psi(k) + psi(k+1)) / 4
			})
		})
		decays[order] = decay("bessel_k"+itoa(order)+"_far", float64(order), nearK)
	}
}

// decay is hankel of real arguments of at least from, as a series in 1/x.
func decay(name string, nu, from float64) chebyshev {
	return chebyshevOf(name, func(t float64) float64 {
		return real(hankel(nu, complex(2*from/(t+1), 0)))
	})
}

// besselK is the modified Bessel function of the second kind, times exp(x) if scaled.
func besselK(x *expr.Expr, order int, scaled bool) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	t, e := inSquare(x, nearK), fn("exp")(x)
	log := fn("log")(expr.Mul(x, num(0.5)))
	i := nearI[order].at(t)
	near := expr.Sub(smallK[0].at(t), expr.Mul(log, i))
	if order == 1 {
		half := expr.Mul(x, num(0.5))
		near = expr.Add(expr.Add(expr.Div(num(1), x), expr.Mul(log, expr.Mul(half, i))),
			expr.Mul(x, smallK[1].at(t)))
	}
	far := expr.Mul(expr.Sqrt(expr.Div(num(math.Pi/2), x)),
		decays[order].at(expr.Sub(expr.Div(num(2*nearK), x), num(1))))
	if scaled {
		near = expr.Mul(near, e)
	} else {
		far = expr.Mul(far, fn("exp")(expr.Neg(x)))
	}
	return ofPositive(x, inf, expr.Select(expr.Le(x, num(nearK)), near, far))
}

// Where Airy's function is a series in x.
const leastAiry, mostAiry = -4.0, 2.0

// airyPhase is ⅔·x^(3/2).
func airyPhase(x float64) float64 { return 2.0 / 3 * x * math.Sqrt(x) }

var (
	airySeries = chebyshevOf("airy_near", func(t float64) float64 {
		x := (leastAiry+mostAiry)/2 + (mostAiry-leastAiry)/2*t
		even, odd := 0.355028053887817239260, -0.258819403792806798405*x
		sum, cube := even+odd, x*x*x
		for k := 3.0; k < 120; k += 3 {
			even *= cube / (k * (k - 1))
			odd *= cube / (k * (k + 1))
			sum += even + odd
		}
		return sum
	})
	airyWave  = waveOf("airy", 1.0/3, airyPhase(-leastAiry))
	airyDecay = decay("airy_far", 1.0/3, airyPhase(mostAiry))
)

// airy is Ai. Of what is larger than 103.892, it is 0, and NaN of infinities, as in PyTorch.
func airy(x *expr.Expr) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	a := expr.Abs(x)
	root := expr.Sqrt(a)
	phase := expr.Mul(num(2.0/3), expr.Mul(a, root))
	scale := expr.Div(num(1/math.Sqrt(math.Pi)), expr.Sqrt(root))
	p, q := airyWave.parts(phase)
	cos, sin := turned(phase)
	left := expr.Mul(expr.Mul(scale, num(math.Sqrt2/2)),
		expr.Sub(expr.Mul(p, cos), expr.Mul(q, sin)))
	decayed := airyDecay.at(expr.Sub(expr.Div(num(2*airyPhase(mostAiry)), phase), num(1)))
	right := expr.Mul(expr.Mul(scale, num(0.5)),
		expr.Mul(fn("exp")(expr.Neg(phase)), decayed))
	right = expr.Select(expr.Gt(x, num(103.892)), num(0), right)
	const half = (mostAiry - leastAiry) / 2
	near := airySeries.at(expr.Mul(expr.Sub(x, num(mostAiry-half)), num(1/half)))
	y := expr.Select(expr.Lt(x, num(leastAiry)), left,
		expr.Select(expr.Gt(x, num(mostAiry)), right, near))
	return expr.Select(expr.Eq(a, num(inf)), num(math.NaN()), y)
}
