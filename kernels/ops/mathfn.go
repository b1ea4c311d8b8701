package ops

import (
	"github.com/etgen/etgen/kernels/expr"
)

// fn returns the function called name of kernels/math for operands of
// whatever dtype.
func fn(name string) func(x *expr.Expr) *expr.Expr {
	return func(x *expr.Expr) *expr.Expr { panic("ops: kernels/math has no " + name) }
}

// fn2 is fn for functions of two operands.
func fn2(name string) func(a, b *expr.Expr) *expr.Expr {
	return func(a, b *expr.Expr) *expr.Expr { panic("ops: kernels/math has no " + name) }
}
