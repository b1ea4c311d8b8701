package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// spread is an entry whose result holds self's elements where from finds one,
// and 0 elsewhere.
func spread(schema string, typ func(*Call) ir.Type,
	from func(c *Call, at []sym.Expr) ([]sym.Expr, *expr.Expr)) entry {
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(typ(c)) },
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			d := c.Outs[0].DType
			in, guard := from(c, at)
			return expr.Select(guard, c.Load("self", in...), expr.Num(d, 0))
		}),
	}
}

// idxEq returns a == b.
func idxEq(a, b sym.Expr) *expr.Expr { return expr.And(expr.IdxLe(a, b), expr.IdxLe(b, a)) }

// diagEmbedArgs returns the offset and the two dimensions of the result.
func diagEmbedArgs(c *Call) (offset int64, d1, d2 int) {
	n := c.Tensor("self").Rank() + 1
	c.errorIf(n < 2, "a tensor without dimensions")
	offset = must(c.Int("offset"))
	d1 = c.dim("dim1", n)
	d2 = c.dim("dim2", n)
	c.errorIf(d1 == d2, "both dimensions are %d", d1)
	return
}

// diagonalOps put tensors on diagonals and take them off.
func diagonalOps() []entry {
	return []entry{
		spread("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
			func(c *Call) ir.Type {
				t := c.Tensor("self")
				offset, d1, d2 := diagEmbedArgs(c)
				n := sym.Add(t.Sizes[t.Rank()-1], sym.Int(max(offset, -offset)))
				sizes := slices.Clone(t.Sizes[:t.Rank()-1])
				for _, d := range []int{min(d1, d2), max(d1, d2)} {
					sizes = slices.Insert(sizes, d, n)
				}
				return ir.TensorOf(t.DType, sizes...)
			}, func(c *Call, at []sym.Expr) ([]sym.Expr, *expr.Expr) {
				offset, d1, d2 := diagEmbedArgs(c)
				var in []sym.Expr
				for d, x := range at {
					if d != d1 && d != d2 {
						in = append(in, x)
					}
				}
				k := sym.Sub(at[d1], sym.Int(max(-offset, 0)))
				guard := expr.And(idxEq(k, sym.Sub(at[d2], sym.Int(max(offset, 0)))),
					expr.IdxLe(sym.Int(0), k))
				return append(in, k), guard
			}).core(diagEmbedCore),
		derived("etgen::fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
			fillDiagonal),
		derived("aten::diag(Tensor self, int diagonal=0) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				r := c.Tensor("self").Rank()
				c.errorIf(r != 1 && r != 2, "a tensor with %d dimensions", r)
				op := []string{"", "diag_embed", "diagonal_copy"}[r]
				return b.aten(op, c.Value("self"), c.Arg("diagonal"))
			}),
		derived("aten::diagflat(Tensor self, int offset=0) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				flat := b.aten("reshape", c.Value("self"), []int{-1})
				return b.aten("diag_embed", flat, c.Arg("offset"))
			}),
	}
}

// triangleIndexOps list the places of a matrix on and below, or on and above,
// a diagonal.
func triangleIndexOps() []entry {
	const args = "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, " +
		"Device? device=None, bool? pin_memory=None) -> Tensor"
	return []entry{triangleIndices("aten::tril_indices"+args, false),
		triangleIndices("aten::triu_indices"+args, true)}
}

// maxIndexed bounds the rows and columns of triangleIndices.
const maxIndexed = 1 << 20

//go:noinline
func triangleIndices(schema string, upper bool) entry {
	infer := func(c *Call) ir.Type {
		var a [3]int64
		for i, name := range []string{"row", "col", "offset"} {
			a[i] = must(c.Int(name))
			c.errorIf(i < 2 && (a[i] < 0 || a[i] > maxIndexed), "%d as %s", a[i], name)
		}
		rows, cols, offset := a[0], a[1], min(max(a[2], -maxIndexed-1), maxIndexed+1)
		if upper { // what is not strictly below
			offset--
		}
		n := int64(0)
		for r := range rows {
			n += min(max(r+offset+1, 0), cols)
		}
		if upper {
			n = rows*cols - n
		}
		d := c.DType("dtype", ir.Int64)
		c.errorIf(!d.IsInt(), "indices of dtype %s", d)
		return ir.StaticTensor(d, 2, n)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Loops: func(c *Call) *loop.Func {
			out := c.Outs[0]
			n := out.Sizes[1]
			f := &loop.Func{Name: "triangle_indices", Bufs: c.buffers()}
			if n.IsZero() {
				return f
			}
			rows, _ := c.SymInt("row")
			cols, _ := c.SymInt("col")
			offset, _ := c.SymInt("offset")
			it := indexDType(out.Numel())
			r, k, at := sym.NewVar("r", rows), sym.NewVar("k", cols), newCounter("at", it)
			diagonal := sym.Add(r.Expr(), offset)
			in := expr.IdxLe(k.Expr(), diagonal)
			if upper {
				in = expr.IdxLe(diagonal, k.Expr())
			}
			bind, place := index("place", at.get(), n)
			f.Body = append([]loop.Stmt{at.start(expr.Int(it, 0))}, nest([]*sym.Symbol{r, k},
				&loop.If{Cond: in, Then: []loop.Stmt{
					bind,
					&loop.Store{Buf: 0, At: place, Value: expr.Idx(out.DType, r.Expr())},
					&loop.Store{Buf: 0, At: sym.Add(place, n), Value: expr.Idx(out.DType,
						k.Expr())},
					at.add(1),
				}})...)
			return f
		},
	}
}

// fillDiagonal puts a number where all coordinates are equal. With wrap, the diagonal of a matrix
// with more rows than columns begins anew behind each square and a row.
func fillDiagonal(b *Builder, c *Call) *ir.Value {
	x, n := c.Value("self"), c.Value("self").Type.Sizes
	c.errorIf(len(n) < 2, "%d dimensions", len(n))
	along := func(d int) *ir.Value {
		sizes := slices.Repeat([]sym.Expr{sym.Int(1)}, len(n))
		sizes[d] = n[d]
		return b.reshaped(b.aten("arange", n[d], Kw("dtype", ir.Int64)), sizes...)
	}
	row := along(0)
	if c.Bool("wrap") && len(n) == 2 {
		row = b.aten("remainder.Scalar", row, sym.Add(n[1], sym.Int(1)))
	}
	var on *ir.Value
	for d := range n[1:] {
		c.errorIf(len(n) > 2 && differ(n[0], n[d+1]), "%s are not equal", sizesOf{x.Type})
		same := b.aten("eq.Tensor", row, along(d+1))
		if on != nil {
			same = b.aten("logical_and", on, same)
		}
		on = same
	}
	return b.where(on, b.tensor(c, "fill_value", x.Type.DType), x, x.Type.DType)
}
