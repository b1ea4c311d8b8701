package ops

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// TestScaleOverlooked holds the place of each output element against PyTorch's, where
// the scale given is not the quotient of the sizes: F.interpolate(x, scale_factor=1.09)
// of ten elements gives ten.
func TestScaleOverlooked(t *testing.T) {
	same := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	later := []int64{0, 1, 2, 3, 4, 5, 5, 6, 7, 8} // floor((o + ½)/1.09)
	slower := []int64{0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		op    string
		shift float64
		sizes []int64 // of the output, the first one counts
		want  []int64
	}{
		{"aten.upsample_nearest2d", 0, []int64{10, 20}, same},
		{"aten.upsample_nearest2d", 0, []int64{10, 120}, slower},
		{"aten.upsample_nearest1d", 0, []int64{10}, slower},
		{"aten.upsample_nearest3d", 0, []int64{10, 4, 4}, slower},
		{"aten._upsample_nearest_exact2d", 0.5, []int64{10, 20}, later},
	} {
		axes := make([]axis, len(c.sizes))
		for d, n := range c.sizes {
			axes[d] = axis{in: sym.Int(10), out: sym.Int(n), scale: 1 / 1.09}
		}
		axes[0].overlookScale(c.op, axes, false)
		var got []int64
		for o := range c.sizes[0] {
			at, _ := nearestPlaces(c.shift)(axes[0], ir.Float32, 10, c.sizes[0], o)
			got = append(got, at[0])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %v: elements %v, not %v", c.op, c.sizes, got, c.want)
		}
		// What kernels read is the same elements where it is said without floats.
		whole := nearestTaps(c.shift)(axes[0], ir.Float32, "at", sym.Int(9))[0].at
		if n, ok := whole.Const(); ok && n != c.want[9] {
			t.Errorf("%s to %v: the last element is %d, not %d", c.op, c.sizes, n, c.want[9])
		}
	}
	for _, op := range []string{"aten.upsample_bilinear2d", "aten.upsample_bicubic2d",
		"aten._upsample_bilinear2d_aa"} {
		a := axis{in: sym.Int(10), out: sym.Int(10), scale: 0.9}
		a.overlookScale(op, []axis{a, a}, false)
		if got, want := a.scale == 1, op == "aten.upsample_bilinear2d"; got != want {
			t.Errorf("%s has a shortcut: %v", op, got)
		}
	}
}
