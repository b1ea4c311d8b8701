package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// linalgOps are inverses, solutions and determinants. A matrix without an
// inverse is an error, as in PyTorch, but for the _ex forms, which tell in
// their last result.
func linalgOps() []entry {
	many := func(schema string,
		f func(*Builder, *Call) []*ir.Value) entry {
		return entry{Schema: schema, Decompose: f}
	}
	return []entry{
		many("aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
			func(b *Builder, c *Call) []*ir.Value {
				return b.Ops("aten.linalg_lu_factor_ex.default", c.Value("A"),
					Kw("pivot", c.Bool("pivot")))[:2]
			}),
		many("aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, "+
			"Tensor pivots, Tensor info)",
			func(b *Builder, c *Call) []*ir.Value {
				return b.Ops("aten.linalg_lu_factor_ex.default", c.Value("self"),
					Kw("pivot", c.Bool("pivot")))
			}),
		many("aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, "+
			"Tensor info)", func(b *Builder, c *Call) []*ir.Value {
			x, info := b.inverse(c.Value("A"))
			return []*ir.Value{x, info}
		}),
		derived("aten::linalg_inv(Tensor A) -> Tensor", invert("A")),
		derived("aten::inverse(Tensor self) -> Tensor", invert("self")),
		many("aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "+
			"-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", solveSystem),
		many("aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "+
			"(Tensor result, Tensor info)", func(b *Builder, c *Call) []*ir.Value {
			vs := solveSystem(b, c)
			return []*ir.Value{vs[0], vs[3]}
		}),
		derived("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				vs := solveSystem(b, c)
				b.whole(vs[3], "linalg.solve")
				return vs[0]
			}),
		many("aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
			func(b *Builder, c *Call) []*ir.Value {
				lu, pivots, _ := b.factors(c.Value("A"))
				return []*ir.Value{b.determinant(lu, pivots), lu, pivots}
			}),
		derived("aten::linalg_det(Tensor A) -> Tensor", determinantOf("A")),
		derived("aten::det(Tensor self) -> Tensor", determinantOf("self")),
		many("aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, "+
			"Tensor pivots)", func(b *Builder, c *Call) []*ir.Value {
			lu, pivots, _ := b.factors(c.Value("A"))
			return append(b.signedLog(lu, pivots), lu, pivots)
		}),
		many("aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
			signedLogOf("A")),
		many("aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
			signedLogOf("self")),
	}
}

// factors are those of luFactor.
func (b *Builder) factors(a *ir.Value) (lu, pivots, info *ir.Value) {
	vs := b.Ops("aten.linalg_lu_factor_ex.default", a)
	return vs[0], vs[1], vs[2]
}

// whole asserts that no matrix was singular.
func (b *Builder) whole(info *ir.Value, name string) {
	b.assert(b.aten("all", b.aten("eq.Scalar", info, 0)), name+": the matrix is singular")
}

func (b *Builder) inverse(a *ir.Value) (x, info *ir.Value) {
	lu, pivots, info := b.factors(a)
	t := a.Type
	n := t.Sizes[t.Rank()-1]
	i := b.aten("arange", n)
	unit := b.cast(b.aten("eq.Tensor", b.aten("unsqueeze", i, 1), i), t.DType)
	return b.aten("linalg_lu_solve", lu, pivots, b.aten("expand", unit, t.Sizes)), info
}

func invert(name string) func(*Builder, *Call) *ir.Value {
	return func(b *Builder, c *Call) *ir.Value {
		x, info := b.inverse(c.Value(name))
		b.whole(info, "linalg.inv")
		return x
	}
}

// solveSystem returns what _linalg_solve_ex does. B are vectors if it has one
// dimension, or all of A but the last; batches are broadcast.
func solveSystem(b *Builder, c *Call) []*ir.Value {
	a, x := c.Value("A"), c.Value("B")
	t, n := c.square("A")
	r := t.Rank()
	left := c.Bool("left")
	vector := x.Type.Rank() == 1 || x.Type.Rank() == r-1 && sameSizes(x.Type.Sizes, t.Sizes[:r-1])
	c.errorIf(!left && vector || x.Type.Rank() < 1 || !vector && x.Type.Rank() < 2, "systems of %s",
		sizesOf{t, x.Type})
	if vector {
		x = b.aten("unsqueeze", x, -1)
	}
	lu, pivots, info := b.factors(a)
	q := x.Type.Rank()
	batch, ok := Broadcast(ir.Type{Sizes: t.Sizes[:r-2]}, ir.Type{Sizes: x.Type.Sizes[:q-2]})
	c.errorIf(!ok, "systems of %s", sizesOf{t, x.Type})
	wide := func(v *ir.Value, tail ...sym.Expr) *ir.Value {
		return b.aten("expand", v, slices.Concat(batch, tail))
	}
	y := b.aten("linalg_lu_solve", wide(lu, n, n), wide(pivots, n),
		wide(x, x.Type.Sizes[q-2:]...), Kw("left", left))
	if vector {
		y = b.aten("squeeze.dim", y, -1)
	}
	return []*ir.Value{y, lu, pivots, info}
}

