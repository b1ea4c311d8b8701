package ops

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// recurrence is a family of orthogonal polynomials: that of degree 1, and each
// further one from the two before; k is the degree reached.
type recurrence struct {
	first func(x *expr.Expr) *expr.Expr
	next  func(x, k, last, before *expr.Expr) *expr.Expr
}

// polynomialOps evaluate polynomials of a degree that is an operand.
func polynomialOps() []Op {
	two := func(x *expr.Expr) *expr.Expr { return expr.Add(x, x) }
	plus := func(x *expr.Expr, c float64) *expr.Expr { return expr.Add(x, like(x, c)) }
	shift := func(x *expr.Expr) *expr.Expr { return plus(two(x), -1) }
	same := func(x *expr.Expr) *expr.Expr { return x }
	chebyshev := func(x, _, last, before *expr.Expr) *expr.Expr {
		return expr.Sub(expr.Mul(two(x), last), before)
	}
	// ladder is ((2k+1-a)·last·b - k·before)/(k+1).
	ladder := func(factor func(x, odd *expr.Expr) *expr.Expr) func(x, k, last,
		before *expr.Expr) *expr.Expr {
		return func(x, k, last, before *expr.Expr) *expr.Expr {
			return expr.Div(expr.Sub(expr.Mul(factor(x, plus(two(k), 1)), last),
				expr.Mul(k, before)), plus(k, 1))
		}
	}
	kinds := []struct {
		name string
		from func(*expr.Expr) *expr.Expr
		recurrence
	}{
		{"hermite_polynomial_h", same,
			recurrence{two, func(x, k, last, before *expr.Expr) *expr.Expr {
				return expr.Sub(expr.Mul(two(x), last), expr.Mul(two(k), before))
			}}},
		{"hermite_polynomial_he", same,
			recurrence{same, func(x, k, last, before *expr.Expr) *expr.Expr {
				return expr.Sub(expr.Mul(x, last), expr.Mul(k, before))
			}}},
		{"laguerre_polynomial_l", same, recurrence{func(x *expr.Expr) *expr.Expr {
			return expr.Sub(like(x, 1), x)
		},
			ladder(func(x, odd *expr.Expr) *expr.Expr { return expr.Sub(odd, x) })}},
		{"legendre_polynomial_p", same, recurrence{same, ladder(func(x, odd *expr.Expr) *expr.Expr {
			return expr.Mul(odd, x)
		})}},
	}
	for _, s := range []struct {
		prefix string
		from   func(*expr.Expr) *expr.Expr
	}{{"", same}, {"shifted_", shift}} {
		for _, f := range []struct {
			letter string
			first  func(*expr.Expr) *expr.Expr
		}{
			{"t", same}, {"u", two},
			{"v", func(x *expr.Expr) *expr.Expr { return plus(two(x), -1) }},
			{"w", func(x *expr.Expr) *expr.Expr { return plus(two(x), 1) }},
		} {
			k := kinds[0]
			k.name, k.from, k.recurrence = s.prefix+"chebyshev_polynomial_"+f.letter, s.from,
				recurrence{f.first, chebyshev}
			kinds = append(kinds, k)
		}
	}
	var ops []Op
	for _, k := range kinds {
		for _, form := range []string{"(Tensor x, Tensor n)", ".n_scalar(Tensor x, Scalar n)",
			".x_scalar(Scalar x, Tensor n)"} {
			ops = append(ops, polynomial("aten::special_"+k.name+form+" -> Tensor", k.from,
				k.recurrence))
		}
	}
	return ops
}

// polynomial is an entry that evaluates that of degree n at from(x); of a
// negative degree it is 0.
func polynomial(schema string, from func(*expr.Expr) *expr.Expr, rec recurrence) Op {
	e := &elementwise{schema: schema, names: []string{"x", "n"}, loose: []bool{false, false},
		rule: toFloat}
	return Op{
		Schema: schema, numbers: true, Infer: e.infer,
		Loops: func(c *Call) (*loop.Func, error) {
			dt, _ := must2(e.dtypes(c))
			out := c.Outs[0]
			vars, at := indexVars(out.Sizes)
			operand := func(name string) *expr.Expr {
				if k := c.Operand(name); k >= 0 {
					return expr.Cast(dt, c.flatLoad(k, broadcastCoords(c.operands[k].Type,
						out.Sizes, at)))
				}
				return c.number(c.Arg(name), dt)
			}
			local := func(name string) *expr.Var { return &expr.Var{Name: name, DType: dt} }
			x, last, before, value, degree := local("x"), local("last"), local("before"),
				local("value"), local("degree")
			n := local("n")
			num := func(f float64) *expr.Expr { return expr.Num(dt, f) }
			get := expr.Get
			let := func(v *expr.Var, e *expr.Expr) loop.Stmt {
				return &loop.Let{Var: v, Value: e, Mutable: true}
			}
			set := func(v *expr.Var, e *expr.Expr) loop.Stmt {
				return &loop.Assign{Var: v, Value: e}
			}
			result := expr.Select(expr.Lt(get(n), num(0)), num(0),
				expr.Select(expr.Eq(get(n), num(0)), num(1), get(last)))
			return &loop.Func{Name: "polynomial", Bufs: c.buffers(), Body: nest(vars,
				&loop.Let{Var: x, Value: from(operand("x"))},
				&loop.Let{Var: n, Value: expr.Trunc(operand("n"))},
				let(before, num(1)), let(last, rec.first(get(x))), let(degree, num(1)),
				let(value, num(0)),
				&loop.While{Cond: expr.Lt(get(degree), expr.Min(get(n), num(maxDegree))),
					Body: []loop.Stmt{
						set(value, rec.next(get(x), get(degree), get(last), get(before))),
						set(before, get(last)), set(last, get(value)),
						set(degree, expr.Add(get(degree), num(1))),
					}},
				&loop.Store{Buf: 0, At: sym.RowMajor(out.Sizes, at),
					Value: expr.Cast(out.DType, result)},
			)}, nil
		},
	}
}

// maxDegree ends the loop of a polynomial whatever is asked for.
const maxDegree = 1 << 16
