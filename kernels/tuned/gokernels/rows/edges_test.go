package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Convolutions into few channels and transposed ones in parts, last part first,
// have the same bits as whole.
func TestFewAndEdgesParts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	low, high := float32(-3), float32(math.Inf(1))
	const cin, cout, oh, ow = 3, 6, 9, 20
	const gh, phase = oh + 2, 34
	x, w, bias := draw(r, 2*cin*oh*ow, false), draw(r, cin*9*fewChannels, false),
		draw(r, fewChannels, false)
	scratch := make([]float32, cin*gh*phase)
	const deep, wide, ih, iw = 8, 40, 5, 7
	image, packed, start := draw(r, 2*ih*iw*deep, false), draw(r, 4*deep*48, false),
		draw(r, 64, false)
	last := ConvFewParams{batch: 2, inChannels: cin, outChannels: cout, inH: oh, inW: ow,
		outH: oh, outW: ow, kernelH: 3, kernelW: 3, strideH: 1, strideW: 1, dilationH: 1, padH: 1,
		padW: 1, inStrideBatch: cin * oh * ow, outStrideChannel: 1, channelsInner: true,
		paddedH: gh, paddedRow: phase, copiedW: ow, phase: phase}
	planes := last
	planes.outStrideChannel, planes.channelsInner = oh*ow, false
	edgesLast := ConvEdgesParams{batch: 2, groups: 1, outChannels: wide, inH: ih, inW: iw,
		outH: 2 * ih, outW: 2 * iw, kernelH: 2, kernelW: 2, strideH: 1, strideW: 1, dilationH: 1,
		dilationW: 1, padH: 1, padW: 1, upsampleH: 2, upsampleW: 2, columnsInMiddle: true,
		outerTaps: 1, innerTaps: deep, columnTaps: deep, sumTaps: 4 * deep,
		inStrideBatch: ih * iw * deep, inStrideRow: iw * deep, inStrideCol: deep,
		inStrideOuter: iw * deep, inStrideMiddle: deep, weightStrideOuter: 4 * deep,
		weightStrideMiddle: 2 * deep, weightStrideRow: 2 * deep, weightStrideCol: deep,
		outStrideChannel: 1, outStrideCol: wide, channelsInner: true}
	edgesPlanes := edgesLast
	edgesPlanes.outStrideChannel, edgesPlanes.outStrideCol = 4*ih*iw, 1
	edgesPlanes.channelsInner = false
	for _, k := range []struct {
		name    string
		results int
		steps   int
		do      func(d Piece, y []float32, f *Epilogue)
	}{
		{"few", 2 * cout * oh * ow, 4, func(d Piece, y []float32, f *Epilogue) {
			ConvFewPart(d, y, x, w, bias, scratch, &last, f)
		}},
		{"few, planes", 2 * cout * oh * ow, 4, func(d Piece, y []float32, f *Epilogue) {
			ConvFewPart(d, y, x, w, bias, scratch, &planes, f)
		}},
		{"edges", 2 * wide * 4 * ih * iw, 1, func(d Piece, y []float32, f *Epilogue) {
			ConvEdgesPart(d, y, image, packed, start, &edgesLast, f)
		}},
		{"edges, planes", 2 * wide * 4 * ih * iw, 1, func(d Piece, y []float32, f *Epilogue) {
			ConvEdgesPart(d, y, image, packed, start, &edgesPlanes, f)
		}},
	} {
		y, add := make([]float32, k.results), draw(r, k.results, false)
		var want []float32
		for _, parts := range []int{1, 2, 3, 5, 64} {
			for i := range y {
				y[i] = float32(math.NaN())
			}
			for step := range k.steps {
				for part := parts - 1; part >= 0; part-- {
					k.do(Piece{step, part, parts}, y, &Epilogue{add: add, low: low, high: high})
				}
			}
			if parts == 1 {
				want = slices.Clone(y)
			}
			for i, v := range y {
				if math.Float32bits(v) != math.Float32bits(want[i]) || v != v {
					t.Fatalf("%s, %d parts: result %d is %g, in one part %g", k.name, parts, i,
						v, want[i])
				}
			}
		}
	}
}