// swaps is -1 for each row that changed places, else 1.
func (b *Builder) swaps(pivots *ir.Value, d ir.DType) *ir.Value {
	n := pivots.Type.Sizes[pivots.Type.Rank()-1]
	moved := b.aten("ne.Tensor", pivots, b.aten("arange.start", 1, sym.Add(n, sym.Int(1))))
	return b.aten("prod.dim_int", b.where(moved, -1.0, b.scalar(1.0, d), d), -1)
}

func (b *Builder) determinant(lu, pivots *ir.Value) *ir.Value {
	diagonal := b.aten("diagonal", lu, 0, -2, -1)
	return b.mul(b.aten("prod.dim_int", diagonal, -1), b.swaps(pivots, lu.Type.DType))
}

func determinantOf(name string) func(*Builder, *Call) *ir.Value {
	return func(b *Builder, c *Call) *ir.Value {
		lu, pivots, _ := b.factors(c.Value(name))
		return b.determinant(lu, pivots)
	}
}

// signedLog is the sign of the determinant and the logarithm of its size.
func (b *Builder) signedLog(lu, pivots *ir.Value) []*ir.Value {
	diagonal := b.aten("diagonal", lu, 0, -2, -1)
	sign := b.mul(b.aten("prod.dim_int", b.aten("sign", diagonal), -1),
		b.swaps(pivots, lu.Type.DType))
	log := b.aten("log", b.aten("abs", diagonal))
	return []*ir.Value{sign, b.aten("sum.dim_IntList", log, []int{-1})}
}

func signedLogOf(name string) func(*Builder, *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		lu, pivots, _ := b.factors(c.Value(name))
		return b.signedLog(lu, pivots)
	}
}

// luOps factor matrices and solve with the factors; what else needs an
// inverse or a determinant is said in these.
func luOps() []entry {
	return []entry{luFactor(), luSolve(),
		// checkErrors is what PyTorch puts behind an _ex form.
		{
			Schema: "aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
			Infer:  func(*Call) []ir.Type { return nil },
			Effect: true,
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				b.whole(c.Value("info"), c.Str("api_name"))
				return nil
			},
		}}
}

// matrices returns the type of argument name, which has to be matrices of
// floats, and their rows and columns.
func (c *Call) matrices(name string) (t ir.Type, m, n sym.Expr) {
	t = c.Tensor(name)
	r := t.Rank()
	c.errorIf(r < 2 || t.DType != ir.Float32 && t.DType != ir.Float64,
		"%s in %s are no matrices of float32 or float64", t.DType, sizesOf{t})
	return t, t.Sizes[r-2], t.Sizes[r-1]
}

// square is matrices with as many rows as columns.
func (c *Call) square(name string) (t ir.Type, n sym.Expr) {
	t, m, n := c.matrices(name)
	c.errorIf(differ(m, n), "matrices in %s are not square", sizesOf{t})
	return t, n
}

// columnMajor returns matrices as LAPACK has them.
func columnMajor(d ir.DType, sizes ...sym.Expr) ir.Type {
	r := len(sizes)
	transposed := slices.Clone(sizes)
	transposed[r-1], transposed[r-2] = sizes[r-2], sizes[r-1]
	t := ir.TensorOf(d, sizes...)
	t.Strides = ir.Contiguous(transposed)
	t.Strides[r-1], t.Strides[r-2] = t.Strides[r-2], t.Strides[r-1]
	return t
}

