package ops

import (
	"math/bits"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// eigenOps are powers of matrices, and what follows from eigenvalues of symmetric ones.
func eigenOps() []entry {
	return []entry{
		derived("aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrixPower),
		eigh(),
		derived("aten::linalg_matrix_sqrth(Tensor self) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				vs := b.Ops("aten._linalg_eigh.default", c.Value("self"))
				roots := b.aten("unsqueeze", b.aten("sqrt", vs[0]), -2)
				return b.aten("matmul", b.mul(vs[1], roots), b.aten("transpose.int", vs[1], -2, -1))
			}),
		{
			Schema: "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, " +
				"Tensor eigenvectors)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				return b.Ops("aten._linalg_eigh.default", c.Value("self"), c.Str("UPLO"))
			},
		},
		derived("aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("_linalg_eigh", c.Value("self"), c.Str("UPLO"), false)
			}),
	}
}

// matrixPower multiplies the squares of squares that the bits of n ask for.
func matrixPower(b *Builder, c *Call) *ir.Value {
	t, side := c.square("self")
	square, n := c.Value("self"), must(c.Int("n"))
	if n < 0 {
		square, n = b.aten("linalg_inv", square), -n
	}
	var out *ir.Value
	for k := range bits.Len64(uint64(n)) {
		if k > 0 {
			square = b.aten("matmul", square, square)
		}
		switch {
		case n>>k&1 == 0:
		case out == nil:
			out = square
		default:
			out = b.aten("matmul", out, square)
		}
	}
	if out == nil {
		out = b.aten("expand", b.unit(side, side, t.DType), t.Sizes)
	}
	return b.aten("clone", out, Kw("memory_format", ir.ContiguousFormat))
}

// sweeps bounds how often Jacobi's method goes over all pairs. It needs fewer than ten, but where
// there are infinities and NaN.
const sweeps = 30

// workMatrix is a matrix in a buffer of its own, which comes behind bufs.
func workMatrix(bufs *[]loop.Buf, name string, d ir.DType, rows, cols sym.Expr) matrix {
	*bufs = append(*bufs, loop.Buf{Name: name, DType: d, Role: loop.Scratch,
		Len: sym.Mul(rows, cols)})
	return matrix{buf: len(*bufs) - 1, d: d, base: sym.Int(0), stride: cols}
}

// setUnit makes m of n rows the matrix with ones on its diagonal.
func (m matrix) setUnit(n sym.Expr) loop.Stmt {
	return each("unit", n, func(i sym.Expr) []loop.Stmt {
		return []loop.Stmt{
			each("zero", n, func(j sym.Expr) []loop.Stmt {
				return []loop.Stmt{m.set(i, j, expr.Num(m.d, 0))}
			}),
			m.set(i, i, expr.Num(m.d, 1)),
		}
	})
}

// A rotation of the plane that makes two vectors orthogonal, by the smaller angle.
type rotation struct{ tangent, cosine, sine, held counter }

func newRotation(d ir.DType) rotation {
	return rotation{newCounter("tangent", d), newCounter("cosine", d), newCounter("sine", d),
		newCounter("held", d)}
}

// start finds the rotation from the difference of the squares of the vectors, the second's less
// the first's, and from their product, which is not 0.
func (r rotation) start(d ir.DType, gap, product *expr.Expr) []loop.Stmt {
	num := func(x float64) *expr.Expr { return expr.Num(d, x) }
	root := func(x counter) *expr.Expr {
		return expr.Sqrt(expr.Add(expr.Mul(x.get(), x.get()), num(1)))
	}
	ratio := newCounter("ratio", d)
	return []loop.Stmt{
		ratio.fixed(expr.Div(gap, expr.Mul(num(2), product))),
		r.tangent.fixed(expr.Div(expr.Select(expr.Lt(ratio.get(), num(0)), num(-1), num(1)),
			expr.Add(expr.Abs(ratio.get()), root(ratio)))),
		r.cosine.fixed(expr.Div(num(1), root(r.tangent))),
		r.sine.fixed(expr.Mul(r.tangent.get(), r.cosine.get())),
	}
}

