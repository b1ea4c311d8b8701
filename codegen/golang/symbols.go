package golang

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// usesSymbol reports whether an index in e mentions s.
func usesSymbol(e *expr.Expr, s *sym.Symbol) bool {
	found := false
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(func(x sym.Expr) { found = found || x.Uses(s) })
	})
	return found
}
