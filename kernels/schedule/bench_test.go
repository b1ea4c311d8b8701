package schedule_test

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

// A long fused chain in which every value is used twice.
func BenchmarkChain(b *testing.B) {
	v := newVars(ints(8, 16, 32)...)
	e := expr.At(0, ir.Float32, exprs(v)...)
	for range 300 {
		e = expr.Add(expr.Mul(e, e), expr.At(1, ir.Float32, v[1].Expr()))
	}
	benchmark(b, expr.Tensor{DType: ir.Float32, Vars: v, Body: e},
		schedule.OperandInfo{DType: ir.Float32, Sizes: ints(8, 16, 32)},
		schedule.OperandInfo{DType: ir.Float32, Sizes: ints(16)})
}

// The concatenation of many operands: a choice in a choice.
func BenchmarkConcat(b *testing.B) {
	v := newVars(sym.Int(4), sym.Int(300))
	e := expr.Float(ir.Float32, 0)
	for k := range int64(100) {
		x := sym.Sub(v[1].Expr(), sym.Int(3*k))
		e = expr.Select(expr.InRange(x, sym.Int(0), sym.Int(3)), expr.At(0, ir.Float32,
			v[0].Expr(), x), e)
	}
	benchmark(b, expr.Tensor{DType: ir.Float32, Vars: v, Body: e},
		schedule.OperandInfo{DType: ir.Float32, Sizes: ints(4, 3)})
}

func benchmark(b *testing.B, t expr.Tensor, operands ...schedule.OperandInfo) {
	for b.Loop() {
		if _, err := schedule.Build("f", []expr.Tensor{t}, operands, schedule.Options{}); err !=
			nil {
			b.Fatal(err)
		}
	}
}
