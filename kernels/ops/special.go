package ops

import (
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// specialOps are the gamma function and its like, the error function's
// inverse and modified Bessel functions. Their errors are a few units in the
// last place of the larger of result and 1.
func specialOps() []entry {
	ops := []entry{
		derived("aten::mvlgamma(Tensor self, int p) -> Tensor", multigamma),
		pointwise("aten::polygamma(int n, Tensor self) -> Tensor", "self", toFloat,
			func(p *point) *expr.Expr {
				// Derivative n of digamma.
				n, err := p.c.Int("n")
				x := p.x[0]
				switch {
				case err != nil || n < 0:
					return like(x, math.NaN()) // PyTorch rejects it when it exports
				case n == 0:
					return digamma(x)
				case n == 1:
					return trigamma(x)
				}
				factor := math.Gamma(float64(n + 1))
				if n%2 == 0 {
					factor = -factor
				}
				return expr.Mul(like(x, factor), zeta(like(x, float64(n+1)), x))
			}),
	}
	for _, u := range []struct {
		names []string
		f     func(*expr.Expr) *expr.Expr
	}{
		{[]string{"lgamma"}, lgamma},
		{[]string{"digamma"}, digamma},
		{[]string{"erfinv"}, erfinv},
		{[]string{"special_ndtri"}, func(p *expr.Expr) *expr.Expr {
			return expr.Mul(like(p, math.Sqrt2), erfinv(expr.Sub(expr.Add(p, p), like(p, 1))))
		}},
		{[]string{"i0", "special_modified_bessel_i0"}, func(x *expr.Expr) *expr.Expr {
			return besselI(x, 0, false)
		}},
		{[]string{"special_i0e"}, func(x *expr.Expr) *expr.Expr { return besselI(x, 0, true) }},
		{[]string{"special_i1", "special_modified_bessel_i1"}, func(x *expr.Expr) *expr.Expr {
			return besselI(x, 1, false)
		}},
		{[]string{"special_i1e"}, func(x *expr.Expr) *expr.Expr { return besselI(x, 1, true) }},
		{[]string{"special_erfcx"}, erfcx},
		{[]string{"special_log_ndtr"}, func(x *expr.Expr) *expr.Expr {
			// The logarithm of the normal distribution: left of 1 without a difference to 1.
			t := expr.Mul(x, like(x, math.Sqrt2/2))
			left := expr.Sub(fn("log")(expr.Mul(erfcx(expr.Neg(t)), like(x, 0.5))), expr.Mul(t, t))
			right := fn("log1p")(expr.Mul(fn("erfc")(t), like(x, -0.5)))
			return expr.Select(expr.Lt(x, like(x, 1)), left, right)
		}},
	} {
		for _, name := range u.names {
			ops = append(ops, unary("aten::"+name+"(Tensor self) -> Tensor", toFloat, u.f))
		}
	}
	ops = append(ops, pointwise("aten::special_spherical_bessel_j0(Tensor x) -> Tensor", "x",
		toFloat, func(p *point) *expr.Expr {
			x := p.x[0]
			near := expr.Sub(like(x, 1), expr.Div(expr.Mul(x, x), like(x, 6)))
			return expr.Select(expr.Lt(expr.Abs(x), like(x, 0x1p-10)), near,
				expr.Div(fn("sin")(x), x))
		}))
	zetaOf := func(args string) entry {
		return binary("aten::special_zeta"+args+" -> Tensor", toFloat, zeta)
	}
	return append(ops, zetaOf("(Tensor self, Tensor other)"),
		zetaOf(".other_scalar(Tensor self, Scalar other)"),
		zetaOf(".self_scalar(Scalar self, Tensor other)"))
}

// erfcx is exp(x²)·erfc(x), for large x as a continued fraction.
func erfcx(x *expr.Expr) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	depth := 24
	if x.DType == ir.Float64 {
		depth = 60
	}
	a := expr.Max(x, num(2))
	f := a
	for k := depth; k > 0; k-- {
		f = expr.Add(a, expr.Div(num(float64(k)/2), f))
	}
	large := expr.Div(num(1/math.Sqrt(math.Pi)), f)
	small := expr.Mul(fn("exp")(expr.Mul(x, x)), fn("erfc")(x))
	return expr.Select(expr.Gt(x, num(2)), large, small)
}

// horner evaluates a polynomial, highest power first.
func horner(x *expr.Expr, cs ...float64) *expr.Expr {
	p := like(x, cs[0])
	for _, c := range cs[1:] {
		p = expr.Add(expr.Mul(p, x), like(x, c))
	}
	return p
}