// luFactor is L·U = P·A: L below the diagonal, which is 1, U on and above it;
// pivots are the rows, from 1, that each row changed places with; info the
// first diagonal element, from 1, that is 0.
//
//go:noinline
func luFactor() entry {
	return entry{
		Schema: "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> " +
			"(Tensor LU, Tensor pivots, Tensor info)",
		Infer: func(c *Call) []ir.Type {
			t, m, n := c.matrices("A")
			c.errorIf(!c.Bool("pivot"), "without pivots")
			r := t.Rank()
			return []ir.Type{columnMajor(t.DType, t.Sizes...), ir.TensorOf(ir.Int32,
				append(slices.Clone(t.Sizes[:r-2]), sym.Min(m, n))...), ir.TensorOf(ir.Int32,
				t.Sizes[:r-2]...)}
		},
		Loops: func(c *Call) *loop.Func {
			t, m, n := c.matrices("A")
			steps := sym.Min(m, n)
			bufs := c.buffers()
			bufs[0].Role, bufs[0].Init = loop.InOut, 3
			batch := sym.Mul(t.Sizes[:t.Rank()-2]...)
			one := sym.Int(1)
			o, k := sym.NewVar("o", batch), sym.NewVar("k", steps)
			behind := func(n sym.Expr) sym.Expr { return sym.Sub(n, sym.Add(k.Expr(), one)) }
			at := func(i, j sym.Expr) sym.Expr {
				return sym.Add(sym.Mul(sym.Add(sym.Mul(o.Expr(), m), i), n), j)
			}
			get := func(i, j sym.Expr) *expr.Expr { return expr.At(0, t.DType, at(i, j)) }
			set := func(i, j sym.Expr, x *expr.Expr) loop.Stmt {
				return &loop.Store{Buf: 0, At: at(i, j), Value: x}
			}
			after := func(name string, n sym.Expr) (*sym.Symbol, sym.Expr) {
				v := sym.NewVar(name, behind(n))
				return v, sym.Add(k.Expr(), sym.Add(one, v.Expr()))
			}
			row, info := newCounter("row", ir.Int32), newCounter("singular", ir.Int32)
			best := &expr.Var{Name: "best", DType: t.DType}
			factor := &expr.Var{Name: "factor", DType: t.DType}
			held := &expr.Var{Name: "held", DType: t.DType}
			s, si := after("s", m)
			p, pi := index("p", expr.Cast(ir.Int64, row.get()), m)
			j := sym.NewVar("j", n)
			i, ii := after("i", m)
			u, ui := after("u", n)
			kn := expr.Idx(ir.Int32, sym.Add(k.Expr(), one))
			eliminate := []loop.Stmt{
				p,
				&loop.For{Var: j, Extent: n, Body: []loop.Stmt{
					&loop.Let{Var: held, Value: get(k.Expr(), j.Expr())},
					set(k.Expr(), j.Expr(), get(pi, j.Expr())),
					set(pi, j.Expr(), expr.Get(held)),
				}},
				&loop.For{Var: i, Extent: behind(m), Body: []loop.Stmt{
					&loop.Let{Var: factor, Value: expr.Div(get(ii, k.Expr()),
						get(k.Expr(), k.Expr()))},
					set(ii, k.Expr(), expr.Get(factor)),
					&loop.For{Var: u, Extent: behind(n), Body: []loop.Stmt{
						set(ii, ui, expr.Sub(get(ii, ui), expr.Mul(expr.Get(factor),
							get(k.Expr(), ui)))),
					}},
				}},
			}
			return &loop.Func{Name: "lu_factor", Bufs: bufs,
				Body: []loop.Stmt{&loop.For{Var: o, Extent: batch, Body: []loop.Stmt{
					info.start(expr.Int(ir.Int32, 0)),
					&loop.For{Var: k, Extent: steps, Body: []loop.Stmt{
						row.start(expr.Idx(ir.Int32, k.Expr())),
						&loop.Let{Var: best, Value: expr.Abs(get(k.Expr(), k.Expr())),
							Mutable: true},
						&loop.For{Var: s, Extent: behind(m), Body: []loop.Stmt{
							&loop.If{Cond: expr.Gt(expr.Abs(get(si, k.Expr())), expr.Get(best)),
								Then: []loop.Stmt{
									&loop.Assign{Var: best, Value: expr.Abs(get(si, k.Expr()))},
									row.set(expr.Idx(ir.Int32, si)),
								}},
						}},
						&loop.Store{Buf: 1, At: sym.Add(sym.Mul(o.Expr(), steps), k.Expr()),
							Value: expr.Add(row.get(), expr.Int(ir.Int32, 1))},
						&loop.If{Cond: expr.Ne(expr.Get(best), expr.Num(t.DType, 0)),
							Then: eliminate,
							Else: []loop.Stmt{
								&loop.If{Cond: expr.Eq(info.get(), expr.Int(ir.Int32, 0)),
									Then: []loop.Stmt{info.set(kn)}},
							}},
					}},
					&loop.Store{Buf: 2, At: o.Expr(), Value: info.get()},
				}}}}
		},
	}
}

