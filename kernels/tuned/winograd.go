package tuned

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// Winograd is the convolution with 3x3 taps that moves by one, over images whose
// channels lie innermost in memory, by Winograd's minimal filtering: tiles of 4x4 or
// 2x2 results are made of products at 36 or 16 points, where plain sums take 144 or
// 36. Blocks of tiles are carried to their values at the points, in scratch,
// channels innermost; there each point is a matrix product with weights packed as
// w[ceil(cout/32)][points][cin][32]; sums are carried back. Both ways are linear
// maps of vectors of channels.
func Winograd() *Kernel {
	return &Kernel{Name: "winograd_f32", Descriptor: winogradParams, Go: "rows.Winograd",
		Buffers: []string{"w", "bias", "scratch"}, Phases: []string{"tiles"}, Bounds: true,
		Operands: []string{"x"}, C: true, Match: matchWinograd}
}

// winogradLanes divides the input channels: vectors have at most so many.
const winogradLanes = 16

func matchWinograd(r *Request) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv := convolutionOf(r)
	if cv == nil || cv.exact || cv.groups > 1 || !cv.xLast || !cv.yLast ||
		cv.cin%winogradLanes != 0 || cv.cout < winogradLanes || cv.kernel != [2]int{3, 3} {
		return nil
	}
	var out [2]int64
	for i := range cv.axes {
		a := &cv.axes[i]
		n, static := a.out.Const()
		if !static || n == 0 || !a.stride.Is(1) || !a.dilation.Is(1) {
			return nil
		}
		out[i] = n
	}
	plan, ok := planWinograd(cv.cin, cv.cout, out)
	if !ok || !cv.known(r) || slices.ContainsFunc(cv.weights, endless) {
		return nil
	}
	if plan.far { // weights are read once for a block
		plan.block = plan.within(cv.cin, plan.block)
	}
	// each part has its own, which need not be more than its share
	if n := int64(r.Target.Threads); n > 1 {
		plan.block = min(n*plan.block, roundUp(plan.tiles, 2)+2*n)
	}
	return cv.winograd(r, plan)
}

// endless reports whether x is infinite or no number: a weight that is would make
// all results so, not those alone that it belongs to.
func endless(x float32) bool { return x-x != 0 }

// winogradPlan is a way to carry out a convolution.
type winogradPlan struct {
	m             int64   // tiles are m by m results
	across, tiles int64   // tiles in a row of them, in an image
	block         int64   // tiles at once, an even number
	far           bool    // weights are more than a near cache has
	cost          float64 // for an image, in products
}

// planWinograd returns the cheaper tiles for images of out results. It reports
// false if plain sums are cheaper.
func planWinograd(cin, cout int, out [2]int64) (best winogradPlan, ok bool) {
	area := float64(cin) * float64(roundUp(int64(cout), rowsCols/2))
	best.cost = float64(out[0]*out[1]) * 9 * area
	for _, m := range []int64{2, 4} {
		p := winogradPlan{m: m, across: (out[1] + m - 1) / m}
		p.tiles = (out[0] + m - 1) / m * p.across
		points := (m + 2) * (m + 2)
		weights := float64(points) * area
		p.block = min(rowsMax, roundUp(p.tiles, 2))
		p.far = 4*weights > secondCache
		p.cost = float64(p.tiles)*weights + winogradCarry*float64(p.tiles*points)*float64(
			cin+cout) + winogradRead*weights
		if p.far {
			p.cost += readFar * (4*weights - secondCache)
		}
		if p.cost < best.cost {
			best, ok = p, true
		}
	}
	return best, ok
}

// within returns how many tiles there are in all or, if these are too many, how many
// a near cache has room for, at least least.
func (p *winogradPlan) within(cin int, least int64) int64 {
	room := secondCache / winogradScratch(1, (p.m+2)*(p.m+2), cin)
	return min(max(least, room/2*2), roundUp(p.tiles, 2))
}

// winogradScratch is the bytes that values and sums of some tiles take.
func winogradScratch(tiles, points int64, cin int) int64 {
	return 4 * tiles * points * int64(cin+rowsCols)
}

// What a convolution takes beside its products, in products. Measured with AVX-512 on
// two residual networks as wholes: alone, a layer finds its weights in the caches, and
// tiles of 4x4 seem to pay for the largest.
const (
	winogradCarry = 10 // a channel of a point of a tile to its value, or of a sum back
	winogradRead  = 4  // a weight: each is used for few products
	readFar       = 3  // a byte of weights that the second cache does not hold
)

// winograd makes the instance of a plan.
func (cv *convolution) winograd(r *Request, p winogradPlan) *Instance {
	side := int(p.m) + 2
	rows, cols := &cv.axes[0], &cv.axes[1]
	cin, cout := int64(cv.cin), int64(cv.cout)
	points := side * side
	s := panels.Shape{Groups: 1, N: cv.cout, A: points, B: 1, C: cv.cin, Cols: rowsCols,
		Last:   lastCols(cv.cout),
		Column: cv.cin * points, StepA: 1, StepC: points}
	w := packed("w", panels.Pack(s, atPoints(cv.weights, side)), cv.w)
	in := &Instance{
		Params: winogradParams.params(Values{"tile_side": num(int64(side)),
			"tiles_across": num(p.across), "tiles": num(p.tiles), "block": num(p.block)}, cv.window()),
		Operands: []int{cv.x},
		Packed:   []Packed{w, cv.biases(1, cv.cout, rowsCols)},
		Channels: Channels{Inner: num(1), Count: num(cout)}, RunChannels: true,
		Tile:    r.Target.tile(),
		Scratch: num(winogradScratch(p.block, int64(points), cv.cin)),
		MACs:    sym.Mul(cv.batch, num(cout), rows.out, cols.out, num(9*cin)),
	}
	in.Cost = cost(cv.batch) * p.cost / 4
	return in
}

// atPoints carries filters of 3x3 weights to their values at side by side points:
// the polynomial of a line of weights at 0, the points and infinity, divided by
// what the products of the image's values leave over.
func atPoints(w []float32, side int) []float32 {
	lines := winogradLines(side)
	out := make([]float32, 0, len(w)/9*side*side)
	for ; len(w) > 0; w = w[9:] {
		for _, a := range lines {
			var row [3]float64
			for k := range row {
				row[k] = a[0]*float64(w[k]) + a[1]*float64(w[3+k]) + a[2]*float64(w[6+k])
			}
			for _, b := range lines {
				out = append(out, float32(b[0]*row[0]+b[1]*row[1]+b[2]*row[2]))
			}
		}
	}
	return out
}

// winogradLines are the factors of three weights for each point, in the order of
// winograd_line in the C code.
func winogradLines(side int) [][3]float64 {
	if side == 4 {
		return [][3]float64{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
	}
	at := func(x, over float64) [3]float64 { return [3]float64{1 / over, x / over, x * x / over} }
	near, far := math.Sqrt2/2, math.Sqrt2
	// Over is 2·x²·(x² - y²), ±y being the other two points.
	return [][3]float64{{1, 0, 0}, at(near, -1.5), at(-near, -1.5), at(far, 6),
		at(-far, 6), {0, 0, 1}}
}
