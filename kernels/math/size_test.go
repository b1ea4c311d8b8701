package math_test

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	kmath "github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/schedule"
)

// Laid out as statements, a function computes hardly anything twice.
func TestSize(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, name := range kmath.Names {
			fn := kmath.Func(name, d)
			once := 0
			expr.Walk(expr.NewSharer().Share(fn.Body), func(e *expr.Expr) { once += operations(e) })
			body, result := schedule.Function(fn)
			printed := written(result)
			loop.Walk(body, func(s loop.Stmt) {
				loop.Exprs(s, func(e *expr.Expr) { printed += written(e) })
			})
			if printed > once+once/20+1 {
				t.Errorf("%s: %d operations in statements, %d in the expression", fn.Name,
					printed, once)
			}
		}
	}
}

// operations is 1 for what computes something. Selects may be Ifs.
func operations(e *expr.Expr) int {
	if len(e.Args) == 0 || e.Op == expr.OpSelect || e.Op == expr.OpCast {
		return 0
	}
	return 1
}

// written counts the operations of e as it is printed.
func written(e *expr.Expr) int {
	n := operations(e)
	for _, a := range e.Args {
		n += written(a)
	}
	return n
}
