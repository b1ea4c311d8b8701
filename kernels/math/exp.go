package math

import (
	"math"

	"github.com/etgen/etgen/kernels/expr"
)

// ln2Hi has so few bits that its product with any exponent is exact; the
// constants below are exact differences.
const (
	ln2Hi32 = 0x1.62ep-1
	ln2Lo32 = math.Ln2 - ln2Hi32
	ln2Hi64 = 0x1.62e42fefap-1
	ln2Lo64 = math.Ln2 - ln2Hi64
)

func (f form) ln2Hi() node { return f.c(pick(f, ln2Hi32, ln2Hi64)) }
func (f form) ln2Lo() node { return f.c(pick(f, ln2Lo32, ln2Lo64)) }

// expm1Near returns exp(r) - 1 for |r| ≤ ln2/2.
func (f form) expm1Near(r node) node {
	return add(r, mul(mul(r, r), f.poly(r, pick(f, exp32, exp64))))
}

// expReduce returns r and n with x = n·ln2 + r, |r| ≤ ln2/2.
func (f form) expReduce(x node) (r, n node) {
	nf, n := f.nearest(mul(x, f.c(math.Log2E)))
	return sub(sub(x, mul(nf, f.ln2Hi())), mul(nf, f.ln2Lo())), n
}

// expLimit returns a bound beyond which exp is infinite.
func (f form) expLimit() float64 { return float64(pick(f, 89, 710)) }

// expScaled is exp(x)·2^by; |by| ≤ 2. What is far below the smallest number, like
// the score of what is masked, is taken for that whose two powers of two in
// ldexp are both 0: a product that underflows takes processors a hundred times as
// long.
func (f form) expScaled(x node, by int64) node {
	lo, hi := -(pick(f, 254.0, 2046.0)+float64(by))*math.Ln2, f.expLimit()
	r, n := f.expReduce(f.clamp(x, lo, hi+1))
	return f.ldexp(add(f.c(1), f.expm1Near(r)), add(n, f.i(by)))
}

// expNormal is exp(x) for x that neither it nor its power of two overflows or
// underflows with.
func (f form) expNormal(x node) node {
	r, n := f.expReduce(x)
	return mul(add(f.c(1), f.expm1Near(r)), f.pow2(n))
}

func (f form) exp() *expr.Func {
	return f.fn("exp", "exp(x) within 1 ulp.", func(x node) node { return f.expScaled(x, 0) })
}

// halfExp serves sinh and cosh, which stay finite where exp does not.
func (f form) halfExp() *expr.Func {
	return f.fn("half_exp", "exp(x)/2 within 1 ulp.", func(x node) node {
		return f.expScaled(x, -1)
	})
}

func (f form) exp2() *expr.Func {
	return f.fn("exp2", "2^x within 1 ulp.", func(x node) node {
		lim := float64(pick(f, 150, 1100))
		x = f.clamp(x, -lim, lim)
		nf, n := f.nearest(x)
		return f.ldexp(add(f.c(1), f.expm1Near(f.scale(math.Ln2, sub(x, nf)))), n)
	})
}

func (f form) expm1() *expr.Func {
	return f.fn("expm1", "exp(x) - 1 within 2 ulp.", func(x node) node {
		r, n := f.expReduce(f.clamp(x, -float64(f.man)-4, f.expLimit()))
		// 2^n·(e^r - 1) + (2^n - 1); halved, so that 2^n does not overflow.
		p := f.expm1Near(r)
		s := f.pow2(sub(n, f.i(1)))
		big := add(mul(s, p), sub(s, f.c(0.5)))
		tiny := pick(f, 0x1p-25, 0x1p-54)
		return sel(lt(abs(x), f.c(tiny)), x, sel(lt(abs(x), f.c(0.34)), p, mul(f.c(2), big)))
	})
}

func (f form) sigmoid(exp *expr.Func) *expr.Func {
	return f.fn("sigmoid", "1/(1 + exp(-x)) within 3 ulp.", func(x node) node {
		e := expr.CallFn(exp, neg(abs(x)))
		return div(sel(expr.Ge(x, f.c(0)), f.c(1), e), add(f.c(1), e))
	})
}
