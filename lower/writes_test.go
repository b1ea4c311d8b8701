package lower

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

func TestOverlapsItself(t *testing.T) {
	n := sym.NewSymbol("n", 1, 8).Expr()
	c := sym.Int
	list := func(es ...sym.Expr) []sym.Expr { return es }
	for _, test := range []struct {
		sizes, strides []sym.Expr
		want           bool
	}{
		{nil, nil, false},
		{list(c(3), c(4)), list(c(4), c(1)), false},
		{list(c(3), c(4)), list(c(1), c(3)), false},
		{list(c(3), c(4)), list(c(0), c(1)), true},
		{list(c(1), c(4)), list(c(0), c(1)), false},
		{list(c(0), c(4)), list(c(0), c(0)), false},
		{list(c(3), c(4)), list(c(2), c(1)), true}, // a window moves by less than it shows
		{list(c(3), c(2)), list(c(2), c(1)), false},
		{list(c(3), c(2)), list(c(2), c(3)), false}, // 0 2 4, 3 5 7
		{list(c(4), c(2)), list(c(2), c(4)), true},
		{list(c(1<<30), c(1<<30)), list(c(1<<30), c(1)), false},
		{list(c(1<<30), c(1<<30)), list(c(1), c(1)), true},
		{list(n, c(4)), list(c(4), c(1)), false},
		{list(n, c(4)), list(c(0), c(1)), true},
		{list(n, c(4)), list(c(1), c(1)), true},
	} {
		typ := ir.TensorOf(ir.Float32, test.sizes...)
		typ.Strides = test.strides
		if got := overlapsItself(typ); got != test.want {
			t.Errorf("%v: %v, want %v", typ, got, test.want)
		}
	}
}
