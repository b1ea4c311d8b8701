package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// factorOps factor matrices by Cholesky and Householder, and solve with triangles.
func factorOps() []entry {
	return []entry{
		cholesky(),
		derived("aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				vs := b.Ops("aten.linalg_cholesky_ex.default", c.Value("self"),
					Kw("upper", c.Bool("upper")))
				b.assert(b.aten("all", b.aten("eq.Scalar", vs[1], 0)),
					"linalg.cholesky: the matrix is not positive-definite")
				return vs[0]
			}),
		derived("aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.choleskySolve(c.Value("input2"), c.Value("self"), c.Bool("upper"))
			}),
		derived("aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				t, n := c.square("self")
				unit := b.aten("expand", b.unit(n, n, t.DType), t.Sizes)
				return b.choleskySolve(c.Value("self"), unit, c.Bool("upper"))
			}),
		solveTriangular(),
		{
			Schema: "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, " +
				"bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				a := c.Value("A")
				x := b.triangular(a, c.Value("self"), c.Bool("upper"), c.Bool("transpose"),
					c.Bool("unitriangular"))
				lead := x.Type.Sizes[:x.Type.Rank()-2]
				whole := slices.Concat(lead, a.Type.Sizes[a.Type.Rank()-2:])
				a = b.aten("transpose.int", b.aten("expand", a, whole), -2, -1)
				a = b.aten("clone", a, Kw("memory_format", ir.ContiguousFormat))
				return []*ir.Value{x, b.aten("transpose.int", a, -2, -1)}
			},
		},
		geqrf(),
		reflect(),
		derived("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
			reflections("input", "tau")),
		derived("aten::orgqr(Tensor self, Tensor input2) -> Tensor", reflections("self", "input2")),
		{
			Schema: "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				t, m, n := c.matrices("A")
				mode := c.Str("mode")
				c.errorIf(mode != "reduced" && mode != "complete" && mode != "r", "mode %q", mode)
				vs := b.Ops("aten.geqrf.default", c.Value("A"))
				if mode == "complete" {
					return []*ir.Value{b.orthogonal(vs[0], vs[1], m), b.aten("triu", vs[0])}
				}
				k := sym.Min(m, n)
				r := b.aten("triu", b.aten("narrow", vs[0], -2, 0, k))
				if mode == "r" {
					return []*ir.Value{b.aten("empty.memory_format", []int{0},
						Kw("dtype", t.DType)), r}
				}
				return []*ir.Value{b.orthogonal(vs[0], vs[1], k), r}
			},
		},
		{
			Schema: "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, " +
				"bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
			Decompose: unpackLU,
		},
		{
			Schema: "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				vs := b.Ops("aten.linalg_lu_factor_ex.default", c.Value("A"),
					Kw("pivot", c.Bool("pivot")))
				return b.Ops("aten.lu_unpack.default", vs[0], vs[1])
			},
		},
		derived("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("linalg_lu_solve", c.Value("LU_data"), c.Value("LU_pivots"),
					c.Value("self"))
			}),
		derived("aten::logdet(Tensor self) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			vs := signedLogOf("self")(b, c)
			return b.where(b.aten("lt.Scalar", vs[0], 0), math.NaN(), vs[1], vs[1].Type.DType)
		}),
		derived("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x, k := c.Value("self"), int(must(c.Int("ind")))
				c.errorIf(k < 1 || k > x.Type.Rank(), "ind of %d", k)
				s := x.Type.Sizes
				y := b.aten("linalg_inv", b.reshaped(x, sym.Mul(s[:k]...), sym.Mul(s[k:]...)))
				return b.reshaped(y, slices.Concat(s[k:], s[:k])...)
			}),
		derived("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				a, y := c.Value("self"), c.Value("other")
				if c.Has("dims") {
					dims := must(c.Ints("dims"))
					last := make([]int, len(dims))
					for i := range last {
						last[i] = i - len(last)
					}
					a = b.aten("movedim.intlist", a, dims, last)
				}
				k := y.Type.Rank()
				c.errorIf(k > a.Type.Rank(), "systems of %s", sizesOf{a.Type, y.Type})
				s := a.Type.Sizes
				x := b.aten("linalg_solve", b.reshaped(a, y.Type.Numel(), sym.Mul(s[k:]...)),
					b.reshaped(y, y.Type.Numel()))
				return b.reshaped(x, s[k:]...)
			}),
	}
}

