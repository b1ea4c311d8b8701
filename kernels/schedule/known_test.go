package schedule_test

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

func newVars(sizes ...sym.Expr) []*sym.Symbol {
	names := "abcdefgh"
	out := make([]*sym.Symbol, len(sizes))
	for i, s := range sizes {
		out[i] = sym.NewVar(names[i:i+1], s)
	}
	return out
}

func ints(ns ...int64) []sym.Expr { return ir.Ints(ns) }

func exprs(vs []*sym.Symbol) []sym.Expr {
	out := make([]sym.Expr, len(vs))
	for i, v := range vs {
		out[i] = v.Expr()
	}
	return out
}

// testExp stands for an expensive function.
func testExp() *expr.Func {
	x := &expr.Var{Name: "x", DType: ir.Float32}
	v := expr.Get(x)
	return &expr.Func{Name: "exp_f32", Params: []*expr.Var{x}, Body: expr.Add(expr.Float(ir.Float32, 1), expr.Mul(v, v))}
}

// softmax over dimension d.
func softmax(sizes []sym.Expr, d int) expr.Tensor {
	vars := newVars(sizes...)
	exp := testExp()
	at := func() (*sym.Symbol, *expr.Expr) {
		r := sym.NewVar("r", sizes[d])
		c := exprs(vars)
		c[d] = r.Expr()
		return r, expr.At(0, ir.Float32, c...)
	}
	top := func() *expr.Expr {
		r, x := at()
		return expr.MaxOf([]*sym.Symbol{r}, x)
	}
	r, x := at()
	sum := expr.Sum([]*sym.Symbol{r}, expr.CallFn(exp, expr.Sub(x, top())))
	num := expr.CallFn(exp, expr.Sub(expr.At(0, ir.Float32, exprs(vars)...), top()))
	return expr.Tensor{DType: ir.Float32, Vars: vars, Body: expr.Div(num, sum)}
}

func TestShapes(t *testing.T) {
	n := sym.NewSymbol("s0", 1, 100)
	for _, c := range []struct {
		name     string
		outs     []expr.Tensor
		operands []schedule.OperandInfo
		want     string
	}{
		{"softmax_last", []expr.Tensor{softmax([]sym.Expr{n.Expr(), sym.Int(4), sym.Int(5)}, 2)},
			[]schedule.OperandInfo{{DType: ir.Float32, Sizes: []sym.Expr{n.Expr(), sym.Int(4), sym.Int(5)}}}, ""},
		{"softmax_mid", []expr.Tensor{softmax(ints(3, 4, 5), 1)}, []schedule.OperandInfo{{DType: ir.Float32, Sizes: ints(3, 4, 5)}}, ""},
	} {
		f, err := schedule.Build(c.name, c.outs, c.operands, schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.String(); got != c.want {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}
