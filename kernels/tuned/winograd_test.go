package tuned

import "testing"

// Large images are carried to the points of tiles of 4x4 results, but weights must
// not be many for few tiles.
func TestPlanWinograd(t *testing.T) {
	for _, c := range []struct {
		cin, cout int
		side      int64
		m         int64 // 0: plain sums
	}{
		{64, 64, 56, 4},
		{128, 128, 28, 4},
		{256, 256, 14, 2},
		{512, 512, 7, 0},
		{16, 16, 32, 4},
		{32, 32, 16, 4},
		{64, 64, 8, 4},
		{32, 32, 6, 2},
		{16, 16, 4, 0},
		{16, 16, 1, 0},
	} {
		p, ok := planWinograd(c.cin, c.cout, [2]int64{c.side, c.side})
		if p.m != c.m || ok != (c.m > 0) {
			t.Errorf("%d to %d channels on %dx%d: tiles of %d, want %d", c.cin, c.cout, c.side,
				c.side, p.m, c.m)
		}
		if ok && (p.block < 2 || p.block%2 != 0) {
			t.Errorf("%d to %d channels on %dx%d: blocks of %d tiles", c.cin, c.cout, c.side,
				c.side, p.block)
		}
	}
}
