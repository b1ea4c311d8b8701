package math

import (
	"math"

	"github.com/etgen/etgen/kernels/expr"
)

// tanh is E/(E + 2), E = exp(2|x|) - 1, which keeps small x; from the clamp on
// it is 1. Min with the constant first lets NaN through.
func (f form) tanh() *expr.Func {
	return f.fn("tanh", "tanh(x) within 3 ulp.", func(x node) node {
		a := abs(x)
		r, n := f.expReduce(expr.Min(f.c(pick(f, 20.0, 40)), add(a, a)))
		s := f.pow2(n)
		e := add(mul(s, f.expm1Near(r)), sub(s, f.c(1)))
		return f.withSign(div(e, add(e, f.c(2))), x)
	})
}

func (f form) sinh(halfExp *expr.Func) *expr.Func {
	return f.fn("sinh", "sinh(x) within 3 ulp.", func(x node) node {
		z := mul(x, x)
		near := add(x, mul(mul(x, z), f.poly(z, pick(f, sinh32, sinh64))))
		e := expr.CallFn(halfExp, abs(x))
		far := f.copysign(sub(e, div(f.c(0.25), e)), x)
		tiny := pick(f, 0x1p-13, 0x1p-28)
		return sel(lt(abs(x), f.c(tiny)), x, sel(lt(abs(x), f.c(1)), near,
			sel(expr.Ne(x, x), x, far)))
	})
}

func (f form) cosh(halfExp *expr.Func) *expr.Func {
	return f.fn("cosh", "cosh(x) within 3 ulp.", func(x node) node {
		e := expr.CallFn(halfExp, abs(x))
		return add(e, div(f.c(0.25), e))
	})
}

// large is where x² + 1 is x² and x² may overflow soon.
func (f form) large() float64 { return pick(f, 0x1p14, 0x1p28) }

func (f form) asinh(log, log1p *expr.Func) *expr.Func {
	return f.fn("asinh", "asinh(x) within 4 ulp.", func(x node) node {
		a := abs(x)
		far := add(expr.CallFn(log, a), f.c(math.Ln2))
		z := mul(x, x)
		near := expr.CallFn(log1p, add(a, div(z, add(f.c(1), expr.Sqrt(add(f.c(1), z))))))
		y := f.copysign(sel(gt(a, f.c(f.large())), far, near), x)
		tiny := pick(f, 0x1p-13, 0x1p-28)
		return sel(lt(a, f.c(tiny)), x, sel(expr.Ne(x, x), x, y))
	})
}

func (f form) acosh(log, log1p *expr.Func) *expr.Func {
	return f.fn("acosh", "acosh(x) within 4 ulp.", func(x node) node {
		far := add(expr.CallFn(log, x), f.c(math.Ln2))
		t := sub(x, f.c(1))
		near := expr.CallFn(log1p, add(t, expr.Sqrt(add(mul(f.c(2), t), mul(t, t)))))
		return sel(expr.Ge(x, f.c(1)), sel(gt(x, f.c(f.large())), far, near), f.c(math.NaN()))
	})
}

func (f form) atanh(log1p *expr.Func) *expr.Func {
	return f.fn("atanh", "atanh(x) within 4 ulp.", func(x node) node {
		a := abs(x)
		u := sub(f.c(1), a)
		t := add(a, a)
		// 2a/(1-a); below 1/2 without dividing 2a, which it keeps exact.
		arg := sel(lt(a, f.c(0.5)), add(t, div(mul(t, a), u)), div(t, u))
		y := f.copysign(mul(f.c(0.5), expr.CallFn(log1p, arg)), x)
		tiny := pick(f, 0x1p-13, 0x1p-28)
		return sel(lt(a, f.c(tiny)), x, sel(expr.Le(a, f.c(1)), y, f.c(math.NaN())))
	})
}
