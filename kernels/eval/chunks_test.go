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

// A function that is called like one of kernels/math and is another computes
// what its body says, in chunks too.
func TestFunctionOfTheSameName(t *testing.T) {
	x := &expr.Var{Name: "x", DType: ir.Float32}
	fn := &expr.Func{Name: "exp_f32", Params: []*expr.Var{x}, Body: expr.Add(expr.Get(x),
		expr.Float(ir.Float32, 1))}
	n := sym.Int(100)
	i := sym.NewVar("i", n)
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "y", DType: ir.Float32, Role: loop.Out,
		Len: n}, {Name: "a", DType: ir.Float32, Role: loop.In, Len: n}},
		Body: []loop.Stmt{&loop.For{Var: i, Extent: n, Vectorizable: true, Body: []loop.Stmt{
			&loop.Store{At: i.Expr(), Value: expr.CallFn(fn, expr.At(1, ir.Float32, i.Expr()))}}}}}
	y, a := make([]byte, 400), make([]byte, 400)
	for i := range int64(100) {
		eval.Put(ir.Float32, a, i, eval.Value{F: float64(i)})
	}
	if err := eval.Run(f, [][]byte{y, a}, nil, nil); err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		if got := eval.Get(ir.Float32, y, i).F; got != float64(i+1) {
			t.Fatalf("element %d is %g, want %d", i, got, i+1)
		}
	}
}

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
			}, Body: []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(height), Vectorizable: true,
				Body: []loop.Stmt{
					&loop.For{Var: j, Extent: sym.Int(width), Vectorizable: true,
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
					length, scratch := batches*rows*srcStep, batches*cols*dstStep
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
						return &loop.For{Var: v, Extent: expr.Extent(v), Vectorizable: true,
							Body: []loop.Stmt{body}}
					}
					f := &loop.Func{Name: "move", Bufs: []loop.Buf{
						{Name: "out", DType: d, Role: loop.Out, Len: sym.Int(scratch)},
						{Name: "in", DType: d, Role: loop.In, Len: sym.Int(length)},
					}, Body: []loop.Stmt{over(b, over(outer, over(inner, store)))}}
					size := int64(d.Size())
					in, out := make([]byte, length*size), make([]byte, scratch*size)
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
