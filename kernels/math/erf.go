package math

import (
	"github.com/etgen/etgen/kernels/expr"
)

func (f form) erf() *expr.Func {
	return f.fn("erf", "erf(x) within 2 ulp.", func(x node) node {
		a := abs(x)
		near := add(x, mul(x, f.poly(mul(x, x), pick(f, erf32, erf64))))
		// From the clamp on erf is 1. Min with the constant first lets NaN through.
		t := expr.Min(f.c(pick(f, 3.95, 6)), a)
		e := f.expNormal(neg(mul(t, f.poly(t, pick(f, erfTail32, erfTail64)))))
		far := f.withSign(sub(f.c(1), e), x)
		return sel(lt(a, f.c(0.925)), near, far)
	})
}

func (f form) erfc(exp *expr.Func) *expr.Func {
	return f.fn("erfc", "1 - erf(x) within 6 ulp.", func(x node) node {
		limit := pick(f, 10.2, 27.5)
		// Min with the constant first lets NaN through.
		a := expr.Min(f.c(limit), abs(x))
		pole := f.c(pick(f, 2.0, 4))
		q := div(sub(a, pole), add(a, pole))
		// exp(-a²) = exp(-h²)·exp((h-a)(h+a)), h of half the bits.
		h := f.upper(a)
		d := mul(sub(h, a), add(h, a))
		e := expr.CallFn(exp, neg(mul(h, h)))
		e = add(e, mul(e, f.expm1Near(d)))
		y := mul(e, div(f.poly(q, pick(f, erfcx32, erfcx64)), add(f.c(1), mul(f.c(2), a))))
		return sel(lt(x, f.c(0)), sub(f.c(2), y), sel(gt(x, f.c(limit)), f.c(0), y))
	})
}

// rsqrt divides once more than it has to for the sake of accuracy.
func (f form) rsqrt() *expr.Func {
	return f.fn("rsqrt", "1/√x within 2 ulp.", func(x node) node {
		return div(f.c(1), expr.Sqrt(x))
	})
}