// unit is a matrix with ones on its diagonal.
func (b *Builder) unit(rows, cols sym.Expr, d ir.DType) *ir.Value {
	return b.cast(b.diagonalMask(rows, cols, 0), d)
}

// triangular is X of A·X = B, or of Aᵀ·X = B.
func (b *Builder) triangular(a, y *ir.Value, upper, transposed, unit bool) *ir.Value {
	if transposed {
		a, upper = b.aten("transpose.int", a, -2, -1), !upper
	}
	return b.aten("linalg_solve_triangular", a, y, Kw("upper", upper), Kw("unitriangular", unit))
}

// choleskySolve is X of L·Lᵀ·X = B, or of Uᵀ·U·X = B.
func (b *Builder) choleskySolve(l, y *ir.Value, upper bool) *ir.Value {
	return b.triangular(l, b.triangular(l, y, upper, upper, false), upper, !upper, false)
}

// orthogonal is the first cols columns of the product of reflections that geqrf gives.
func (b *Builder) orthogonal(a, tau *ir.Value, cols sym.Expr) *ir.Value {
	t := a.Type
	r := t.Rank()
	unit := b.unit(t.Sizes[r-2], cols, t.DType)
	unit = b.aten("expand", unit, slices.Concat(t.Sizes[:r-2], unit.Type.Sizes))
	return b.aten("ormqr", a, tau, unit)
}

// needReflections needs no more reflections than the rows and columns of a matrix.
func (c *Call) needReflections(rows, columns, n sym.Expr) {
	c.need(sym.Add(sym.Sub(sym.Min(rows, columns), n), sym.Int(1)))
}

func reflections(a, tau string) func(*Builder, *Call) *ir.Value {
	return func(b *Builder, c *Call) *ir.Value {
		_, m, n := c.matrices(a)
		if t := c.Tensor(tau); t.Rank() > 0 {
			c.needReflections(m, n, t.Sizes[t.Rank()-1])
		}
		return b.orthogonal(c.Value(a), c.Value(tau), n)
	}
}

// unpackLU gives the permutation by solving with its pivots alone; a part that is not asked for
// is empty.
func unpackLU(b *Builder, c *Call) []*ir.Value {
	t, m, n := c.matrices("LU_data")
	lu, pivots, d := c.Value("LU_data"), c.Value("LU_pivots"), t.DType
	k := sym.Min(m, n)
	none := func() *ir.Value { return b.aten("empty.memory_format", []int{0}, Kw("dtype", d)) }
	vs := []*ir.Value{none(), none(), none()}
	if c.Bool("unpack_pivots") {
		lead := t.Sizes[:t.Rank()-2]
		if differ(k, m) { // the other rows stay
			rest := b.aten("arange.start", sym.Add(k, sym.Int(1)), sym.Add(m, sym.Int(1)),
				Kw("dtype", ir.Int32))
			pivots = b.aten("cat", []*ir.Value{pivots, b.aten("expand", rest,
				slices.Concat(lead, rest.Type.Sizes))}, -1)
		}
		unit := b.unit(m, m, d)
		unit = b.aten("expand", unit, slices.Concat(lead, unit.Type.Sizes))
		vs[0] = b.aten("linalg_lu_solve", unit, pivots, unit, Kw("adjoint", true))
	}
	if c.Bool("unpack_data") {
		vs[1] = b.add(b.aten("tril", b.aten("narrow", lu, -1, 0, k), -1), b.unit(m, k, d))
		vs[2] = b.aten("triu", b.aten("narrow", lu, -2, 0, k))
	}
	for i := range vs {
		vs[i] = b.aten("contiguous", vs[i])
	}
	return vs
}

// A matrix is one of a batch in the row-major data of a buffer.
type matrix struct {
	buf          int
	d            ir.DType
	base, stride sym.Expr
	transposed   bool
}

// matrixOf is the matrix of t in buffer buf for the coordinates at of a batch, to which those of
// t broadcast.
func matrixOf(buf int, t ir.Type, batch, at []sym.Expr) matrix {
	r := t.Rank()
	lead := ir.Type{Sizes: t.Sizes[:r-2]}
	n := sym.RowMajor(lead.Sizes, broadcastCoords(lead, batch, at))
	return matrix{buf: buf, d: t.DType, stride: t.Sizes[r-1],
		base: sym.Mul(n, t.Sizes[r-2], t.Sizes[r-1])}
}

// flipped is m, transposed if by.
func (m matrix) flipped(by bool) matrix {
	m.transposed = m.transposed != by
	return m
}