// shifted is how far the gamma functions move to the right before they take
// Stirling's series.
const shifted = 8

// lgamma is log|Γ(x)|: of x + 8 by Stirling's series, less the factors passed;
// left of ½ by reflection.
func lgamma(x *expr.Expr) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	mirrored := expr.Lt(x, num(0.5))
	y := expr.Select(mirrored, expr.Sub(num(1), x), x)
	z, product := expr.Add(y, num(shifted)), y
	for i := range shifted - 1 {
		product = expr.Mul(product, expr.Add(y, num(float64(i+1))))
	}
	large := expr.Gt(y, num(1e4)) // there the product may overflow and is not needed
	z, product = expr.Select(large, y, z), expr.Select(large, num(1), product)
	r := expr.Div(num(1), z)
	series := expr.Mul(r, horner(expr.Mul(r, r), -1.0/1680, 1.0/1260, -1.0/360, 1.0/12))
	g := expr.Sub(expr.Mul(expr.Sub(z, num(0.5)), fn("log")(z)), z)
	g = expr.Sub(expr.Add(expr.Add(g, num(0.5*math.Log(2*math.Pi))), series), fn("log")(product))
	g = expr.Select(expr.Eq(y, num(inf)), num(inf), g)
	turn := expr.Sub(x, expr.Round(x)) // |sin πx| = |sin π(x-n)|
	sine := expr.Abs(fn("sin")(expr.Mul(num(math.Pi), turn)))
	back := expr.Sub(expr.Sub(num(math.Log(math.Pi)), fn("log")(sine)), g)
	back = expr.Select(expr.Eq(turn, num(0)), num(inf), back) // a pole
	back = expr.Select(expr.Eq(x, num(-inf)), num(inf), back)
	return expr.Select(mirrored, back, g)
}

// digamma is the derivative of log Γ.
func digamma(x *expr.Expr) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	mirrored := expr.Lt(x, num(0.5))
	y := expr.Select(mirrored, expr.Sub(num(1), x), x)
	passed := expr.Div(num(1), y)
	for i := range shifted - 1 {
		passed = expr.Add(passed, expr.Div(num(1), expr.Add(y, num(float64(i+1)))))
	}
	z := expr.Add(y, num(shifted))
	r := expr.Div(num(1), z)
	r2 := expr.Mul(r, r)
	series := expr.Mul(r2, horner(r2, -1.0/132, 1.0/240, -1.0/252, 1.0/120, -1.0/12))
	g := expr.Sub(expr.Add(expr.Sub(fn("log")(z), expr.Mul(num(0.5), r)), series), passed)
	turn := expr.Sub(x, expr.Round(x))
	back := expr.Sub(g, expr.Div(num(math.Pi), fn("tan")(expr.Mul(num(math.Pi), turn))))
	back = expr.Select(expr.Eq(turn, num(0)), num(math.NaN()), back)
	back = expr.Select(expr.Eq(x, num(0)), copysign(num(inf), expr.Neg(x)), back)
	return expr.Select(mirrored, back, g)
}

// trigamma is the derivative of digamma. Near poles it errs as PyTorch's does,
// which takes the sine of πx as it is rounded.
func trigamma(x *expr.Expr) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	mirrored := expr.Lt(x, num(0.5))
	y := expr.Select(mirrored, expr.Sub(num(1), x), x)
	sum := num(0)
	for range 6 {
		sum = expr.Add(sum, expr.Div(num(1), expr.Mul(y, y)))
		y = expr.Add(y, num(1))
	}
	r := expr.Div(num(1), y)
	r2 := expr.Mul(r, r)
	series := expr.Add(expr.Add(num(1), expr.Mul(num(0.5), r)),
		expr.Mul(r2, horner(r2, 1.0/42, -1.0/30, 1.0/6)))
	g := expr.Add(sum, expr.Mul(series, r))
	sine := fn("sin")(expr.Mul(num(math.Pi), x))
	return expr.Select(mirrored, expr.Sub(expr.Div(num(math.Pi*math.Pi), expr.Mul(sine, sine)), g),
		g)
}