// turn rotates columns p and q of m, which has n rows.
func (r rotation) turn(name string, m matrix, p, q, n sym.Expr) loop.Stmt {
	c, s := r.cosine.get(), r.sine.get()
	return each(name, n, func(i sym.Expr) []loop.Stmt {
		return []loop.Stmt{
			r.held.fixed(m.get(i, p)),
			m.set(i, p, expr.Sub(expr.Mul(c, r.held.get()), expr.Mul(s, m.get(i, q)))),
			m.set(i, q, expr.Add(expr.Mul(s, r.held.get()), expr.Mul(c, m.get(i, q)))),
		}
	})
}

// sweep runs pair for all pairs of numbers below n until none sets turned, sweeps times at most.
func sweep(n sym.Expr, turned counter, pair func(p, q sym.Expr) []loop.Stmt) loop.Stmt {
	none := expr.Int(ir.Int32, 0)
	return each("sweep", sym.Int(sweeps), func(sym.Expr) []loop.Stmt {
		return []loop.Stmt{
			turned.start(none),
			each("p", n, func(p sym.Expr) []loop.Stmt {
				return []loop.Stmt{behind("q", p, n, func(q sym.Expr) []loop.Stmt {
					return pair(p, q)
				})}
			}),
			&loop.If{Cond: expr.Eq(turned.get(), none), Then: []loop.Stmt{&loop.Break{}}},
		}
	})
}

// ordered runs body for the numbers below n and the places of values among all: the count of
// those in front of it. NaN come last, equal ones stay in order.
func ordered(n sym.Expr, value func(i sym.Expr) *expr.Expr, descending bool,
	body func(i, place sym.Expr) []loop.Stmt) loop.Stmt {
	less := func(x, y *expr.Expr) *expr.Expr {
		first := expr.Lt(x, y)
		if descending {
			first = expr.Gt(x, y)
		}
		return expr.Or(first, expr.And(expr.IsNaN(y), expr.Not(expr.IsNaN(x))))
	}
	count := newCounter("count", ir.Int32)
	place, at := index("place", expr.Cast(ir.Int64, count.get()), n)
	return each("value", n, func(i sym.Expr) []loop.Stmt {
		return append([]loop.Stmt{
			count.start(expr.Int(ir.Int32, 0)),
			each("other", n, func(j sym.Expr) []loop.Stmt {
				x, y := value(i), value(j)
				return []loop.Stmt{&loop.If{Cond: expr.Or(less(y, x),
					expr.And(expr.IdxLt(j, i), expr.Not(less(x, y)))),
					Then: []loop.Stmt{count.add(1)}}}
			}),
			place,
		}, body(i, at)...)
	})
}

// startSign makes sign that of the largest element, the first of them, of column i of m, which has
// n rows: vectors times it have a rule for their signs, which nothing else determines.
func startSign(sign counter, m matrix, i, n sym.Expr) []loop.Stmt {
	largest := newCounter("largest", m.d)
	num := func(x float64) *expr.Expr { return expr.Num(m.d, x) }
	return []loop.Stmt{
		sign.start(num(1)), largest.start(num(0)),
		each("element", n, func(j sym.Expr) []loop.Stmt {
			x := m.get(j, i)
			return []loop.Stmt{&loop.If{Cond: expr.Gt(expr.Abs(x), largest.get()),
				Then: []loop.Stmt{largest.set(expr.Abs(x)),
					sign.set(expr.Select(expr.Lt(x, num(0)), num(-1), num(1)))}}}
		}),
	}
}

