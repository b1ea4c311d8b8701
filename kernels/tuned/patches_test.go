package tuned

import (
	"testing"

	"github.com/etgen/etgen/ir/sym"
)

// A tile of one row is the last of some whose lengths are those of the code.
func TestLastAlone(t *testing.T) {
	for _, most := range tileRows {
		for n := int64(1); n < 200; n++ {
			tiles := (n + most - 1) / most
			length := (n + tiles - 1) / tiles
			rows := int64(0)
			for q := int64(0); q < n; q += length {
				rows = min(length, n-q)
			}
			if got := lastAlone(n, most); got != (rows == 1) {
				t.Errorf("%d results in tiles of %d: the last has %d, lastAlone says %v", n,
					most, rows, got)
			}
		}
	}
}

// Rows that stand alone between others that see all taps are known wherever the
// patch begins.
func TestAloneRows(t *testing.T) {
	whole := Window{In: 10, Out: 10, Stride: 1, Reach: 3, Pad: 1}
	for _, c := range []struct {
		patches []Rows
		same    bool
	}{
		{[]Rows{{In: 6, Out: 5, Pad: 1}, {In: 6, Out: 5}}, true}, // 1+4, 4+1
		// the second row is alone
		{[]Rows{{In: 3, Out: 2, Pad: 1}, {In: 6, Out: 4}, {In: 5, Out: 4}}, false},
		// the last but one is
		{[]Rows{{In: 9, Out: 8, Pad: 1}, {In: 3, Out: 2}}, false},
		{[]Rows{{In: 4, Out: 3, Pad: 1}, {In: 6, Out: 4}, {In: 4, Out: 3}}, true}, // 1+2, 4, 2+1
		// one row in the middle
		{[]Rows{{In: 4, Out: 3, Pad: 1}, {In: 3, Out: 1}, {In: 7, Out: 6}}, false},
		// the last row is alone in whole too
		{[]Rows{{In: 10, Out: 9, Pad: 1}, {In: 2, Out: 1}}, true},
	} {
		if got := edgesAlone(whole, 3, 1, c.patches); got != c.same {
			t.Errorf("%v: %v", c.patches, got)
		}
	}
}

// Patches are worth their calls where images are larger than the cache and what a
// patch holds is not, less so if threads have to wait for each other.
func TestGain(t *testing.T) {
	large := PatchCost{Calls: 3, Shared: 3, Patches: 7, Images: []int64{4 << 20, 1 << 20},
		Held: 900 << 10, Copied: 43 << 10}
	one := Target{}
	gain := one.Gain(large)
	if gain < 100_000 {
		t.Errorf("large images gain %.0f ns", gain)
	}
	high := large
	high.Held = 2 << 20
	if g := one.Gain(high); g > 0 {
		t.Errorf("windows larger than the cache gain %.0f ns", g)
	}
	small := large
	small.Images = []int64{1 << 20, 1 << 19}
	if g := one.Gain(small); g > 0 {
		t.Errorf("images that the cache holds gain %.0f ns", g)
	}
	if g := (Target{Threads: 2, DividedFrom: WorthThreads}).Gain(large); g >= gain/2 {
		t.Errorf("two threads gain %.0f ns, one %.0f", g, gain)
	}
}

// Rows that do not fill tiles take more instructions than the same results in one
// long row.
func TestInstructions(t *testing.T) {
	point := func(rows, cols int64) *Instance {
		in := &Instance{Kernel: Conv2D(), Tile: Tile{Rows: 4, Cols: 4},
			MACs: sym.Int(rows * cols * 64 * 64)}
		for name, n := range map[string]int64{"out_h": rows, "out_w": cols, "interior_begin": 0,
			"interior_end": cols, "out_channels": 64, "groups": 1} {
			in.Params = append(in.Params, Param{name, sym.Int(n)})
		}
		return in
	}
	whole := point(1, 120).Instructions()
	if n := 6 * point(1, 20).Instructions(); n < whole || n > 1.01*whole {
		t.Errorf("full tiles take %.0f in parts, %.0f whole", n, whole)
	}
	if n := 24 * point(1, 5).Instructions(); n < 1.05*whole || n > 1.4*whole {
		t.Errorf("rows of five take %.0f, %.0f whole", n, whole)
	}
	if n := 40 * point(1, 3).Instructions(); n < 1.3*whole {
		t.Errorf("rows of three take %.0f, %.0f whole", n, whole)
	}
}
