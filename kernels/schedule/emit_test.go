package schedule_test

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// A scalar function computes what several arms need once, in the innermost
// block around them, and Selects of one condition in one If.
func TestFunction(t *testing.T) {
	x := &expr.Var{Name: "x", DType: ir.Float32}
	v := expr.Get(x)
	c := func(n float64) *expr.Expr { return expr.Float(ir.Float32, n) }
	far := expr.Gt(v, c(100))
	slow := expr.Div(v, expr.Sqrt(v))
	scaled := expr.Select(far, expr.Mul(slow, slow), expr.Add(v, c(1)))
	sign := expr.Select(far, expr.Sub(slow, c(2)), v)
	both := expr.Div(scaled, sign)
	rare := expr.Sqrt(expr.Add(v, c(3)))
	body := expr.Select(expr.Lt(v, c(0)), v,
		expr.Select(expr.Lt(both, c(4)), expr.Add(both, rare),
			expr.Select(expr.Lt(both, c(5)), c(0), expr.Mul(both, rare))))
	stmts, result := schedule.Function(&expr.Func{Name: "f", Params: []*expr.Var{x}, Body: body})
	f := (&loop.Func{Name: "f", Scalars: []*expr.Var{x},
		Body: append(stmts, &loop.Let{Var: &expr.Var{Name: "result", DType: ir.Float32},
			Value: result})})
	const want = `func f(x: f32) {
  var t: f32
  if x < 0.0 {
    t = x
  } else {
    var t1: f32
    var t2: f32
    if x > 100.0 {
      let t3: f32 = x/sqrt(x)
      t1 = t3*t3
      t2 = t3 - 2.0
    } else {
      t1 = x + 1.0
      t2 = x
    }
    let t4: f32 = t1/t2
    let t5: f32 = sqrt(x + 3.0)
    t = t4 < 4.0 ? t4 + t5 : t4 < 5.0 ? 0.0 : t4*t5
  }
  let result: f32 = t
}`
	if got := strings.TrimSpace(f.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
