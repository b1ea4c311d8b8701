package expr

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// A sum in order stays one where a dimension of size 1 is dropped.
func TestSimplifyKeepsOrder(t *testing.T) {
	one, many := sym.NewSymbol("i", 0, 0), sym.NewSymbol("j", 0, 7)
	body := At(0, ir.Float32, one.Expr(), many.Expr())
	e := Simplify(SumInOrder([]*sym.Symbol{one, many}, body))
	if e.Op != OpReduce || len(e.Vars) != 1 || !e.InOrder {
		t.Errorf("%v: in order %t", e, e.InOrder)
	}
}
