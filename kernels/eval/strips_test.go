package eval_test

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// A function that is called like one of kernels/math and is another computes
// what its body says, in strips too.
func TestFunctionOfTheSameName(t *testing.T) {
	x := &expr.Var{Name: "x", DType: ir.Float32}
	fn := &expr.Func{Name: "exp_f32", Params: []*expr.Var{x}, Body: expr.Add(expr.Get(x),
		expr.Float(ir.Float32, 1))}
	n := sym.Int(100)
	i := sym.NewVar("i", n)
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "y", DType: ir.Float32, Role: loop.Out,
		Len: n}, {Name: "a", DType: ir.Float32, Role: loop.In, Len: n}},
		Body: []loop.Stmt{&loop.For{Var: i, Extent: n, Strip: true, Body: []loop.Stmt{
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
