package schedule_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

// resampled is rows of n elements, interpolated at m places.
func resampled(rows, n, m int64) expr.Tensor {
	v := newVars(sym.Int(rows), sym.Int(m))
	num := func(x float64) *expr.Expr { return expr.Float(ir.Float32, x) }
	x := expr.Mul(num(float64(n)/float64(m)),
		expr.Add(expr.Cast(ir.Float32, expr.Idx(ir.Int64, v[1].Expr())), num(0.25)))
	left := expr.Floor(x)
	right := expr.Min(expr.Add(left, num(1)), num(float64(n-1)))
	share := expr.Sub(x, left)
	at := func(name string, x *expr.Expr) *expr.Expr {
		i := expr.Bind(name, expr.Cast(ir.Int64, x), sym.Int(n))
		return expr.At(0, ir.Float32, v[0].Expr(), i.Expr())
	}
	body := expr.Add(expr.Mul(expr.Sub(num(1), share), at("left", left)),
		expr.Mul(share, at("right", right)))
	return expr.Tensor{DType: ir.Float32, Vars: v, Body: body}
}

// What the columns of a result have in common is computed once, if there are rows
// enough, and is the same.
func TestTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, size := range [][3]int64{{1, 5, 12}, {3, 7, 9}, {4, 5, 12}, {9, 40, 75}, {40, 3, 5000}} {
		operands := []schedule.OperandInfo{{DType: ir.Float32, Sizes: ints(size[0], size[1])}}
		data := []eval.Operand{filled(rng, operands[0], nil)}
		f := checkOuts(t, "resampled", []expr.Tensor{resampled(size[0], size[1], size[2])},
			operands, data, nil, schedule.Options{Interchange: 8})
		want := size[0] >= 4 && size[2] <= 4096
		if got := strings.Contains(f.String(), "scratch table"); got != want {
			t.Errorf("%d: tables are %v in\n%s", size, got, f)
		}
	}
}