// zeta is Hurwitz's: the sum of (q+k)^-s over all k ≥ 0, the first ones taken
// one by one, the rest by Euler and Maclaurin.
func zeta(s, q *expr.Expr) *expr.Expr {
	const terms = 20
	num := func(f float64) *expr.Expr { return like(s, f) }
	k := sym.NewVar("k", sym.Int(terms))
	pow := func(a, b *expr.Expr) *expr.Expr { return fn2("pow")(a, b) }
	minus := expr.Neg(s)
	sum := expr.Sum([]*sym.Symbol{k}, pow(expr.Add(q, expr.Idx(s.DType, k.Expr())), minus))
	a := expr.Add(q, num(terms))
	tail := pow(a, minus)
	r2 := expr.Div(num(1), expr.Mul(a, a))
	rest := expr.Add(expr.Div(a, expr.Sub(s, num(1))), num(0.5))
	// B₂ⱼ/(2j)! · s(s+1)…(s+2j-2) · a^(1-2j)
	term := expr.Div(s, a)
	for j, c := range []float64{1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600} {
		rest = expr.Add(rest, expr.Mul(num(c), term))
		n := float64(2*j + 1)
		term = expr.Mul(expr.Mul(term, r2), expr.Mul(expr.Add(s, num(n)), expr.Add(s, num(n+1))))
	}
	z := expr.Add(sum, expr.Mul(tail, rest))
	pole := expr.And(expr.Le(q, num(0)), expr.Eq(q, expr.Floor(q)))
	z = expr.Select(expr.Or(pole, expr.Eq(s, num(1))), num(inf), z)
	noReal := expr.And(expr.Lt(q, num(0)), expr.And(expr.Not(pole), expr.Ne(s, expr.Floor(s))))
	return expr.Select(expr.Or(expr.Lt(s, num(1)), noReal), num(math.NaN()), z)
}

// erfinv starts from a rational approximation and takes two of Newton's steps.
func erfinv(y *expr.Expr) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(y, f) }
	a := expr.Abs(y)
	z := expr.Mul(y, y)
	near := expr.Div(expr.Mul(y, horner(z, -0.140543331, 0.914624893, -1.645349621, 0.886226899)),
		horner(z, 0.012229801, -0.329097515, 1.442710462, -2.118377725, 1))
	t := expr.Sqrt(expr.Neg(fn("log")(expr.Div(expr.Sub(num(1), a), num(2)))))
	far := copysign(expr.Div(horner(t, 1.641345311, 3.429567803, -1.624906493, -1.970840454),
		horner(t, 1.637067800, 3.543889200, 1)), y)
	x := expr.Select(expr.Le(a, num(0.7)), near, far)
	for range 2 {
		slope := expr.Mul(num(2/math.Sqrt(math.Pi)), fn("exp")(expr.Neg(expr.Mul(x, x))))
		x = expr.Sub(x, expr.Div(expr.Sub(fn("erf")(x), y), slope))
	}
	x = expr.Select(expr.Eq(a, num(1)), copysign(num(inf), y), x)
	return expr.Select(expr.Le(a, num(1)), x, num(math.NaN()))
}

// besselI is the modified Bessel function of the first kind and order 0 or 1,
// times exp(-|x|) if scaled: its power series, whose terms have one sign, and
// the asymptotic one for large arguments.
func besselI(x *expr.Expr, order int, scaled bool) *expr.Expr {
	num := func(f float64) *expr.Expr { return like(x, f) }
	limit, near, far := 15.0, 38, 12
	if x.DType == ir.Float64 {
		limit, near, far = 30, 80, 26
	}
	a := expr.Abs(x)
	y := expr.Mul(expr.Mul(a, a), num(0.25))
	series := num(1)
	for k := near; k > 0; k-- {
		series = expr.Add(num(1), expr.Mul(expr.Mul(y, num(1/float64(k*(k+order)))), series))
	}
	r := expr.Div(num(1), a)
	tail := num(1)
	for k := far; k > 0; k-- {
		odd := float64(2*k - 1)
		tail = expr.Add(num(1),
			expr.Mul(expr.Mul(r, num((odd*odd-float64(4*order*order))/float64(8*k))), tail))
	}
	tail = expr.Div(tail, expr.Sqrt(expr.Mul(num(2*math.Pi), a)))
	if order == 1 {
		series = expr.Mul(series, expr.Mul(a, num(0.5)))
	}
	small := expr.Le(a, num(limit))
	if scaled {
		series = expr.Mul(series, fn("exp")(expr.Neg(a)))
	} else {
		// exp(a/2) twice: exp(a) is infinite before the result is.
		half := fn("exp")(expr.Mul(a, num(0.5)))
		tail = expr.Mul(expr.Mul(tail, half), half)
		tail = expr.Select(expr.Eq(a, num(inf)), a, tail)
	}
	v := expr.Select(small, series, expr.Select(expr.IsNaN(x), x, tail))
	if order == 1 {
		v = expr.Select(expr.Lt(x, num(0)), expr.Neg(v), v)
	}
	return v
}

