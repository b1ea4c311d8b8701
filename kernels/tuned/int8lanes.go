package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// pointsInt8 is the form of Conv2DInt8 for vectors where each result sees elements of its own,
// as in a product. In all text for vectors w is [ceil(cout/16)][depth/4][16][4], with zeros for
// channels up to a multiple of four, and sums begin at start[2][ceil(cout/16)·16]: the second row
// is for instructions that take the input as unsigned, 128 being added to each element.
const pointsInt8 = "points_i8"

// byteColumns is the width of a panel of weights for vectors.
const byteColumns = 16

// Results that see elements of their own are taken as many at once as see so many elements, which
// stay in the cache: a multiple of the rows of any tile.
const (
	bytesAtOnce = 1 << 15
	laneResults = 12
)

// fewestBytes is how many channels of an image are worth copying it as the instructions for
// four products want it.
const fewestBytes = 4

// MultipliesBytes tells which products of bytes some of kernels multiply as they are on a
// target where time counts: of a call, and the constants that it reads. Convolutions are worth
// it with instructions for four products. Products of matrices always are, whose weights are
// read from far. No kernel of bytes is shared by threads.
func MultipliesBytes(kernels []*Kernel, t Target) func(*ops.Call, map[*ir.Value]bool) bool {
	return func(c *ops.Call, constant map[*ir.Value]bool) bool {
		r := &Request{Call: c, Target: t, Const: func(k int) ([]byte, bool) {
			v := c.Operands()[k]
			if !constant[v] {
				return nil, false
			}
			data, err := ir.Tensor(v.Const)
			return data, err == nil
		}}
		cv := int8Of(r)
		return cv != nil && ChannelsLast(t) && t.Threads < 2 && (cv.linear ||
			(t.Machine.Dot || t.byteSize() > 1) && cv.cin >= fewestBytes) && Select(kernels, r) != nil
	}
}

// byteSize is as how many bytes text for vectors may copy a byte: those of x86 multiply pairs of
// 16 bits, but for the instructions for four products.
func (t Target) byteSize() int {
	if !t.Machine.Dot && t.Machine.May("__SSE2__") {
		return 2
	}
	return 1
}

// inLanes makes an instance of text for vectors, whose lanes are channels.
func (cv *int8Conv) inLanes(r *Request) *Instance {
	given, ok := r.Const(cv.w)
	if !ok || cv.groups > 1 || cv.wide || -cv.offset != int64(int8(-cv.offset)) {
		return nil
	}
	pixel := int(roundUp(int64(cv.cin), 4))
	depth, across := cv.depth()/cv.cin*pixel, int(roundUp(int64(cv.cout), byteColumns))
	w, begins := make([]byte, across*depth), make([]int64, 2*across)
	bias, begun := cv.begin(r)
	for c, b := range bias {
		sum, far := int64(0), int64(0)
		for i := range cv.depth() {
			v := int64(int8(given[cv.place(c, i)])) + cv.wOffset
			if v != int64(int8(v)) {
				return nil
			}
			sum, far = sum+v, far+max(v, -v)
			at := i/cv.cin*pixel + i%cv.cin
			w[c/byteColumns*byteColumns*depth+at/4*4*byteColumns+c%byteColumns*4+at%4] = byte(v)
		}
		if !cv.holds(b, far) {
			return nil
		}
		begins[c] = b + sum*cv.offset
		begins[across+c] = begins[c] - 128*sum
	}
	direct, many := cv.direct(4), 1
	scratch := sym.Mul(cv.axes[0].reach(), cv.axes[1].reach(), num(pixel*r.Target.byteSize()))
	if direct {
		many = max(bytesAtOnce/pixel/laneResults, 1) * laneResults
		if n, static := cv.axes[1].out.Const(); static {
			many = min(many, max(int(n), 1))
		}
		if scratch = num(many * pixel); many > 1 {
			scratch = num(many * pixel * r.Target.byteSize())
		}
	}
	in := cv.instance(r.Target.bytesTile(), convInt8Params, Values{"depth": num(depth),
		"pad_value": num(-cv.offset), "results_at_once": num(many), "direct": truth(direct),
		"wide": sym.Int(0), "int4": sym.Int(0),
		"whole_range": truth(slices.Contains(w, 0x80))},
		Packed{Name: "w", DType: ir.Int8, Data: w, From: []int{cv.w}}, starts(begins))
	if direct {
		in.Form = pointsInt8
	}
	in.Rest, in.Begun, in.Scratch = true, begun, scratch
	in.Cost = cost(in.MACs)
	return in
}