// luSolve is X of A·X = B, from the factors of A, or of X·A = B; adjoint means
// Aᵀ in place of A. The batches are the same.
//
//go:noinline
func luSolve() entry {
	return entry{
		Schema: "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, " +
			"bool adjoint=False) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t, n := c.square("LU")
			x, p, r := c.Tensor("B"), c.Tensor("pivots"), t.Rank()
			rows := r - 2
			if !c.Bool("left") {
				rows = r - 1
			}
			c.errorIf(x.DType != t.DType || p.DType != ir.Int32 || x.Rank() != r ||
				!sameSizes(x.Sizes[:r-2], t.Sizes[:r-2]) || differ(x.Sizes[rows], n) ||
				!sameSizes(p.Sizes, t.Sizes[:r-1]),
				"factors, pivots and right sides of %s, or of another dtype",
				sizesOf{t, p, x})
			if !c.Bool("left") {
				return []ir.Type{ir.TensorOf(t.DType, x.Sizes...)}
			}
			return []ir.Type{columnMajor(t.DType, x.Sizes...)}
		},
		Loops: func(c *Call) *loop.Func {
			t, n := c.square("LU")
			r := t.Rank()
			left := c.Bool("left")
			transposed := left == c.Bool("adjoint") // X·A = B is Aᵀ·Xᵀ = Bᵀ
			batch, width := sym.Mul(t.Sizes[:r-2]...), c.Outs[0].Sizes[r-1]
			if !left {
				width = c.Outs[0].Sizes[r-2]
			}
			bufs := c.buffers()
			bufs[0].Role, bufs[0].Init = loop.InOut, 3
			o, w := sym.NewVar("o", batch), sym.NewVar("w", width)
			one := sym.Int(1)
			rowAt := func(i sym.Expr) sym.Expr {
				if !left {
					return sym.Add(sym.Mul(sym.Add(sym.Mul(o.Expr(), width), w.Expr()), n), i)
				}
				return sym.Add(sym.Mul(sym.Add(sym.Mul(o.Expr(), n), i), width), w.Expr())
			}
			x := func(i sym.Expr) *expr.Expr { return expr.At(0, t.DType, rowAt(i)) }
			set := func(i sym.Expr, v *expr.Expr) loop.Stmt {
				return &loop.Store{Buf: 0, At: rowAt(i), Value: v}
			}
			lu := func(i, j sym.Expr) *expr.Expr {
				if transposed {
					i, j = j, i
				}
				return expr.At(1, t.DType, sym.Add(sym.Mul(sym.Add(sym.Mul(o.Expr(), n), i), n), j))
			}
			held := &expr.Var{Name: "held", DType: t.DType}
			sum := &expr.Var{Name: "sum", DType: t.DType}
			less := func(i, j sym.Expr) loop.Stmt {
				return &loop.Assign{Var: sum, Value: expr.Sub(expr.Get(sum),
					expr.Mul(lu(i, j), x(j)))}
			}
			i, b := sym.NewVar("i", n), sym.NewVar("b", n)
			j, q := sym.NewVar("j", i.Expr()), sym.NewVar("q", b.Expr())
			// counts from the last
			last := func(v *sym.Symbol) sym.Expr { return sym.Sub(sym.Sub(n, one), v.Expr()) }
			k := sym.NewVar("k", n)
			kn := k.Expr()
			if transposed {
				kn = last(k)
			}
			pivot := expr.Sub(expr.Cast(ir.Int64, expr.At(2, ir.Int32, sym.Add(sym.Mul(o.Expr(), n),
				kn))), expr.Int(ir.Int64, 1))
			pi, p := clampedAt("p", pivot, n, false)
			swap := &loop.For{Var: k, Extent: n, Body: []loop.Stmt{p, &loop.Let{Var: held,
				Value: x(kn)}, set(kn, x(pi)), set(pi, expr.Get(held))}}
			// L has ones on its diagonal, U has not; of the transposed matrix U comes first.
			divided := func(row sym.Expr, by bool) *expr.Expr {
				if by {
					return expr.Div(expr.Get(sum), lu(row, row))
				}
				return expr.Get(sum)
			}
			down := &loop.For{Var: i, Extent: n, Body: []loop.Stmt{
				&loop.Let{Var: sum, Value: x(i.Expr()), Mutable: true},
				&loop.For{Var: j, Extent: i.Expr(), Body: []loop.Stmt{less(i.Expr(), j.Expr())}},
				set(i.Expr(), divided(i.Expr(), transposed)),
			}}
			up := &loop.For{Var: b, Extent: n, Body: []loop.Stmt{
				&loop.Let{Var: sum, Value: x(last(b)), Mutable: true},
				&loop.For{Var: q, Extent: b.Expr(),
					Body: []loop.Stmt{less(last(b), sym.Add(last(b), sym.Add(one, q.Expr())))}},
				set(last(b), divided(last(b), !transposed)),
			}}
			body := []loop.Stmt{swap, down, up}
			if transposed {
				body = []loop.Stmt{down, up, swap}
			}
			return &loop.Func{Name: "lu_solve", Bufs: bufs, Body: []loop.Stmt{
				&loop.For{Var: o, Extent: batch, Body: []loop.Stmt{&loop.For{Var: w, Extent: width,
					Body: body}}},
			}}
		},
	}
}

