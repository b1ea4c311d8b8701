package eval_test

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// TestPads pads rows at both ends: every element is stored once, from where it
// belongs, and nothing beside the operand is read.
func TestPads(t *testing.T) {
	for _, before := range []int64{-2, 0, 1, 3} {
		for _, after := range []int64{-1, 0, 2} {
			const rows, cols = 3, 5
			height, width := int64(rows+1), cols+before+after
			i, j := sym.NewVar("i", sym.Int(height)), sym.NewVar("j", sym.Int(width))
			x := sym.Sub(j.Expr(), sym.Int(before))
			inside := expr.And(expr.IdxLt(i.Expr(), sym.Int(rows)), expr.InRange(x, sym.Int(0),
				sym.Int(cols)))
			load := expr.At(1, ir.Int32, sym.Add(sym.Mul(sym.Int(cols), i.Expr()), x))
			store := &loop.Store{Buf: 0, At: sym.Add(sym.Mul(sym.Int(width), i.Expr()), j.Expr()),
				Value: expr.Select(inside, load, expr.Num(ir.Int32, 7))}
			f := &loop.Func{Name: "pad", Bufs: []loop.Buf{
				{Name: "out", DType: ir.Int32, Role: loop.Out, Len: sym.Int(height * width)},
				{Name: "in", DType: ir.Int32, Role: loop.In, Len: sym.Int(rows * cols)},
			}, Body: []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(height), Strip: true,
				Body: []loop.Stmt{
					&loop.For{Var: j, Extent: sym.Int(width), Strip: true,
						Body: []loop.Stmt{store}}}}}}
			in, out := make([]byte, 4*rows*cols), make([]byte, 4*height*width)
			for k := range rows * cols {
				in[4*k] = byte(100 + k)
			}
			if err := eval.Run(f, [][]byte{out, in}, nil, nil); err != nil {
				t.Fatal(err)
			}
			for r := range height {
				for c := range width {
					want := byte(7)
					if from := c - before; r < rows && from >= 0 && from < cols {
						want = in[4*(cols*r+from)]
					}
					if got := out[4*(width*r+c)]; got != want {
						t.Errorf("padded by %d and %d, element %d, %d is %d, want %d", before,
							after, r, c, got, want)
					}
				}
			}
		}
	}
}