// recurrence is a family of orthogonal polynomials: that of degree 1, and each
// further one from the two before; k is the degree reached.
type recurrence struct {
	first func(x *expr.Expr) *expr.Expr
	next  func(x, k, last, before *expr.Expr) *expr.Expr
}

// polynomialOps evaluate polynomials of a degree that is an operand.
func polynomialOps() []entry {
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
	var ops []entry
	for _, k := range kinds {
		for _, form := range []string{"(Tensor x, Tensor n)", ".n_scalar(Tensor x, Scalar n)",
			".x_scalar(Scalar x, Tensor n)"} {
			ops = append(ops, polynomial("aten::special_"+k.name+form+" -> Tensor", k.from,
				k.recurrence))
		}
	}
	return ops
}

// iterated is an entry whose elements come of loops: body computes one of those of the operands.
func iterated(schema, operands string, body func(x []*expr.Expr) ([]loop.Stmt, *expr.Expr)) entry {
	names := strings.Fields(operands)
	e := &elementwise{schema: schema, names: names, loose: make([]bool, len(names)), rule: toFloat}
	return entry{
		Schema: schema, numbers: true, Infer: e.infer,
		Loops: func(c *Call) *loop.Func {
			dt, _ := e.dtypes(c)
			out := c.Outs[0]
			vars, at := indexVars(out.Sizes)
			operand := func(name string) *expr.Expr {
				if k := c.Operand(name); k >= 0 {
					return expr.Cast(dt, c.flatLoad(k, broadcastCoords(c.operands[k].Type,
						out.Sizes, at)))
				}
				return c.number(c.Arg(name), dt)
			}
			var stmts []loop.Stmt
			x := seq.Map(names, func(name string) *expr.Expr {
				local := newCounter("of_"+name, dt)
				stmts = append(stmts, local.fixed(operand(name)))
				return local.get()
			})
			computed, result := body(x)
			stmts = append(append(stmts, computed...), &loop.Store{Buf: 0,
				At: sym.RowMajor(out.Sizes, at), Value: expr.Cast(out.DType, result)})
			return &loop.Func{Name: "iterated", Bufs: c.buffers(), Body: nest(vars, stmts...)}
		},
	}
}

// polynomial is an entry that evaluates that of degree n at from(x); of a
// negative degree it is 0.
func polynomial(schema string, from func(*expr.Expr) *expr.Expr, rec recurrence) entry {
	return iterated(schema, "x n", func(operands []*expr.Expr) ([]loop.Stmt, *expr.Expr) {
		d := operands[0].DType
		num := func(f float64) *expr.Expr { return expr.Num(d, f) }
		x, n := newCounter("x", d), newCounter("n", d)
		last, before, value, degree := newCounter("last", d), newCounter("before", d),
			newCounter("value", d), newCounter("degree", d)
		result := expr.Select(expr.Lt(n.get(), num(0)), num(0),
			expr.Select(expr.Eq(n.get(), num(0)), num(1), last.get()))
		return []loop.Stmt{
			x.fixed(from(operands[0])), n.fixed(expr.Trunc(operands[1])),
			before.start(num(1)), last.start(rec.first(x.get())), degree.start(num(1)),
			value.start(num(0)),
			&loop.While{Cond: expr.Lt(degree.get(), expr.Min(n.get(), num(maxDegree))),
				Body: []loop.Stmt{
					value.set(rec.next(x.get(), degree.get(), last.get(), before.get())),
					before.set(last.get()), last.set(value.get()), degree.plus(num(1)),
				}},
		}, result
	})
}

// maxDegree ends the loop of a polynomial whatever is asked for.
const maxDegree = 1 << 16

// multigamma is the logarithm of the multivariate gamma function with dimension p.
func multigamma(b *Builder, c *Call) *ir.Value {
	x, p := c.Value("self"), must(c.Int("p"))
	c.errorIf(p < 1 || p > 1<<10, "dimension %d", p)
	if !x.Type.DType.IsFloat() {
		x = b.cast(x, defaultFloat)
	}
	var sum *ir.Value
	for j := range p {
		y := b.aten("lgamma", b.aten("sub.Scalar", x, float64(j)/2))
		if sum == nil {
			sum = y
		} else {
			sum = b.add(sum, y)
		}
	}
	return b.aten("add.Scalar", sum, float64(p*(p-1))/4*math.Log(math.Pi))
}
