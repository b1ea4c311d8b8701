package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// triangleIndexOps list the places of a matrix on and below, or on and above,
// a diagonal.
func triangleIndexOps() []Op {
	const args = "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
	return []Op{triangleIndices("aten::tril_indices"+args, false),
		triangleIndices("aten::triu_indices"+args, true)}
}

// maxIndexed bounds the rows and columns of triangleIndices.
const maxIndexed = 1 << 20

func triangleIndices(schema string, upper bool) Op {
	infer := func(c *Call) (ir.Type, error) {
		var a [3]int64
		for i, name := range []string{"row", "col", "offset"} {
			a[i] = must(c.Int(name))
			if i < 2 && (a[i] < 0 || a[i] > maxIndexed) {
				return ir.Type{}, c.Errorf("%d as %s", a[i], name)
			}
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
		if !d.IsInt() {
			return ir.Type{}, c.Errorf("indices of dtype %s", d)
		}
		return ir.StaticTensor(d, 2, n), nil
	}
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(infer(c)) },
		Loops: func(c *Call) (*loop.Func, error) {
			out := c.Outs[0]
			n := out.Sizes[1]
			f := &loop.Func{Name: "triangle_indices", Bufs: c.buffers()}
			if n.IsZero() {
				return f, nil
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
			return f, nil
		},
	}
}
