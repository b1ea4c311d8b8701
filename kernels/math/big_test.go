package math_test

import (
	"math"
	"math/big"
)

// The reference for float64: functions in 200 bits, for finite arguments inside
// of the domain; at other arguments Go's own functions give the right special
// value.

const prec = 200

func bf(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }
func nb() *big.Float          { return new(big.Float).SetPrec(prec) }

func bParse(s string) *big.Float {
	x, _, err := big.ParseFloat(s, 10, prec, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return x
}

var (
	bPi = bParse(
		"3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
	bLn2 = bParse(
		"0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
)

// small reports whether t does not matter beside sum.
func small(t, sum *big.Float) bool {
	return t.Sign() == 0 || sum.Sign() != 0 && t.MantExp(nil) < sum.MantExp(nil)-prec
}

func bExp(x *big.Float) *big.Float {
	y := nb().Add(bExpm1(nb().Abs(x)), bf(1))
	if x.Sign() < 0 {
		y.Quo(bf(1), y)
	}
	return y
}

// bExpm1 sums the series of an argument made small by halving and doubles back.
func bExpm1(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return nb()
	}
	k := max(0, x.MantExp(nil)+8)
	r := nb().SetMantExp(x, -k)
	sum, t := nb(), bf(1)
	for i := 1; ; i++ {
		t.Mul(t, r).Quo(t, bf(float64(i)))
		sum.Add(sum, t)
		if small(t, sum) {
			break
		}
	}
	for range k { // (1+s)² - 1 = s(s+2)
		sum.Mul(sum, nb().Add(sum, bf(2)))
	}
	return sum
}

// bLog takes the logarithm of the mantissa by its atanh series.
func bLog(x *big.Float) *big.Float {
	m := nb()
	e := x.MantExp(m)
	if m.Cmp(bf(math.Sqrt2/2)) < 0 {
		m.Mul(m, bf(2))
		e--
	}
	y := bLogNear(nb().Sub(m, bf(1)))
	return y.Add(y, nb().Mul(bLn2, bf(float64(e))))
}

// bLogNear is log(1+g) for |g| < 1/2.
func bLogNear(g *big.Float) *big.Float {
	s := nb().Quo(g, nb().Add(g, bf(2)))
	z := nb().Mul(s, s)
	sum, p := nb(), nb().Set(s)
	for i := 1; ; i += 2 {
		t := nb().Quo(p, bf(float64(i)))
		sum.Add(sum, t)
		if small(t, sum) {
			return sum.Mul(sum, bf(2))
		}
		p.Mul(p, z)
	}
}

func bLog1p(x *big.Float) *big.Float {
	if x.MantExp(nil) < -2 {
		return bLogNear(x)
	}
	return bLog(nb().Add(x, bf(1)))
}

// bSinCos reduces by multiples of π/2.
func bSinCos(x *big.Float) (sin, cos *big.Float) {
	half := nb().Quo(bPi, bf(2))
	q := nb().Quo(x, half)
	q.Add(q, bf(math.Copysign(0.5, float64(q.Sign()))))
	n, _ := q.Int(nil)
	r := nb().Sub(x, nb().Mul(nb().SetInt(n), half))
	s, c := bSeries(r, 1), bSeries(r, 0)
	switch new(big.Int).And(n, big.NewInt(3)).Int64() {
	case 0:
		return s, c
	case 1:
		return c, s.Neg(s)
	case 2:
		return s.Neg(s), c.Neg(c)
	}
	return c.Neg(c), s
}

// bSeries sums the terms of sin (first = 1) or cos (first = 0).
func bSeries(r *big.Float, first int) *big.Float {
	t := bf(1)
	if first == 1 {
		t.Set(r)
	}
	z := nb().Mul(r, r)
	sum := nb()
	for i := first; ; i += 2 {
		sum.Add(sum, t)
		if small(t, sum) {
			return sum
		}
		t.Mul(t, z).Quo(t, bf(-float64((i+1)*(i+2))))
	}
}

// bAtan halves the angle until the series is short.
func bAtan(x *big.Float) *big.Float {
	t := nb().Set(x)
	k := 0
	for t.Sign() != 0 && t.MantExp(nil) > -6 {
		t.Quo(t, nb().Add(bf(1), bSqrt(nb().Add(bf(1), nb().Mul(t, t)))))
		k++
	}
	z := nb().Mul(t, t)
	sum, p := nb(), nb().Set(t)
	for i := 1; ; i += 2 {
		u := nb().Quo(p, bf(float64(i)))
		sum.Add(sum, u)
		if small(u, sum) {
			return sum.SetMantExp(sum, k)
		}
		p.Mul(p, z).Neg(p)
	}
}

func bSqrt(x *big.Float) *big.Float { return nb().Sqrt(x) }

// bAsin is atan(x/√(1-x²)).
func bAsin(x *big.Float) *big.Float {
	c := bSqrt(nb().Sub(bf(1), nb().Mul(x, x)))
	if c.Sign() == 0 {
		y := nb().Quo(bPi, bf(2))
		if x.Sign() < 0 {
			y.Neg(y)
		}
		return y
	}
	return bAtan(nb().Quo(x, c))
}

func bAcos(x *big.Float) *big.Float { // 2·atan(√((1-x)/(1+x)))
	d := nb().Add(bf(1), x)
	if d.Sign() == 0 {
		return nb().Set(bPi)
	}
	y := bAtan(bSqrt(nb().Quo(nb().Sub(bf(1), x), d)))
	return y.Mul(y, bf(2))
}

func bSinh(x *big.Float) *big.Float { // (e + e/(e+1))/2, e = exp(x)-1
	e := bExpm1(nb().Abs(x))
	y := nb().Add(e, nb().Quo(e, nb().Add(e, bf(1))))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y.Quo(y, bf(2))
}

func bCosh(x *big.Float) *big.Float {
	e := bExp(x)
	y := nb().Add(e, nb().Quo(bf(1), e))
	return y.Quo(y, bf(2))
}

func bTanh(x *big.Float) *big.Float {
	e := bExpm1(nb().Mul(x, bf(2)))
	return nb().Quo(e, nb().Add(e, bf(2)))
}

func bAsinh(x *big.Float) *big.Float { // log1p(a + a²/(1+√(1+a²)))
	a := nb().Abs(x)
	z := nb().Mul(a, a)
	y := bLog1p(nb().Add(a, nb().Quo(z, nb().Add(bf(1), bSqrt(nb().Add(bf(1), z))))))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

func bAcosh(x *big.Float) *big.Float {
	t := nb().Sub(x, bf(1))
	return bLog1p(nb().Add(t, bSqrt(nb().Add(nb().Mul(t, t), nb().Mul(t, bf(2))))))
}

func bAtanh(x *big.Float) *big.Float {
	y := bLog1p(nb().Quo(nb().Mul(x, bf(2)), nb().Sub(bf(1), x)))
	return y.Quo(y, bf(2))
}

// bErf sums 2/√π·exp(-x²)·Σ 2ⁿx²ⁿ⁺¹/(2n+1)!!, whose terms are all positive.
func bErf(x *big.Float) *big.Float {
	z := nb().Mul(x, x)
	sum, t := nb(), nb().Set(x)
	for i := 3; ; i += 2 {
		sum.Add(sum, t)
		if small(t, sum) {
			break
		}
		t.Mul(t, z).Mul(t, bf(2)).Quo(t, bf(float64(i)))
	}
	sum.Mul(sum, bExp(nb().Neg(z))).Mul(sum, bf(2))
	return sum.Quo(sum, bSqrt(bPi))
}

// bErfc is the continued fraction where 1 - erf would cancel.
func bErfc(x *big.Float) *big.Float {
	if v, _ := x.Float64(); v < 4 {
		return nb().Sub(bf(1), bErf(x))
	}
	k := nb().Set(x)
	for i := 400; i > 0; i-- {
		k = nb().Add(x, nb().Quo(bf(float64(i)/2), k))
	}
	e := bExp(nb().Neg(nb().Mul(x, x)))
	return nb().Quo(e, nb().Mul(k, bSqrt(bPi)))
}

var bigUnary = map[string]func(*big.Float) *big.Float{
	"exp": bExp, "expm1": bExpm1, "log": bLog, "log1p": bLog1p,
	"exp2":  func(x *big.Float) *big.Float { return bExp(nb().Mul(x, bLn2)) },
	"log2":  func(x *big.Float) *big.Float { return nb().Quo(bLog(x), bLn2) },
	"log10": func(x *big.Float) *big.Float { return nb().Quo(bLog(x), bLog(bf(10))) },
	"sigmoid": func(x *big.Float) *big.Float {
		return nb().Quo(bf(1), nb().Add(bf(1), bExp(nb().Neg(x))))
	},
	"rsqrt": func(x *big.Float) *big.Float { return nb().Quo(bf(1), bSqrt(x)) },
	"sin":   func(x *big.Float) *big.Float { s, _ := bSinCos(x); return s },
	"cos":   func(x *big.Float) *big.Float { _, c := bSinCos(x); return c },
	"tan":   func(x *big.Float) *big.Float { s, c := bSinCos(x); return s.Quo(s, c) },
	"asin":  bAsin, "acos": bAcos, "atan": bAtan, "sinh": bSinh, "cosh": bCosh, "tanh": bTanh,
	"asinh": bAsinh, "acosh": bAcosh, "atanh": bAtanh, "erf": bErf, "erfc": bErfc,
}

// exactly returns the value of f at x rounded to float64: by 200 bits, unless Go's
// own value ref is a special value or a limit.
func exactly(f func(*big.Float) *big.Float, x, ref float64) float64 {
	special := x == 0 || math.IsNaN(ref) || math.IsInf(x, 0) || math.IsInf(ref, 0) || ref == 0
	limit := math.Abs(x) > 6 && (math.Abs(ref) == 1 || ref == 2) // of erf, tanh, …
	if special || limit {
		return ref
	}
	y, _ := f(bf(x)).Float64()
	return y
}
