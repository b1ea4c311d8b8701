package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestParts computes in parts, last part first, what whole kernels compute: the
// same bits.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	low, high := float32(-3), float32(math.Inf(1))
	for _, n := range []struct{ channels, size int }{{16, 1}, {40, 5}, {64, 9}, {96, 14},
		{300, 3}} {
		c, size := n.channels, n.size
		x, y := draw(r, 2*size*size*c, false), make([]float32, 2*size*size*c)
		w, bias := draw(r, 9*c*(c+panel), false), draw(r, c+panel, false)
		add, scratch := draw(r, len(y), false), make([]float32, (size+2)*(size+2)*c)
		for name, kernel := range map[string]struct {
			steps int
			do    func(step, part, parts int)
		}{
			"Conv": {1, func(step, part, parts int) {
				ConvPart(step, part, parts, y, x, w, bias, 2, c, c, size, size, 1, 1, 1, 1, 1, 1, 1,
					c, size*size*c, size*c, c, add, low, high, nil)
			}},
			"ConvGather": {4, func(step, part, parts int) {
				ConvGatherPart(step, part, parts, y, x, w, bias, scratch, 2, c, c, size, size, 3, 3,
					1, 1, 1, 1, 1, 3*c, size*size*c, (size+2)*c, c,
					size+2, size, 1, 1, size, 1, size*c, c, add, low, high, nil)
			}},
			"Depthwise": {1, func(step, part, parts int) {
				DepthwisePart(step, part, parts, y, x, w, bias, 2, c, c, size, size, size, size, 3,
					3, 1, 1, 1, 1, 1, 1, size*size*c, size*c, c, add, low, high, nil)
			}},
			"MaxPool": {1, func(step, part, parts int) {
				MaxPoolPart(step, part, parts, y, x, 2, c, size, size, size, size, 3, 3, 1, 1, 1,
					1, 1, 1, nil)
			}},
			"MaxPoolPlanes": {1, func(step, part, parts int) {
				MaxPoolPlanesPart(step, part, parts, y, x, scratch[:max(5, size)*size], 2, c, size,
					size, size, size, 3, 3, 1, 1, 1, 1, 1, 1, nil)
			}},
			"Matmul": {1, func(step, part, parts int) {
				MatmulPart(step, part, parts, y, x, w, make([]float32, 5*size*(panel+maxRows)), 2,
					c, size*size, size, c*size, 1, c, size*size*size, size*size, 1, add,
					low, high, nil)
			}},
			"AvgPool": {1, func(step, part, parts int) {
				AvgPoolPart(step, part, parts, y, x, 2, c, size, size, size, size, 3, 3, 1, 1,
					1, 1, 0, nil)
			}},
		} {
			var want []float32
			for _, parts := range []int{1, 2, 3, 5, 64} {
				for i := range y {
					y[i] = float32(math.NaN())
				}
				for step := range kernel.steps {
					for part := parts - 1; part >= 0; part-- {
						kernel.do(step, part, parts)
					}
				}
				if parts == 1 {
					want = slices.Clone(y)
				}
				for i, v := range y {
					if math.Float32bits(v) != math.Float32bits(want[i]) || v != v {
						t.Fatalf(
							"%s, %d channels, %d×%d, %d parts: result %d is %g, in one part %g",
							name, c, size, size, parts, i, v, want[i])
					}
				}
			}
		}
	}
}

// TestWinogradParts does the same for Winograd, and compares with the whole in smaller
// blocks.
func TestWinogradParts(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	low, high := float32(-3), float32(math.Inf(1))
	const c, cout, ih, iw = 32, 72, 11, 14
	x, w, bias := draw(r, 2*ih*iw*c, false), draw(r, 36*c*96, false), draw(r, 96, false)
	y, add := make([]float32, 2*ih*iw*cout), draw(r, 2*ih*iw*cout, false)
	for _, side := range []int{6, 4} {
		across := (iw + side - 3) / (side - 2)
		tiles := across * ((ih + side - 3) / (side - 2))
		scratch := make([]float32, side*side*24*(c+panel))
		Winograd(y, x, w, bias, scratch, 2, side, c, cout, ih, iw, ih, iw, 1, 1, across, tiles, 12,
			add, low, high, nil)
		want := slices.Clone(y)
		for _, parts := range []int{1, 2, 3, 5, 64} {
			for i := range y {
				y[i] = float32(math.NaN())
			}
			for part := parts - 1; part >= 0; part-- {
				WinogradPart(0, part, parts, y, x, w, bias, scratch, 2, side, c, cout, ih, iw, ih,
					iw, 1, 1, across, tiles, 24, add, low, high, nil)
			}
			for i, v := range y {
				if math.Float32bits(v) != math.Float32bits(want[i]) || v != v {
					t.Fatalf("%d points, %d parts: result %d is %g, in one part %g", side*side,
						parts, i, v, want[i])
				}
			}
		}
	}
}

// TestDivide holds that parts share what is read more, if it comes out even.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		parts, cout, oh, ow, x, w int
		want                      string
	}{
		{2, 128, 28, 28, 1000, 2000, "panels"},
		{2, 128, 28, 28, 2000, 1000, "rows"},
		{2, 128, 1, 784, 2000, 1000, "columns"},
		{2, 96, 28, 28, 1000, 2000, "rows"},             // three panels
		{2, 128, 7, 7, 2000, 1000, "panels"},            // seven rows
		{2, 512, 1, 1, 2000, 1000, "panels"},            // one result
		{2, 32, 28, 28, 1000, 2000, "rows"},             // one panel
		{2, 288, 28, 28, 1000, 2000, "panels"},          // nine are even enough
		{4, 320, 1, 5 * tileRows, 1000, 2000, "panels"}, // neither is, and there are more of them
		{4, 32, 1, 3 * tileRows, 1000, 2000, "columns"}, // fewer
	} {
		s := divide(c.parts-1, c.parts, c.cout, c.oh, c.ow, c.x, c.w)
		got := "nothing"
		switch {
		case s.panels[0] > 0:
			got = "panels"
		case s.rows[0] > 0:
			got = "rows"
		case s.columns[0] > 0:
			got = "columns"
		}
		if got != c.want {
			t.Errorf("%+v: parts share %s", c, got)
		}
	}
}
