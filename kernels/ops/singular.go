package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// singularOps are singular values and vectors of matrices, and what follows from them.
func singularOps() []entry {
	return []entry{
		jacobiSVD(),
		{
			Schema: "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, " +
				"str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				if c.Bool("compute_uv") {
					return b.svd(c, "A", c.Bool("full_matrices"))
				}
				none := b.aten("empty.memory_format", []int{0}, Kw("dtype", c.Tensor("A").DType))
				return []*ir.Value{none, b.singularValues(c, "A"), none}
			},
		},
		{
			Schema: "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor " +
				"U, Tensor S, Tensor Vh)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				return b.svd(c, "A", c.Bool("full_matrices"))
			},
		},
		{
			Schema: "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, " +
				"Tensor V)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				if !c.Bool("compute_uv") {
					t, m, n := c.matrices("self")
					none := func(n sym.Expr) *ir.Value {
						return b.aten("zeros", slices.Concat(t.Sizes[:t.Rank()-2], []sym.Expr{n, n}),
							Kw("dtype", t.DType))
					}
					return []*ir.Value{none(m), b.singularValues(c, "self"), none(n)}
				}
				vs := b.svd(c, "self", !c.Bool("some"))
				vs[2] = b.aten("transpose.int", vs[2], -2, -1)
				return vs
			},
		},
		{
			Schema: "aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				_, m, n := c.matrices("A")
				c.need(sym.Add(sym.Sub(m, n), sym.Int(1)))
				vs := b.svd(c, "A", false)
				scaled := b.mul(b.aten("unsqueeze", vs[1], -1), vs[2])
				return []*ir.Value{b.aten("matmul", vs[0], vs[2]),
					b.aten("matmul", b.aten("transpose.int", vs[2], -2, -1), scaled)}
			},
		},
		derived("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value { return b.singularValues(c, "A") }),
		derived("aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				zero, rtol := b.fixed(c, "self", "rcond")
				return b.pinv(c, zero, rtol, false)
			}),
		derived("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				zero, rtol := b.fixed(c, "self", "rcond")
				return b.pinv(c, zero, rtol, c.Bool("hermitian"))
			}),
		derived("aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> "+
			"Tensor",
			func(b *Builder, c *Call) *ir.Value {
				zero, rtol := b.fixed(c, "self", "rcond")
				return b.pinv(c, zero, rtol, c.Bool("hermitian"))
			}),
		derived("aten::linalg_pinv.atol_rtol_float(Tensor self, "+floatTolerances, pinvOf),
		derived("aten::linalg_pinv.atol_rtol_tensor(Tensor self, "+tensorTolerances, pinvOf),
		derived("aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				zero, atol := b.fixed(c, "self", "tol")
				return b.rank(c, "self", atol, zero)
			}),
		derived("aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) "+
			"-> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				zero, atol := b.fixed(c, "input", "tol")
				return b.rank(c, "input", atol, zero)
			}),
		derived("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", condition),
		derived("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", condition),
		derived("aten::linalg_matrix_rank.atol_rtol_float(Tensor self, "+floatTolerances,
			rankOf("self")),
		derived("aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, "+tensorTolerances,
			rankOf("input")),
	}
}

const (
	floatTolerances  = "*, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor"
	tensorTolerances = "*, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor"
)

func pinvOf(b *Builder, c *Call) *ir.Value {
	atol, rtol := b.tolerances(c, "self")
	return b.pinv(c, atol, rtol, c.Bool("hermitian"))
}

func rankOf(name string) func(*Builder, *Call) *ir.Value {
	return func(b *Builder, c *Call) *ir.Value {
		atol, rtol := b.tolerances(c, name)
		return b.rank(c, name, atol, rtol)
	}
}

// fixed is 0 and a number.
func (b *Builder) fixed(c *Call, name, number string) (zero, x *ir.Value) {
	t, _, _ := c.matrices(name)
	return b.scalar(0.0, t.DType), b.tolerance(c, number, t.DType)
}

// tolerance is a number, or one for each matrix.
func (b *Builder) tolerance(c *Call, arg string, d ir.DType) *ir.Value {
	if _, ok := c.Arg(arg).(ir.Ref); ok {
		return b.aten("unsqueeze", b.cast(c.Value(arg), d), -1)
	}
	return b.scalar(must(c.Float(arg)), d)
}

// tolerances are what is taken for 0: at most atol, or rtol times the largest.
func (b *Builder) tolerances(c *Call, name string) (atol, rtol *ir.Value) {
	t, m, n := c.matrices(name)
	d := t.DType
	atol = b.scalar(0.0, d)
	if c.Has("atol") {
		atol = b.tolerance(c, "atol", d)
	}
	if c.Has("rtol") {
		return atol, b.tolerance(c, "rtol", d)
	}
	size, ok := sym.Max(m, n).Const()
	c.errorIf(!ok, "no rtol for matrices in %s", sizesOf{t})
	usual := b.scalar(epsilon(d)*float64(size), d)
	return atol, b.where(b.aten("gt.Scalar", atol, 0), 0.0, usual, d)
}

