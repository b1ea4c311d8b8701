package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// incompleteGammaOps are the regularised incomplete gamma functions: the lower one and the upper
// one, whose sum is 1.
func incompleteGammaOps() []entry {
	var ops []entry
	for _, f := range []struct {
		names []string
		upper bool
	}{{[]string{"igamma", "special_gammainc"}, false},
		{[]string{"igammac", "special_gammaincc"}, true}} {
		for _, name := range f.names {
			ops = append(ops, iterated("aten::"+name+"(Tensor self, Tensor other) -> Tensor",
				"self other", func(x []*expr.Expr) ([]loop.Stmt, *expr.Expr) {
					return incompleteGamma(x[0], x[1], f.upper)
				}))
		}
	}
	return ops
}

// mostTerms ends series that converge slowly; where they do, a is above 1e5.
const mostTerms = 4000

// incompleteGamma computes in doubles: what the upper one loses as 1 less the lower one, they have
// to spare. Left of a+1 it is the power series of the lower one, else the continued fraction of the
// upper one by Lentz's method.
func incompleteGamma(a, x *expr.Expr, upper bool) ([]loop.Stmt, *expr.Expr) {
	d, narrow := ir.Float64, a.DType
	a, x = expr.Cast(d, a), expr.Cast(d, x)
	num := func(f float64) *expr.Expr { return expr.Num(d, f) }
	local := func(name string) counter { return newCounter(name, d) }
	sum, term, k, far := local("sum"), local("term"), local("k"), local("far")
	// The common factor is x^a·exp(-x)/Γ(a+1); of large a by Stirling, without large terms.
	direct := fn("exp")(expr.Sub(expr.Sub(expr.Mul(a, fn("log")(x)), x),
		lgamma(expr.Add(a, num(1)))))
	off := expr.Div(expr.Sub(x, a), a)
	r := expr.Div(num(1), a)
	stirling := expr.Div(fn("exp")(expr.Mul(a, expr.Sub(fn("log1p")(off), off))),
		expr.Mul(expr.Sqrt(expr.Mul(num(2*math.Pi), a)),
			horner(r, -571.0/2488320, -139.0/51840, 1.0/288, 1.0/12, 1)))
	factor := expr.Select(expr.Lt(a, num(20)), direct, stirling)
	few := func(going *expr.Expr) *expr.Expr {
		return expr.And(going, expr.Lt(k.get(), num(mostTerms)))
	}
	series := []loop.Stmt{
		sum.set(num(1)), term.set(num(1)),
		&loop.While{Cond: few(expr.Gt(term.get(), expr.Mul(sum.get(), num(0x1p-53)))),
			Body: []loop.Stmt{k.plus(num(1)),
				term.set(expr.Mul(term.get(), expr.Div(x, expr.Add(a, k.get())))),
				sum.plus(term.get())}},
		sum.set(expr.Mul(sum.get(), factor)),
	}
	b, c, e, step := local("b"), local("c"), local("e"), local("step")
	over := func(y *expr.Expr) *expr.Expr { // not 0
		return expr.Select(expr.Lt(expr.Abs(y), num(1e-300)), num(1e-300), y)
	}
	fraction := []loop.Stmt{
		b.start(expr.Sub(expr.Add(x, num(1)), a)), c.start(num(1e300)),
		e.start(expr.Div(num(1), b.get())), sum.set(e.get()), step.start(num(0)),
		&loop.While{Cond: few(expr.Gt(expr.Abs(expr.Sub(step.get(), num(1))), num(0x1p-52))),
			Body: []loop.Stmt{k.plus(num(1)), b.plus(num(2)),
				term.set(expr.Mul(k.get(), expr.Sub(a, k.get()))),
				e.set(expr.Div(num(1), over(expr.Add(expr.Mul(term.get(), e.get()), b.get())))),
				c.set(over(expr.Add(b.get(), expr.Div(term.get(), c.get())))),
				step.set(expr.Mul(e.get(), c.get())),
				sum.set(expr.Mul(sum.get(), step.get()))}},
		sum.set(expr.Mul(sum.get(), expr.Mul(factor, a))),
	}
	limits := expr.And(expr.And(expr.Gt(a, num(0)), expr.Lt(a, num(inf))),
		expr.And(expr.Gt(x, num(0)), expr.Lt(x, num(inf))))
	beyond := expr.Ge(x, expr.Add(a, num(1)))
	stmts := []loop.Stmt{
		sum.start(num(0)), term.start(num(0)), k.start(num(0)), far.start(num(0)),
		&loop.If{Cond: limits, Then: []loop.Stmt{&loop.If{Cond: beyond,
			Then: append(fraction, far.set(num(1))), Else: series}}},
	}
	isUpper := num(0)
	if upper {
		isUpper = num(1)
	}
	result := expr.Select(expr.Eq(far.get(), isUpper), sum.get(), expr.Sub(num(1), sum.get()))
	// of 0 and infinity
	none, all := num(0), num(1)
	if upper {
		none, all = all, none
	}
	edge := expr.Select(expr.Eq(x, num(0)), none, expr.Select(expr.Eq(a, num(inf)), none, all))
	bothInfinite := expr.And(expr.Eq(a, num(inf)), expr.Eq(x, num(inf)))
	bothZero := expr.And(expr.Eq(a, num(0)), expr.Eq(x, num(0)))
	wrong := expr.Or(expr.Or(bothInfinite, bothZero),
		expr.Not(expr.And(expr.Ge(a, num(0)), expr.Ge(x, num(0)))))
	result = expr.Select(limits, result, edge)
	return stmts, expr.Cast(narrow, expr.Select(wrong, num(math.NaN()), result))
}
