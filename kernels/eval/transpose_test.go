package eval_test

import (
	"fmt"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// TestTransposes copies from rows to columns, in both orders of the loops, in
// batches, with gaps between the lines and with elements of every size.
func TestTransposes(t *testing.T) {
	for _, d := range []ir.DType{ir.Int8, ir.Float16, ir.Float32, ir.Float64, ir.Bool} {
		for _, swapped := range []bool{false, true} {
			for _, n := range [][2]int64{{1, 5}, {3, 7}, {17, 9}, {64, 40}} {
				t.Run(fmt.Sprint(d, swapped, n), func(t *testing.T) {
					const batches = 2
					rows, cols := n[0], n[1]
					dstStep, srcStep := rows+1, cols+2
					length, room := batches*rows*srcStep, batches*cols*dstStep
					b, r, c := sym.NewVar("b", sym.Int(batches)), sym.NewVar("r", sym.Int(rows)),
						sym.NewVar("c", sym.Int(cols))
					at := func(batch, step int64, far, near *sym.Symbol) sym.Expr {
						return sym.Add(sym.Mul(sym.Int(batch), b.Expr()), sym.Mul(sym.Int(step),
							far.Expr()), near.Expr())
					}
					store := &loop.Store{Buf: 0, At: at(cols*dstStep, dstStep, c, r),
						Value: expr.At(1, d, at(rows*srcStep, srcStep, r, c))}
					outer, inner := c, r
					if swapped {
						outer, inner = r, c
					}
					over := func(v *sym.Symbol, body loop.Stmt) *loop.For {
						return &loop.For{Var: v, Extent: expr.Extent(v), Strip: true,
							Body: []loop.Stmt{body}}
					}
					f := &loop.Func{Name: "move", Bufs: []loop.Buf{
						{Name: "out", DType: d, Role: loop.Out, Len: sym.Int(room)},
						{Name: "in", DType: d, Role: loop.In, Len: sym.Int(length)},
					}, Body: []loop.Stmt{over(b, over(outer, over(inner, store)))}}
					size := int64(d.Size())
					in, out := make([]byte, length*size), make([]byte, room*size)
					for i := range in {
						in[i] = byte(i*7) & 1
						if d != ir.Bool {
							in[i] = byte(i*7) & 0x3f
						}
					}
					if err := eval.Run(f, [][]byte{out, in}, nil, nil); err != nil {
						t.Fatal(err)
					}
					want := make([]byte, len(out))
					for x := range int64(batches) {
						for i := range rows {
							for j := range cols {
								copy(want[(x*cols*dstStep+j*dstStep+i)*size:][:size],
									in[(x*rows*srcStep+i*srcStep+j)*size:])
							}
						}
					}
					if string(out) != string(want) {
						t.Errorf("got %v, want %v", out, want)
					}
					if err := eval.Run(f, [][]byte{out, in[:len(in)-int(3*size)]}, nil,
						nil); err == nil {
						t.Error("elements that are not there are read")
					}
				})
			}
		}
	}
}
