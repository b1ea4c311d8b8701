package golang

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// exprSymbols calls f for the symbols that e mentions.
func exprSymbols(e *expr.Expr, f func(*sym.Symbol)) {
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(func(x sym.Expr) {
			for _, s := range x.Symbols() {
				f(s)
			}
		})
	})
}

func usesSymbol(e *expr.Expr, s *sym.Symbol) bool {
	found := false
	exprSymbols(e, func(t *sym.Symbol) { found = found || t == s })
	return found
}