func (m matrix) at(i, j sym.Expr) sym.Expr {
	if m.transposed {
		i, j = j, i
	}
	return sym.Add(m.base, sym.Mul(i, m.stride), j)
}

func (m matrix) get(i, j sym.Expr) *expr.Expr { return expr.At(m.buf, m.d, m.at(i, j)) }

func (m matrix) set(i, j sym.Expr, x *expr.Expr) loop.Stmt {
	return &loop.Store{Buf: m.buf, At: m.at(i, j), Value: x}
}

// each runs body for the numbers below n.
func each(name string, n sym.Expr, body func(i sym.Expr) []loop.Stmt) loop.Stmt {
	v := sym.NewVar(name, n)
	return &loop.For{Var: v, Extent: n, Body: body(v.Expr())}
}

// behind runs body for the numbers behind k and below n.
func behind(name string, k, n sym.Expr, body func(i sym.Expr) []loop.Stmt) loop.Stmt {
	first := sym.Add(k, sym.Int(1))
	return each(name, sym.Sub(n, first), func(i sym.Expr) []loop.Stmt {
		return body(sym.Add(first, i))
	})
}

// less takes x off the number.
func (c counter) less(x *expr.Expr) loop.Stmt { return c.set(expr.Sub(c.get(), x)) }

// plus adds x to the number.
func (c counter) plus(x *expr.Expr) loop.Stmt { return c.set(expr.Add(c.get(), x)) }

// cholesky is L·Lᵀ = A, or Uᵀ·U = A, of which only that triangle is read. info is the first row,
// from 1, whose pivot is not positive; what comes behind it means nothing.
//
//go:noinline
func cholesky() entry {
	return entry{
		Schema: "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) " +
			"-> (Tensor L, Tensor info)",
		Infer: func(c *Call) []ir.Type {
			t, _ := c.square("self")
			return []ir.Type{columnMajor(t.DType, t.Sizes...),
				ir.TensorOf(ir.Int32, t.Sizes[:t.Rank()-2]...)}
		},
		Loops: func(c *Call) *loop.Func {
			t, n := c.square("self")
			batch := t.Sizes[:t.Rank()-2]
			vars, at := indexVars(batch)
			upper := c.Bool("upper")
			l, a := matrixOf(0, t, batch, at).flipped(upper), matrixOf(2, t, batch, at).flipped(upper)
			info, s, below := newCounter("info", ir.Int32), newCounter("square", t.DType),
				newCounter("rest", t.DType)
			root := newCounter("root", t.DType)
			zero := expr.Num(t.DType, 0)
			rest := func(s counter, r, col sym.Expr, name string) []loop.Stmt {
				return []loop.Stmt{s.start(a.get(r, col)),
					each(name, col, func(k sym.Expr) []loop.Stmt {
						return []loop.Stmt{s.less(expr.Mul(l.get(r, k), l.get(col, k)))}
					})}
			}
			column := func(col sym.Expr) []loop.Stmt {
				first := &loop.If{Cond: expr.Eq(info.get(), expr.Int(ir.Int32, 0)),
					Then: []loop.Stmt{info.set(expr.Idx(ir.Int32, sym.Add(col, sym.Int(1))))}}
				return append(rest(s, col, col, "t"),
					root.start(expr.Num(t.DType, 1)),
					&loop.If{Cond: expr.Gt(s.get(), zero),
						Then: []loop.Stmt{root.set(expr.Sqrt(s.get()))}, Else: []loop.Stmt{first}},
					each("u", col, func(r sym.Expr) []loop.Stmt {
						return []loop.Stmt{l.set(r, col, zero)}
					}),
					l.set(col, col, root.get()),
					behind("v", col, n, func(r sym.Expr) []loop.Stmt {
						return append(rest(below, r, col, "w"),
							l.set(r, col, expr.Div(below.get(), root.get())))
					}))
			}
			return &loop.Func{Name: "cholesky", Bufs: c.buffers(), Body: nest(vars,
				info.start(expr.Int(ir.Int32, 0)), each("s", n, column),
				&loop.Store{Buf: 1, At: sym.RowMajor(batch, at), Value: info.get()})}
		},
	}
}