// linalgNormOps are norms in terms of linalg_vector_norm, or of singular values.
func linalgNormOps() []entry {
	const tail = "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
	return []entry{
		derived("aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, "+tail,
			linalgNorm),
		derived("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, "+tail,
			linalgNorm),
		derived("aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], "+tail,
			matrixNorm),
		derived("aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", "+
			"int[] dim=[-2, -1], "+tail, matrixNorm),
		derived("aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("linalg_matrix_norm.str_ord", c.Value("self"), "nuc", []int{-2, -1},
					c.Bool("keepdim"))
			}),
		derived("aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("linalg_matrix_norm.str_ord", c.Value("self"), "nuc", c.Arg("dim"),
					c.Bool("keepdim"))
			}),
	}
}

// linalgNorm is the norm of matrices if ord is given for two dimensions, else that of
// vectors.
func linalgNorm(b *Builder, c *Call) *ir.Value {
	ord := c.Arg("ord")
	_, word := ord.(ir.Str)
	over := []int64{0, 1}[:min(2, c.Tensor("self").Rank())]
	dims := c.Tensor("self").Rank()
	if c.Has("dim") {
		over = must(c.Ints("dim"))
		dims = len(over)
	}
	switch {
	case !c.Has("ord"):
		ord = ir.Int(2)
	case dims == 2:
		return matrixNormOver(b, c, over)
	case dims != 1 || word:
		panic(c.Errorf("norm %v of %d dimensions", ord, dims))
	}
	return b.aten("linalg_vector_norm", c.Arg("self"), ord, c.Arg("dim"),
		c.Bool("keepdim"), Kw("dtype", c.Arg("dtype")))
}

func matrixNorm(b *Builder, c *Call) *ir.Value {
	over := must(c.Ints("dim"))
	c.errorIf(len(over) != 2, "a matrix with %d dimensions", len(over))
	return matrixNormOver(b, c, over)
}

// matrixNormOver is the norm of the matrices that two dimensions of self are.
func matrixNormOver(b *Builder, c *Call, over []int64) *ir.Value {
	rows := c.wrapDim(over[0], c.Tensor("self").Rank())
	columns := c.wrapDim(over[1], c.Tensor("self").Rank())
	c.errorIf(rows == columns, "dimension %d is given twice", rows)
	norm := func(ord any, over ...int) *ir.Value {
		return b.aten("linalg_vector_norm", c.Arg("self"), ord, over,
			c.Bool("keepdim"), Kw("dtype", c.Arg("dtype")))
	}
	ord := c.Arg("ord")
	if ord == ir.Str("fro") {
		return norm(2, rows, columns)
	}
	singular := func(op string) *ir.Value {
		x := b.cast(c.Value("self"), c.DType("dtype", c.Tensor("self").DType))
		x = b.aten("movedim.intlist", x, []int{rows, columns}, []int{-2, -1})
		x = b.Op(op, b.aten("linalg_svdvals", x), []int{-1})
		if c.Bool("keepdim") {
			x = b.aten("unsqueeze", x, min(rows, columns))
			x = b.aten("unsqueeze", x, max(rows, columns))
		}
		return x
	}
	if ord == ir.Str("nuc") {
		return singular("aten.sum.dim_IntList")
	}
	n := must(c.Float("ord"))
	switch {
	case n == 2:
		return singular("aten.amax.default")
	case n == -2:
		return singular("aten.amin.default")
	case math.IsInf(n, 0):
		rows, columns = columns, rows
	case math.Abs(n) != 1:
		panic(c.Errorf("matrices have no norm %v", ord))
	}
	sums, of := norm(1, rows), columns // the sums of columns, or of rows
	if !c.Bool("keepdim") && rows < columns {
		of--
	}
	op := "aten.amax.default"
	if n < 0 {
		op = "aten.amin.default"
	}
	return b.Op(op, sums, []int{of}, c.Bool("keepdim"))
}
