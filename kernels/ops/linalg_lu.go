package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// luOps factor matrices and solve with the factors; what else needs an
// inverse or a determinant is said in these.
func luOps() []Op {
	return []Op{luFactor(), luSolve(), checkErrors()}
}

// matrices returns the type of argument name, which has to be matrices of
// floats, and their rows and columns.
func (c *Call) matrices(name string) (t ir.Type, m, n sym.Expr, err error) {
	t = c.Tensor(name)
	r := t.Rank()
	if r < 2 || t.DType != ir.Float32 && t.DType != ir.Float64 {
		return t, m, n, c.Errorf("%s in %s are no matrices of float32 or float64", t.DType,
			describeSizes([]ir.Type{t}))
	}
	return t, t.Sizes[r-2], t.Sizes[r-1], nil
}

// square is matrices with as many rows as columns.
func (c *Call) square(name string) (t ir.Type, n sym.Expr, err error) {
	t, m, n, err := c.matrices(name)
	if err == nil && differ(m, n) {
		err = c.Errorf("matrices in %s are not square", describeSizes([]ir.Type{t}))
	}
	return t, n, err
}

// columnMajor returns matrices as LAPACK has them.
func columnMajor(d ir.DType, sizes ...sym.Expr) ir.Type {
	r := len(sizes)
	turned := slices.Clone(sizes)
	turned[r-1], turned[r-2] = sizes[r-2], sizes[r-1]
	t := ir.TensorOf(d, sizes...)
	t.Strides = ir.Contiguous(turned)
	t.Strides[r-1], t.Strides[r-2] = t.Strides[r-2], t.Strides[r-1]
	return t
}

// luFactor is L·U = P·A: L below the diagonal, which is 1, U on and above it;
// pivots are the rows, from 1, that each row changed places with; info the
// first diagonal element, from 1, that is 0.
func luFactor() Op {
	return Op{
		Schema: "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
		Infer: func(c *Call) ([]ir.Type, error) {
			t, m, n, err := c.matrices("A")
			if err == nil && !c.Bool("pivot") {
				err = c.Errorf("without pivots")
			}
			if err != nil {
				return nil, err
			}
			r := t.Rank()
			return []ir.Type{columnMajor(t.DType, t.Sizes...), ir.TensorOf(ir.Int32,
				append(slices.Clone(t.Sizes[:r-2]), sym.Min(m, n))...), ir.TensorOf(ir.Int32,
				t.Sizes[:r-2]...)}, nil
		},
		Loops: func(c *Call) (*loop.Func, error) {
			t, m, n := must3(c.matrices("A"))
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
				}}}}, nil
		},
	}
}

// luSolve is X of A·X = B, from the factors of A, or of X·A = B; adjoint means
// Aᵀ in place of A. The batches are the same.
func luSolve() Op {
	return Op{
		Schema: "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t, n := must2(c.square("LU"))
			x, p, r := c.Tensor("B"), c.Tensor("pivots"), t.Rank()
			same := func(a, b []sym.Expr) bool {
				return slices.EqualFunc(a, b, func(x, y sym.Expr) bool { return !differ(x, y) })
			}
			rows := r - 2
			if !c.Bool("left") {
				rows = r - 1
			}
			if x.DType != t.DType || p.DType != ir.Int32 || x.Rank() != r ||
				!same(x.Sizes[:r-2], t.Sizes[:r-2]) || differ(x.Sizes[rows], n) ||
				!same(p.Sizes, t.Sizes[:r-1]) {
				return nil, c.Errorf("factors, pivots and right sides of %s, or of another dtype",
					describeSizes([]ir.Type{t, p, x}))
			}
			if !c.Bool("left") {
				return []ir.Type{ir.TensorOf(t.DType, x.Sizes...)}, nil
			}
			return []ir.Type{columnMajor(t.DType, x.Sizes...)}, nil
		},
		Loops: func(c *Call) (*loop.Func, error) {
			t, n := must2(c.square("LU"))
			r := t.Rank()
			left := c.Bool("left")
			turned := left == c.Bool("adjoint") // X·A = B is Aᵀ·Xᵀ = Bᵀ
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
				if turned {
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
			if turned {
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
				set(i.Expr(), divided(i.Expr(), turned)),
			}}
			up := &loop.For{Var: b, Extent: n, Body: []loop.Stmt{
				&loop.Let{Var: sum, Value: x(last(b)), Mutable: true},
				&loop.For{Var: q, Extent: b.Expr(),
					Body: []loop.Stmt{less(last(b), sym.Add(last(b), sym.Add(one, q.Expr())))}},
				set(last(b), divided(last(b), !turned)),
			}}
			body := []loop.Stmt{swap, down, up}
			if turned {
				body = []loop.Stmt{down, up, swap}
			}
			return &loop.Func{Name: "lu_solve", Bufs: bufs, Body: []loop.Stmt{
				&loop.For{Var: o, Extent: batch, Body: []loop.Stmt{&loop.For{Var: w, Extent: width,
					Body: body}}},
			}}, nil
		},
	}
}