// jacobiSVD is P·Vᵀ = A/largest, the largest element of A, where the columns of P are orthogonal,
// by one-sided Jacobi's method. values are their lengths times largest, which descend. The largest
// element of each column of V, the first of them, is positive.
//
//go:noinline
func jacobiSVD() entry {
	return entry{
		Schema: "etgen::jacobi_svd(Tensor self) -> (Tensor P, Tensor values, Tensor V)",
		Infer: func(c *Call) []ir.Type {
			t, _, n := c.matrices("self")
			lead := t.Sizes[:t.Rank()-2]
			return []ir.Type{ir.TensorOf(t.DType, t.Sizes...),
				ir.TensorOf(t.DType, append(lead[:len(lead):len(lead)], n)...),
				ir.TensorOf(t.DType, append(lead[:len(lead):len(lead)], n, n)...)}
		},
		Loops: func(c *Call) *loop.Func {
			t, m, n := c.matrices("self")
			d, batch := t.DType, t.Sizes[:t.Rank()-2]
			vars, at := indexVars(batch)
			bufs := c.buffers()
			num := func(x float64) *expr.Expr { return expr.Num(d, x) }
			a, product, vectors := matrixOf(3, t, batch, at), matrixOf(0, t, batch, at),
				matrixOf(2, c.Outs[2], batch, at)
			g, v := workMatrix(&bufs, "work", d, m, n), workMatrix(&bufs, "vectors", d, n, n)
			s := workMatrix(&bufs, "lengths", d, sym.Int(1), n)
			local := func(name string) counter { return newCounter(name, d) }
			big, all, xx, yy, xy := local("big"), local("squares"), local("xx"), local("yy"),
				local("xy")
			turned, sign, r := newCounter("turned", ir.Int32), local("sign"), newRotation(d)
			elements := func(x, y string, f func(i, j sym.Expr) []loop.Stmt) loop.Stmt {
				return each(x, m, func(i sym.Expr) []loop.Stmt {
					return []loop.Stmt{each(y, n, func(j sym.Expr) []loop.Stmt { return f(i, j) })}
				})
			}
			start := []loop.Stmt{big.start(num(0)), all.start(num(0)),
				elements("a", "b", func(i, j sym.Expr) []loop.Stmt {
					return []loop.Stmt{big.set(expr.Max(big.get(), expr.Abs(a.get(i, j))))}
				}),
				&loop.If{Cond: expr.Eq(big.get(), num(0)), Then: []loop.Stmt{big.set(num(1))}},
				elements("c", "d", func(i, j sym.Expr) []loop.Stmt {
					return []loop.Stmt{g.set(i, j, expr.Div(a.get(i, j), big.get())),
						all.plus(expr.Mul(g.get(i, j), g.get(i, j)))}
				}),
				v.setUnit(n)}
			// A column below the rounding errors of the whole is not worth a rotation, nor is an
			// angle below those of the product that tells it.
			eps := epsilon(d)
			pair := func(p, q sym.Expr) []loop.Stmt {
				dot := func(i, j, k sym.Expr) *expr.Expr { return expr.Mul(g.get(i, j), g.get(i, k)) }
				worth := expr.And(expr.Gt(expr.Min(xx.get(), yy.get()),
					expr.Mul(all.get(), num(eps*eps))), expr.Gt(expr.Abs(xy.get()),
					expr.Mul(expr.Mul(expr.Sqrt(xx.get()), expr.Sqrt(yy.get())),
						expr.Mul(expr.Sqrt(expr.Idx(d, m)), num(eps)))))
				turn := append([]loop.Stmt{turned.set(expr.Int(ir.Int32, 1))},
					r.start(d, expr.Sub(yy.get(), xx.get()), xy.get())...)
				turn = append(turn, r.turn("u", g, p, q, m), r.turn("w", v, p, q, n))
				return []loop.Stmt{xx.start(num(0)), yy.start(num(0)), xy.start(num(0)),
					each("e", m, func(i sym.Expr) []loop.Stmt {
						return []loop.Stmt{xx.plus(dot(i, p, p)), yy.plus(dot(i, q, q)),
							xy.plus(dot(i, p, q))}
					}),
					&loop.If{Cond: worth, Then: turn}}
			}
			length := func(j sym.Expr) *expr.Expr { return s.get(sym.Int(0), j) }
			lengths := each("f", n, func(j sym.Expr) []loop.Stmt {
				return []loop.Stmt{xx.start(num(0)),
					each("h", m, func(i sym.Expr) []loop.Stmt {
						return []loop.Stmt{xx.plus(expr.Mul(g.get(i, j), g.get(i, j)))}
					}),
					s.set(sym.Int(0), j, expr.Sqrt(xx.get()))}
			})
			place := func(j, to sym.Expr) []loop.Stmt {
				column := func(name string, rows sym.Expr, out, in matrix) loop.Stmt {
					return each(name, rows, func(i sym.Expr) []loop.Stmt {
						return []loop.Stmt{out.set(i, to, expr.Mul(in.get(i, j), sign.get()))}
					})
				}
				return append(startSign(sign, v, j, n), column("x", m, product, g),
					column("y", n, vectors, v), &loop.Store{Buf: 1,
						At:    sym.Add(sym.Mul(sym.RowMajor(batch, at), n), to),
						Value: expr.Mul(length(j), big.get())})
			}
			return &loop.Func{Name: "jacobi_svd", Bufs: bufs, Body: nest(vars, append(start,
				sweep(n, turned, pair), lengths, ordered(n, length, true, place))...)}
		},
	}
}

