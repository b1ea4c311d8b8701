package lower

import (
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// sameShape reports whether two types have equal kind, dtype and sizes where
// they are constants. Sizes that differ in form only may be equal: PyTorch
// traced the program with them so.
func sameShape(t, u ir.Type) bool {
	if t.Kind != u.Kind || t.DType != u.DType || len(t.Sizes) != len(u.Sizes) {
		return false
	}
	for i := range t.Sizes {
		if d, ok := sym.Sub(t.Sizes[i], u.Sizes[i]).Const(); ok && d != 0 {
			return false
		}
	}
	return true
}

// newVars makes a variable for each dimension of a tensor, and the coordinates
// they run through; that in a dimension of size 1 is 0.
func newVars(sizes []sym.Expr) (vars []*sym.Symbol, coords []sym.Expr) {
	vars, coords = make([]*sym.Symbol, len(sizes)), make([]sym.Expr, len(sizes))
	for d, s := range sizes {
		vars[d] = sym.NewVar("c"+strconv.Itoa(d), s)
		if !s.Is(1) {
			coords[d] = vars[d].Expr()
		}
	}
	return vars, coords
}
