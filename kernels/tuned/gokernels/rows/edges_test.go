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
	for _, k := range []struct {
		name    string
		results int
		steps   int
		do      func(step, part, parts int, y, add []float32)
	}{
		{"few", 2 * cout * oh * ow, 4, func(step, part, parts int, y, add []float32) {
			ConvFewPart(step, part, parts, y, x, w, bias, scratch, 2, cin, cout, oh, ow, 3, 3, 1, 1,
				1, cin*oh*ow, oh, ow, 1, 1, ow, gh, phase, phase, add, low, high, nil)
		}},
		{"few, planes", 2 * cout * oh * ow, 4, func(step, part, parts int, y, add []float32) {
			ConvFewPlanesPart(step, part, parts, y, x, w, bias, scratch, 2, cin, cout, oh, ow, 3, 3,
				1, 1, 1, cin*oh*ow, oh, ow, 1, 1, ow, gh, phase, phase, oh*ow, add, low, high, nil)
		}},
		{"edges", 2 * wide * 4 * ih * iw, 1, func(step, part, parts int, y, add []float32) {
			ConvEdgesPart(step, part, parts, y, image, packed, start, 2, 1, wide, 2*ih, 2*iw, ih,
				iw, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 0, 1, 1, deep, deep, 4*deep,
				ih*iw*deep, 0, iw*deep, deep, iw*deep, deep, 4*deep, 2*deep, 2*deep, deep, wide, 1,
				add, low, high, nil)
		}},
		{"edges, planes", 2 * wide * 4 * ih * iw, 1, func(step, part, parts int, y, add []float32) {
			ConvEdgesPlanesPart(step, part, parts, y, image, packed, start, 2, 1, wide, 2*ih, 2*iw,
				ih, iw, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 0, 1, 1, deep, deep, 4*deep,
				ih*iw*deep, 0, iw*deep, deep, iw*deep, deep, 4*deep, 2*deep, 2*deep, deep, 1,
				4*ih*iw, add, low, high, nil)
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
					k.do(step, part, parts, y, add)
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
