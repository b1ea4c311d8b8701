package codegen

import (
	"fmt"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

func TestRequirements(t *testing.T) {
	a, u := sym.NewSymbol("a", 2, 32), sym.NewSymbol("u", 0, 9)
	even := &expr.Var{Name: "even", DType: ir.Bool}
	f := &expr.Var{Name: "f", DType: ir.Float64}
	given := func(cond *expr.Expr, message string) *native.Assert {
		return &native.Assert{Cond: cond, Message: foreign.Of(message), Given: true}
	}
	index := func(e sym.Expr) *expr.Expr { return expr.Idx(ir.Int64, e) }
	m := &native.Method{
		Inputs: []native.Port{{Name: foreign.Of("x"), Type: ir.TensorOf(ir.Float32, a.Expr()),
			Buf: &native.Buffer{}}},
		Body: []native.Stmt{
			&native.Let{Var: even, Value: expr.Eq(index(sym.Mod(a.Expr(), sym.Int(2))),
				expr.Int(ir.Int64, 0))},
			given(expr.Get(even), "Guard failed: x.size()[0] % 2 == 0"),
			given(expr.Get(even), "again"),
			given(expr.And(expr.Ge(index(a.Expr()), expr.Int(ir.Int64, 5)), expr.Ne(index(a.Expr()),
				expr.Int(ir.Int64, 7))), ""),
			given(expr.Lt(expr.Get(f), expr.Num(ir.Float64, 1)), "Guard failed: f < 1"),
			given(expr.Lt(index(u.Expr()), expr.Int(ir.Int64, 1)), "u is small"),
			&native.Assert{Cond: expr.Get(even), Message: foreign.Of("an assertion of the model")},
		},
	}
	binding, err := native.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	w := NewSizeWords(binding, func(_ bool, d native.Dim) string {
		return fmt.Sprintf("x_dim%d", d.Axis)
	})
	want := "Requires x_dim0 % 2 == 0; x_dim0 >= 5 and x_dim0 != 7; f < 1; u is small."
	if got := Requirements(m, w); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