// jacobi is the result of jacobiSVD, values and columns of P no more than A has rows: the others
// are 0.
func (b *Builder) jacobi(c *Call, name string) (p, values, v *ir.Value, m, k sym.Expr) {
	_, m, n := c.matrices(name)
	k = sym.Min(m, n)
	vs := b.Ops("etgen.jacobi_svd.default", c.Value(name))
	return b.aten("narrow", vs[0], -1, 0, k), b.aten("narrow", vs[1], -1, 0, k), vs[2], m, k
}

func (b *Builder) singularValues(c *Call, name string) *ir.Value {
	_, values, _, _, _ := b.jacobi(c, name)
	return b.aten("contiguous", values)
}

// svd is U, S and Vᵀ. U is the Q of P's factors, which also has columns for what is 0, with the
// signs of R's diagonal.
func (b *Builder) svd(c *Call, name string, full bool) []*ir.Value {
	p, s, v, m, k := b.jacobi(c, name)
	vs := b.Ops("aten.geqrf.default", p)
	r := b.aten("diagonal", vs[0], 0, -2, -1)
	sign := b.where(b.aten("lt.Scalar", r, 0), -1.0, b.scalar(1.0, r.Type.DType), r.Type.DType)
	cols, vh := k, b.aten("transpose.int", v, -2, -1)
	if full {
		cols = m
		sign = b.aten("constant_pad_nd", sign, []sym.Expr{sym.Int(0), sym.Sub(m, k)}, 1.0)
	} else {
		vh = b.aten("narrow", vh, -2, 0, k)
	}
	signs := b.mul(b.unit(m, cols, r.Type.DType), b.aten("unsqueeze", sign, -2))
	return []*ir.Value{b.aten("ormqr", vs[0], vs[1], signs), b.aten("contiguous", s), vh}
}

// counted tells which of the sizes of values are more than atol, and than rtol times the largest.
func (b *Builder) counted(values, atol, rtol *ir.Value) *ir.Value {
	size := b.aten("abs", values)
	// of no values the largest is 0
	least := b.mul(b.aten("amax", b.aten("constant_pad_nd", size, []int{0, 1}), []int{-1}, true), rtol)
	return b.aten("gt.Tensor", size, b.aten("maximum", least, atol))
}

// rank counts the values that are not 0.
func (b *Builder) rank(c *Call, name string, atol, rtol *ir.Value) *ir.Value {
	op := "linalg_svdvals"
	if c.Bool("hermitian") {
		op = "linalg_eigvalsh"
	}
	return b.aten("sum.dim_IntList", b.counted(b.aten(op, c.Value(name)), atol, rtol), []int{-1})
}

// pinv is the pseudoinverse: values are inverted but for those that are 0.
func (b *Builder) pinv(c *Call, atol, rtol *ir.Value, hermitian bool) *ir.Value {
	var u, s, vh *ir.Value
	if hermitian {
		c.square("self")
		vs := b.Ops("aten._linalg_eigh.default", c.Value("self"))
		u, s, vh = vs[1], vs[0], b.aten("transpose.int", vs[1], -2, -1)
	} else {
		vs := b.svd(c, "self", false)
		u, s, vh = vs[0], vs[1], vs[2]
	}
	inverse := b.where(b.counted(s, atol, rtol), b.aten("reciprocal", s),
		b.scalar(0.0, s.Type.DType), s.Type.DType)
	return b.aten("matmul", b.mul(b.aten("transpose.int", vh, -2, -1),
		b.aten("unsqueeze", inverse, -2)), b.aten("transpose.int", u, -2, -1))
}

// condition is the largest singular value by the smallest, or the norm of a matrix times that of
// its inverse, which is infinite where there is none.
func condition(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	p, isNumber := c.Arg("p").(ir.Float)
	if n, ok := c.Arg("p").(ir.Int); ok {
		p, isNumber = ir.Float(n), true
	}
	if !c.Has("p") || isNumber && (p == 2 || p == -2) {
		s := b.singularValues(c, "self")
		most, least := b.aten("select.int", s, -1, 0), b.aten("select.int", s, -1, -1)
		if p == -2 {
			most, least = least, most
		}
		return b.div(most, least)
	}
	c.square("self")
	norm := func(v *ir.Value) *ir.Value {
		if isNumber {
			return b.aten("linalg_matrix_norm", v, c.Arg("p"))
		}
		return b.aten("linalg_matrix_norm.str_ord", v, c.Arg("p"))
	}
	y, info := b.inverse(x)
	product := b.mul(norm(x), norm(y))
	product = b.where(b.aten("eq.Scalar", info, 0), product, inf, product.Type.DType)
	return b.aten("nan_to_num", product, inf, inf, math.Inf(-1))
}