// solveTriangular is X of A·X = B, or of X·A = B, where A is a triangle. Batches are broadcast.
//
//go:noinline
func solveTriangular() entry {
	batchOf := func(c *Call) (batch []sym.Expr, n, width sym.Expr) {
		a, n := c.square("self")
		y, rows, cols := c.matrices("B")
		batch, ok := batchSizes(a, y)
		if !c.Bool("left") {
			rows, cols = cols, rows
		}
		c.errorIf(!ok || a.DType != y.DType || differ(rows, n), "systems of %s", sizesOf{a, y})
		return batch, n, cols
	}
	return entry{
		Schema: "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, " +
			"bool unitriangular=False) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			batch, _, _ := batchOf(c)
			y := c.Tensor("B")
			return one(columnMajor(y.DType, slices.Concat(batch, y.Sizes[y.Rank()-2:])...))
		},
		Loops: func(c *Call) *loop.Func {
			batch, n, width := batchOf(c)
			vars, at := indexVars(batch)
			right := !c.Bool("left") // then it is Aᵀ·Xᵀ = Bᵀ
			x := matrixOf(0, c.Outs[0], batch, at).flipped(right)
			a := matrixOf(1, c.Tensor("self"), batch, at).flipped(right)
			y := matrixOf(1+c.Operand("B"), c.Tensor("B"), batch, at).flipped(right)
			upper := c.Bool("upper") != right
			s := newCounter("rest", x.d)
			return &loop.Func{Name: "solve_triangular", Bufs: c.buffers(), Body: nest(vars,
				each("u", width, func(w sym.Expr) []loop.Stmt {
					return []loop.Stmt{each("s", n, func(k sym.Expr) []loop.Stmt {
						row, from := k, sym.Int(0)
						if upper { // counts from the last
							row = sym.Sub(sym.Sub(n, sym.Int(1)), k)
							from = sym.Add(row, sym.Int(1))
						}
						body := []loop.Stmt{s.start(y.get(row, w)),
							each("t", k, func(i sym.Expr) []loop.Stmt {
								i = sym.Add(from, i)
								return []loop.Stmt{s.less(expr.Mul(a.get(row, i), x.get(i, w)))}
							})}
						if !c.Bool("unitriangular") {
							body = append(body, s.set(expr.Div(s.get(), a.get(row, row))))
						}
						return append(body, x.set(row, w, s.get()))
					})}
				}))}
		},
	}
}

// geqrf is Q·R = A: R on and above the diagonal, below it the vectors of the reflections of which
// Q is the product, but for their first element, which is 1; tau are their factors. The signs are
// LAPACK's.
//
//go:noinline
func geqrf() entry {
	return entry{
		Schema: "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)",
		Infer: func(c *Call) []ir.Type {
			t, m, n := c.matrices("self")
			return []ir.Type{columnMajor(t.DType, t.Sizes...), ir.TensorOf(t.DType,
				append(slices.Clone(t.Sizes[:t.Rank()-2]), sym.Min(m, n))...)}
		},
		Loops: func(c *Call) *loop.Func {
			t, m, n := c.matrices("self")
			batch := t.Sizes[:t.Rank()-2]
			vars, at := indexVars(batch)
			steps := sym.Min(m, n)
			bufs := c.buffers()
			bufs[0].Role, bufs[0].Init = loop.InOut, 2
			a := matrixOf(0, t, batch, at)
			num := func(x float64) *expr.Expr { return expr.Num(t.DType, x) }
			local := func(name string) counter { return newCounter(name, t.DType) }
			size, big, beta, tau, dot := local("size"), local("largest"), local("beta"),
				local("tau"), local("dot")
			head := local("head")
			step := func(k sym.Expr) []loop.Stmt {
				below := func(name string, f func(i sym.Expr) loop.Stmt) loop.Stmt {
					return behind(name, k, m, func(i sym.Expr) []loop.Stmt { return []loop.Stmt{f(i)} })
				}
				// Elements are scaled by the largest one, so that no square leaves the range.
				scaled := func(i sym.Expr) *expr.Expr { return expr.Div(a.get(i, k), big.get()) }
				reflect := []loop.Stmt{
					head.fixed(a.get(k, k)),
					big.set(expr.Max(big.get(), expr.Abs(head.get()))),
					size.start(expr.Mul(scaled(k), scaled(k))),
					below("t", func(i sym.Expr) loop.Stmt {
						return size.plus(expr.Mul(scaled(i), scaled(i)))
					}),
					size.set(expr.Mul(big.get(), expr.Sqrt(size.get()))),
					beta.fixed(expr.Select(expr.Lt(head.get(), num(0)), size.get(),
						expr.Neg(size.get()))),
					tau.set(expr.Div(expr.Sub(beta.get(), head.get()), beta.get())),
					below("u", func(i sym.Expr) loop.Stmt {
						return a.set(i, k, expr.Div(a.get(i, k), expr.Sub(head.get(), beta.get())))
					}),
					a.set(k, k, beta.get()),
					behind("v", k, n, func(j sym.Expr) []loop.Stmt {
						return reflectColumn(a, a, k, j, m, tau, dot)
					}),
				}
				return []loop.Stmt{
					big.start(num(0)), tau.start(num(0)),
					below("w", func(i sym.Expr) loop.Stmt {
						return big.set(expr.Max(big.get(), expr.Abs(a.get(i, k))))
					}),
					&loop.If{Cond: expr.Ne(big.get(), num(0)), Then: reflect},
					&loop.Store{Buf: 1, At: sym.Add(sym.Mul(sym.RowMajor(batch, at), steps), k),
						Value: tau.get()},
				}
			}
			return &loop.Func{Name: "geqrf", Bufs: bufs, Body: nest(vars, each("s", steps, step))}
		},
	}
}

