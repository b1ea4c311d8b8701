package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// pointsInt8 is the form of Conv2DInt8 for vectors where each result sees elements of its own,
// as in a product. In all text for vectors w is [ceil(cout/16)][depth/4][16][4], with zeros up to a
// multiple of four of what lies beside each other in the copied image, and sums begin at
// start[2][ceil(cout/16)·16]: the second row is for instructions that take the input as unsigned,
// 128 being added to each element.
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
// four products want it: fours of channels. Of fewer channels, fours of columns are.
const fewestBytes = 4

// planes reports whether text for vectors multiplies fours of columns of planes, a channel each. Go
// does so if results have more channels than ConvFew takes.
func (cv *int8Conv) planes(t Target) bool {
	return ChannelsLast(t) && cv.groups == 1 && cv.cin < fewestBytes && cv.kernel[1] >= 3 &&
		cv.axes[1].dilation.Is(1) && (!t.Language.FindsVectors || cv.cout > fewChannels)
}

// MultipliesBytes tells which products of bytes some of kernels multiply as they are on a
// target where time counts: of a call, and the constants that it reads. Convolutions are worth
// it with instructions for four products. Products of matrices always are, whose weights are
// read from far. No kernel of bytes is shared by threads.
func MultipliesBytes(kernels []*Kernel, t Target) func(*ops.Call, map[*ir.Value]bool) bool {
	vectors := ChannelsLast(t) && (!t.Language.FindsVectors || t.Machine.Assembly != nil)
	return func(c *ops.Call, constant map[*ir.Value]bool) bool {
		r := &Request{Call: c, Target: t, Const: func(k int) ([]byte, bool) {
			v := c.Operands()[k]
			if !constant[v] || v.Const == nil {
				return nil, false
			}
			data, err := ir.Tensor(v.Const)
			return data, err == nil
		}}
		if c.Op.Name() == ops.IntegerMatmul && c.Has("scales") {
			return Select(kernels, r) != nil
		}
		cv := int8Of(r)
		if cv != nil && cv.slidesBytes() && t.Language.FindsVectors && len(c.Outs[0].Sizes) == 4 {
			// Its images will have their channels last.
			r.Order, r.Out = func(int) []int { return NHWC }, NHWC
			cv = int8Of(r)
		}
		return cv != nil && vectors && t.Threads < 2 && (cv.linear ||
			(t.Machine.Dot || t.Language.FindsVectors || t.byteSize() > 1) &&
				(cv.cin >= fewestBytes || cv.planes(t) || cv.slidesBytes() || matchFewBytes(r) != nil)) &&
			Select(kernels, r) != nil
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

// lanes are weights whose lanes are channels, in panels of so many columns but for a last one
// that is not full, and where sums begin: with and without what 128 more makes of them.
type lanes struct {
	pixel, depth int // of the copied image, and of a sum, in bytes
	planes       int // of the copied image
	w            []byte
	start        [2][]int64
	begun        []int
	far          int64 // the largest sum of weights without their signs
}

// inLanes packs weights of what lies beside each other in the copied image, whose pixels and planes
// are given. It returns nil if they are not constant, or a sum may be too large.
func (cv *int8Conv) inLanes(r *Request, columns, pixel, planes int) *lanes {
	given, ok := r.Const(cv.w)
	if !ok || cv.groups > 1 || cv.wide || -cv.offset != int64(int8(-cv.offset)) {
		return nil
	}
	l := &lanes{pixel: pixel, planes: planes}
	run := int(roundUp(int64(cv.kernel[1]*l.pixel), 4)) // of what lies beside each other
	l.depth = cv.kernel[0] * l.planes * run
	place := func(i int) int {
		tap, channel := i/cv.cin, i%cv.cin
		row, col := tap/cv.kernel[1], tap%cv.kernel[1]
		if l.planes > 1 {
			return (row*l.planes+channel)*run + col
		}
		return row*run + col*l.pixel + channel
	}
	across := int(roundUp(int64(cv.cout), byteColumns))
	l.w, l.start = make([]byte, across*l.depth), [2][]int64{make([]int64, across),
		make([]int64, across)}
	var bias []int64
	bias, l.begun = cv.begin(r)
	for c, b := range bias {
		sum, far := int64(0), int64(0)
		first := c / columns * columns
		wide := min(columns, across-first)
		for i := range cv.depth() {
			v := int64(int8(given[cv.place(c, i)])) + cv.wOffset
			if v != int64(int8(v)) {
				return nil
			}
			sum, far = sum+v, far+max(v, -v)
			at := place(i)
			l.w[first*l.depth+at/4*4*wide+(c-first)*4+at%4] = byte(v)
		}
		if !cv.holds(b, far) {
			return nil
		}
		l.far = max(l.far, far)
		l.start[0][c] = b + sum*cv.offset
		l.start[1][c] = l.start[0][c] - 128*sum
	}
	return l
}

// vectors makes an instance of text for vectors.
func (cv *int8Conv) vectors(r *Request) *Instance {
	pixel, planes := cv.cin, 1
	switch {
	case !cv.axes[1].dilation.Is(1):
		pixel = int(roundUp(int64(cv.cin), 4))
	case cv.planes(r.Target):
		pixel, planes = 1, cv.cin
	}
	l := cv.inLanes(r, byteColumns, pixel, planes)
	if l == nil {
		return nil
	}
	direct, many := cv.direct(4), 1
	scratch := sym.Mul(cv.axes[0].reach(), cv.axes[1].reach(),
		num(l.planes*pixel*r.Target.byteSize()))
	if pixel%4 != 0 { // fours end behind a row
		scratch = sym.Add(scratch, num(4*r.Target.byteSize()))
	}
	if direct {
		many = max(bytesAtOnce/pixel/laneResults, 1) * laneResults
		if n, static := cv.axes[1].out.Const(); static {
			many = min(many, max(int(n), 1))
		}
		if scratch = num(many * pixel); many > 1 {
			scratch = num(many * pixel * r.Target.byteSize())
		}
	}
	in := cv.instance(r.Target.BytesTile(), convInt8Params, Values{"depth": num(l.depth),
		"pad_value": num(-cv.offset), "results_at_once": num(many), "direct": truth(direct),
		"wide": sym.Int(0), "int4": sym.Int(0), "planes": num(l.planes), "pixel": num(pixel),
		"whole_range": truth(slices.Contains(l.w, 0x80))},
		Packed{Name: "w", DType: ir.Int8, Data: l.w, From: []int{cv.w}},
		starts(slices.Concat(l.start[:]...)))
	if direct {
		in.Form = pointsInt8
	}
	in.Rest, in.Once, in.Begun, in.Scratch = true, true, l.begun, scratch
	in.Cost = cost(in.MACs)
	return in
}

// depthwiseLanesInt8 is the form of DepthwiseInt8 for vectors. There w is
// [ceil(kh/4)][kw][ceil(channels/16)·16][4], the four being rows of taps, with zeros for what is
// not there, and start is as for pointsInt8. Images of 8 channels that lie in vectors two pixels at
// a time have the weights and starts of the channels twice.
const depthwiseLanesInt8 = "depthwise_lanes_i8"

// narrowChannels are those of images that vectors of byteColumns see two pixels of.
const narrowChannels = byteColumns / 2

// slidesBytes reports whether text for vectors multiplies the bytes of a convolution whose channels
// are each by themselves.
func (cv *int8Conv) slidesBytes() bool {
	return cv.groups > 1 && cv.cin == 1 && cv.cout == 1 && !cv.wide && (cv.groups >= byteColumns ||
		cv.groups == narrowChannels && cv.axes[1].stride.Is(1))
}

// windows makes an instance of depthwiseLanesInt8.
func (cv *int8Conv) windows(r *Request) *Instance {
	given, ok := r.Const(cv.w)
	if !ok || !cv.slidesBytes() {
		return nil
	}
	all := int(roundUp(int64(cv.groups), byteColumns))
	taps := int(roundUp(int64(cv.kernel[0]), 4)) * cv.kernel[1]
	w, start := make([]byte, taps*all), make([]int64, 2*all)
	bias, begun := cv.begin(r)
	for at := range all {
		c := at
		if c >= cv.groups {
			if c -= cv.groups; cv.groups != narrowChannels {
				continue
			}
		}
		sum, far := int64(0), int64(0)
		for i := range cv.depth() {
			v := int64(int8(given[cv.place(c, i)])) + cv.wOffset
			if v != int64(int8(v)) {
				return nil
			}
			sum, far = sum+v, far+max(v, -v)
			row, col := i/cv.kernel[1], i%cv.kernel[1]
			w[((row/4*cv.kernel[1]+col)*all+at)*4+row%4] = byte(v)
		}
		if !cv.holds(bias[c], far) || 128*far > ops.ExactSum { // some compilers make floats of bytes
			return nil
		}
		start[at] = bias[c] + sum*cv.offset
		start[all+at] = start[at] - 128*sum
	}
	size := 1 // of an element of the copied image
	if r.Target.byteSize() > 1 {
		size = 4
	}
	in := cv.instance(r.Target.BytesTile(), depthwiseInt8Params, Values{"channels": num(cv.groups),
		"multiplier": sym.Int(1), "in_offset": num(cv.offset), "fast": sym.Int(0),
		"pad_value": num(-cv.offset), "wide": sym.Int(0), "in_place": sym.Int(0),
		"weight_stride_channel": num(cv.depth())},
		Packed{Name: "w", DType: ir.Int8, Data: w, From: []int{cv.w}}, starts(start))
	in.Form, in.Rest, in.Once, in.Begun = depthwiseLanesInt8, true, true, begun
	in.Scratch = sym.Mul(num(size), sym.Add(sym.Mul(cv.axes[0].reach(), cv.axes[1].reach(),
		num(cv.groups)), num(2*byteColumns)))
	in.Cost = cost(in.MACs)
	return in
}

// ConvBytes is the convolution, or product of rows, of bytes that are floats less their zero point,
// of any layout. It packs weights as text for vectors does, in panels of 32 columns but for a last
// one, as words; sums begin at start[2][ceil(cout/16)·16]. No sum is too large for float32. Of one
// or two channels, words have what lies beside each other in the image, and a pixel is all of a
// row.
func ConvBytes() *Kernel {
	return &Kernel{Name: "conv2d_bytes", Descriptor: convInt8Params, Go: "rows.ConvBytes",
		Buffers: []string{"w", "start", "scratch"}, Bounds: true, Rescales: true,
		Operands:  []string{"x"},
		InPatches: eachAlone, Match: matchConvBytes}
}

func matchConvBytes(r *Request) *Instance {
	cv := int8Of(r)
	if cv == nil || !ChannelsLast(r.Target) || r.Call.Outs[0].DType != ir.Float32 ||
		r.Call.Has(cv.biasName) {
		return nil
	}
	pixel, columns := int(roundUp(int64(cv.cin), 4)), cv.axes[1].reach()
	beside := cv.cin < 3 && cv.planes(r.Target)
	if beside {
		pixel = cv.cin
	}
	l := cv.inLanes(r, rowsCols, pixel, 1)
	if l == nil || l.far*cv.farthest() > ops.ExactSum {
		return nil
	}
	direct := cv.direct(4)
	// The copy, of floats, or of pairs if floats are there already; a panel of weights as floats.
	size, row := 4, sym.Int(0)
	if direct {
		size = 2
	}
	if beside { // words for each result, or all columns as floats; a row; all rows as bytes; places
		pixel = l.depth / cv.kernel[0]
		row = sym.Mul(columns, num(cv.cin))
		columns = sym.Max(cv.axes[1].out, columns)
		row = sym.Add(sym.Mul(num(4), row), sym.Mul(cv.axes[0].reach(),
			sym.Add(row, num(pixel+8))), num(4))
	}
	in := cv.instance(r.Target.tile(), convInt8Params, Values{"depth": num(l.depth),
		"pad_value": num(-cv.offset), "results_at_once": sym.Int(1), "direct": truth(direct),
		"wide": sym.Int(0), "int4": sym.Int(0), "planes": sym.Int(1), "pixel": num(pixel),
		"whole_range": sym.Int(0)},
		Packed{Name: "w", DType: ir.Float32, Data: l.w, From: []int{cv.w}},
		starts(slices.Concat(l.start[:]...)))
	in.Packed[1].DType = ir.Float32
	in.Scratch = sym.Add(sym.Mul(cv.axes[0].reach(), columns, num(pixel*size)), row,
		num(4*rowsCols*l.depth))
	in.RunChannels, in.Exact = cv.yLast, true
	in.StoresBytes = cv.yLast && cv.cout%4 == 0
	in.ReadsBytes = cv.xLast && (cv.cin%4 == 0 || !beside && cv.cin < byteBlock) &&
		cv.axes[1].inStride.Is(int64(cv.cin))
	in.Cost = cost(in.MACs)
	return in
}
