package ops

import (
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/math"
)

// fn returns the function of kernels/math called name, for an operand of
// dtype Float32 or Float64.
func fn(name string) func(x *expr.Expr) *expr.Expr {
	return func(x *expr.Expr) *expr.Expr { return expr.CallFn(math.Func(name, x.DType), x) }
}

// fn2 is fn for functions of two operands.
func fn2(name string) func(a, b *expr.Expr) *expr.Expr {
	return func(a, b *expr.Expr) *expr.Expr { return expr.CallFn(math.Func(name, a.DType), a, b) }
}
