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
		f := Epilogue{add: add, low: low, high: high}
		point := ConvRowsParams{batch: 2, groups: 1, outChannels: c, outH: size, outW: size,
			outerTaps: 1, middleTaps: 1, innerTaps: c, inStrideBatch: size * size * c,
			inStrideRow: size * c, inStrideCol: c, outStrideChannel: 1, outStrideCol: c,
			channelsInner: true, planes: 1}
		gathered := gatherOf(2, c, size)
		depthwise := depthwiseOf(c, c, size, size, 3, 1)
		depthwise.batch = 2
		pool := PoolParams{batch: 2, channels: c, inH: size, inW: size, outH: size, outW: size,
			kernelH: 3, kernelW: 3, strideH: 1, strideW: 1, dilationH: 1, dilationW: 1, padH: 1,
			padW: 1, channelsInner: true}
		planes := pool
		planes.channelsInner = false
		matmul := MatmulParams{batch: 2, m: c, n: size * size, k: size, inStrideBatch: c * size,
			inStrideM: 1, inStrideK: c, weightStrideBatch: size * size * size,
			weightStrideK: size * size, weightStrideN: 1}
		for name, kernel := range map[string]struct {
			steps int
			do    func(d Piece)
		}{
			"Conv": {1, func(d Piece) {
				ConvPart(d, y, x, w, bias, nil, &point, &f)
			}},
			"Conv of a copy": {4, func(d Piece) {
				ConvPart(d, y, x, w, bias, scratch, &gathered, &f)
			}},
			"Depthwise": {1, func(d Piece) {
				DepthwisePart(d, y, x, w, bias, &depthwise, &f)
			}},
			"MaxPool": {1, func(d Piece) {
				MaxPoolPart(d, y, x, nil, &pool, nil)
			}},
			"MaxPool of planes": {1, func(d Piece) {
				MaxPoolPart(d, y, x, scratch[:max(5, size)*size], &planes, nil)
			}},
			"Matmul": {1, func(d Piece) {
				MatmulPart(d, y, x, w, make([]float32, 5*size*(panel+maxRows)), &matmul, &f)
			}},
			"AvgPool": {1, func(d Piece) {
				AvgPoolPart(d, y, x, &pool, nil)
			}},
		} {
			var want []float32
			for _, parts := range []int{1, 2, 3, 5, 64} {
				for i := range y {
					y[i] = float32(math.NaN())
				}
				for step := range kernel.steps {
					for part := parts - 1; part >= 0; part-- {
						kernel.do(Piece{step, part, parts})
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

// gatherOf are the parameters of a convolution of images, as high as wide, with 3x3 taps
// and a row of padding all around them.
func gatherOf(batch, channels, size int) ConvRowsParams {
	c, row := channels, (size+2)*channels
	return ConvRowsParams{batch: batch, groups: 1, outChannels: c, outH: size, outW: size,
		outerTaps: 3, middleTaps: 1, innerTaps: 3 * c, inStrideBatch: size * size * c,
		inStrideOuter: row, inStrideRow: row, inStrideCol: c, outStrideChannel: 1,
		outStrideCol: c, channelsInner: true, planes: 1, inH: size, inRow: size * c, padH: 1,
		padRow: c, paddedH: size + 2, paddedRow: row, copiedRow: size * c, pixel: c,
		copyMode: 1, sourceStrideChannel: 1, upsampleH: 1, upsampleW: 1}
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
		a := WinogradParams{batch: 2, inChannels: c, outChannels: cout, inH: ih, inW: iw,
			outH: ih, outW: iw, padH: 1, padW: 1, tileSide: side, tilesAcross: across,
			tiles: tiles, block: 12}
		f := Epilogue{add: add, low: low, high: high}
		Winograd(y, x, w, bias, scratch, &a, &f)
		a.block = 24
		want := slices.Clone(y)
		for _, parts := range []int{1, 2, 3, 5, 64} {
			for i := range y {
				y[i] = float32(math.NaN())
			}
			for part := parts - 1; part >= 0; part-- {
				WinogradPart(Piece{0, part, parts}, y, x, w, bias, scratch, &a, &f)
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
		s := Piece{0, c.parts - 1, c.parts}.divide(c.cout, c.oh, c.ow, c.x, c.w)
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