// eigh is V·diag(w)·Vᵀ = A, of which only one triangle is read, by Jacobi's method: w ascend. The
// largest element of each column of V, the first of them, is positive.
//
//go:noinline
func eigh() entry {
	return entry{
		Schema: "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor " +
			"eigenvalues, Tensor eigenvectors)",
		Infer: func(c *Call) []ir.Type {
			t, _ := c.square("A")
			c.errorIf(!slices.Contains([]string{"L", "l", "U", "u"}, c.Str("UPLO")), "UPLO %q",
				c.Str("UPLO"))
			vectors := ir.TensorOf(t.DType, sym.Int(0))
			if c.Bool("compute_v") {
				vectors = columnMajor(t.DType, t.Sizes...)
			}
			return []ir.Type{ir.TensorOf(t.DType, t.Sizes[:t.Rank()-1]...), vectors}
		},
		Loops: func(c *Call) *loop.Func {
			t, n := c.square("A")
			d, batch, vectors := t.DType, t.Sizes[:t.Rank()-2], c.Bool("compute_v")
			vars, at := indexVars(batch)
			bufs := c.buffers()
			a := matrixOf(2, t, batch, at).flipped(c.Str("UPLO") == "U" || c.Str("UPLO") == "u")
			w := workMatrix(&bufs, "work", d, n, n)
			local := func(name string) counter { return newCounter(name, d) }
			big, cross, x, y := local("big"), local("cross"), local("x"), local("y")
			turned, sign, r := newCounter("turned", ir.Int32), local("sign"), newRotation(d)
			start := []loop.Stmt{big.start(expr.Num(d, 0)),
				each("s", n, func(i sym.Expr) []loop.Stmt {
					return []loop.Stmt{each("t", sym.Add(i, sym.Int(1)), func(j sym.Expr) []loop.Stmt {
						return []loop.Stmt{x.fixed(a.get(i, j)), w.set(i, j, x.get()),
							w.set(j, i, x.get()), big.set(expr.Max(big.get(), expr.Abs(x.get())))}
					})}
				})}
			var v, out matrix
			if vectors {
				v, out = workMatrix(&bufs, "vectors", d, n, n), matrixOf(1, t, batch, at)
				start = append(start, v.setUnit(n))
			}
			pair := func(p, q sym.Expr) []loop.Stmt {
				turn := append(append([]loop.Stmt{turned.set(expr.Int(ir.Int32, 1)),
					x.fixed(w.get(p, p)), y.fixed(w.get(q, q))},
					r.start(d, expr.Sub(y.get(), x.get()), cross.get())...),
					r.turn("u", w, p, q, n), r.turn("v", w.flipped(true), p, q, n))
				if vectors {
					turn = append(turn, r.turn("w", v, p, q, n))
				}
				step, zero := expr.Mul(r.tangent.get(), cross.get()), expr.Num(d, 0)
				turn = append(turn, w.set(p, p, expr.Sub(x.get(), step)),
					w.set(q, q, expr.Add(y.get(), step)), w.set(p, q, zero), w.set(q, p, zero))
				return []loop.Stmt{cross.fixed(w.get(p, q)),
					&loop.If{Cond: expr.Gt(expr.Abs(cross.get()),
						expr.Mul(big.get(), expr.Num(d, epsilon(d)/8))), Then: turn}}
			}
			place := func(i, to sym.Expr) []loop.Stmt {
				body := []loop.Stmt{&loop.Store{Buf: 0, Value: w.get(i, i),
					At: sym.Add(sym.Mul(sym.RowMajor(batch, at), n), to)}}
				if vectors {
					body = append(append(body, startSign(sign, v, i, n)...),
						each("row", n, func(j sym.Expr) []loop.Stmt {
							return []loop.Stmt{out.set(j, to, expr.Mul(v.get(j, i), sign.get()))}
						}))
				}
				return body
			}
			diagonal := func(i sym.Expr) *expr.Expr { return w.get(i, i) }
			return &loop.Func{Name: "eigh", Bufs: bufs, Body: nest(vars, append(start,
				sweep(n, turned, pair), ordered(n, diagonal, false, place))...)}
		},
	}
}