// reflectColumn applies reflection k, whose vector is below the diagonal of v, to column j of x.
func reflectColumn(v, x matrix, k, j, m sym.Expr, tau, dot counter) []loop.Stmt {
	return []loop.Stmt{
		dot.start(x.get(k, j)),
		behind("x", k, m, func(i sym.Expr) []loop.Stmt {
			return []loop.Stmt{dot.plus(expr.Mul(v.get(i, k), x.get(i, j)))}
		}),
		dot.set(expr.Mul(dot.get(), tau.get())),
		x.set(k, j, expr.Sub(x.get(k, j), dot.get())),
		behind("y", k, m, func(i sym.Expr) []loop.Stmt {
			return []loop.Stmt{x.set(i, j, expr.Sub(x.get(i, j), expr.Mul(dot.get(), v.get(i, k))))}
		}),
	}
}

// reflect multiplies matrices with the Q, or the Qᵀ, that geqrf gives, from the left or right.
//
//go:noinline
func reflect() entry {
	// The product from the right is that of transposed matrices from the left.
	setup := func(c *Call) (a, x ir.Type, m, width, steps sym.Expr) {
		a, m, n := c.matrices("self")
		x, rows, cols := c.matrices("input3")
		tau := c.Tensor("input2")
		if !c.Bool("left") {
			rows, cols = cols, rows
		}
		r := a.Rank()
		bad := a.DType != x.DType || tau.DType != a.DType || x.Rank() != r || tau.Rank() != r-1 ||
			differ(rows, m)
		c.errorIf(bad || !sameSizes(a.Sizes[:r-2], x.Sizes[:r-2]) ||
			!sameSizes(a.Sizes[:r-2], tau.Sizes[:r-2]) ||
			sym.Less(sym.Min(m, n), tau.Sizes[r-2]), "reflections and matrices of %s",
			sizesOf{a, tau, x})
		c.needReflections(m, n, tau.Sizes[r-2])
		return a, x, m, cols, tau.Sizes[r-2]
	}
	return entry{
		Schema: "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, " +
			"bool transpose=False) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			_, x, _, _, _ := setup(c)
			return one(columnMajor(x.DType, x.Sizes...))
		},
		Loops: func(c *Call) *loop.Func {
			at, xt, m, width, steps := setup(c)
			batch := at.Sizes[:at.Rank()-2]
			vars, o := indexVars(batch)
			bufs := c.buffers()
			bufs[0].Role, bufs[0].Init = loop.InOut, 1+c.Operand("input3")
			right := !c.Bool("left")
			x, v := matrixOf(0, xt, batch, o).flipped(right), matrixOf(1+c.Operand("self"), at, batch, o)
			tau, dot := newCounter("tau", xt.DType), newCounter("dot", xt.DType)
			return &loop.Func{Name: "ormqr", Bufs: bufs, Body: nest(vars,
				each("s", steps, func(k sym.Expr) []loop.Stmt {
					if right == c.Bool("transpose") { // the last reflection comes first
						k = sym.Sub(sym.Sub(steps, sym.Int(1)), k)
					}
					return []loop.Stmt{
						tau.fixed(expr.At(1+c.Operand("input2"), xt.DType,
							sym.Add(sym.Mul(sym.RowMajor(batch, o), steps), k))),
						each("t", width, func(j sym.Expr) []loop.Stmt {
							return reflectColumn(v, x, k, j, m, tau, dot)
						}),
					}
				}))}
		},
	}
}
