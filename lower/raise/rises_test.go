package raise

import (
	"testing"

	"github.com/etgen/etgen/ir/sym"
)

// Of many numbers only the form tells that an expression never falls; all of few are tried.
func TestRises(t *testing.T) {
	n := groupSymbol.Expr()
	up := sym.Add(sym.FloorDiv(sym.Add(n, sym.Int(3)), sym.Int(4)), sym.Max(n, sym.Int(7)))
	saw := sym.Add(n, sym.Mul(sym.Int(10), sym.Mod(n, sym.Int(4))))
	stairs := sym.Sub(sym.Mul(sym.Int(2), n), sym.Mod(n, sym.Int(3)))
	for _, c := range []struct {
		e    sym.Expr
		hi   int64
		want bool
	}{
		{up, 4000, true}, {up, 40, true},
		{saw, 4000, false}, {saw, 40, false}, {saw, 3, true},
		{stairs, 40, true},
		{sym.FloorDiv(sym.Mul(sym.Int(5), n), sym.Add(n, sym.Int(1))), 4000, false}, // by its form
		{sym.FloorDiv(sym.Mul(sym.Int(5), n), sym.Add(n, sym.Int(1))), 40, true},
		{sym.Int(3), 4000, false},
		{sym.Neg(n), 4000, false},
	} {
		g := &group{hi: c.hi}
		if got := g.rises(c.e); got != c.want {
			t.Errorf("%v up to %d: %v", c.e, c.hi, got)
		}
	}
	// No value is not the value 0.
	g, h := &group{hi: 40, asserted: unasserted}, &group{hi: 3, asserted: unasserted}
	if got := g.joined(h, sym.FloorDiv(sym.Int(100), n)); got != nil {
		t.Errorf("joined: %d to %d", got.lo, got.hi)
	}
	if v, ok := valueOf(sym.FloorDiv(sym.Int(100), n), 0); ok {
		t.Errorf("100//0 is %d", v)
	}
	// The least number is looked for where the sizes are known not to fall.
	s := &sizing{axes: []axis{{least: 21}}}
	late := sym.Add(n, sym.Mul(sym.Int(10), sym.Mod(sym.Add(n, sym.Int(1)), sym.Int(4))))
	if got := s.least(&group{hi: 2, members: []member{{0, late}}}); got != 1 {
		t.Errorf("least: %d", got)
	}
	// What rises up to 3 is not looked at beyond.
	if got := g.joined(h, n); got == nil || got.hi != 3 {
		t.Errorf("joined: %v", got)
	}
	g.hi, h.hi = 3, 21
	if got := g.joined(h, saw); got == nil || got.hi != 1 {
		t.Errorf("joined: %v", got)
	}
}
