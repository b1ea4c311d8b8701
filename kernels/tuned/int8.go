package tuned

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// The kernels of bytes compute the sums in ExecuTorch's operators for microcontrollers, and of
// quantized networks, in C. What the operator makes of a sum, bias and scales, is the epilogue's.
// Input and weights are multiplied as they are: what is added to each element of the input is a
// number for each channel, where the sums begin, and what padding holds is what it makes zero.

// Conv2DInt8 is the convolution of bytes, of any layout, or a product of rows. It copies what
// some results see. w is packed as [groups][cout/2][depth/4][2][4]. depth is kh·kw·cin, cin and
// cout are the channels of a group. With inputs of 16 bits, the second and the third of each four
// change places. Sums begin at start[groups][cout]. Zeros make depth and cout multiples of four; if
// there is one group, cout of w is a multiple of two. With int4, a byte has an element of both
// columns, the first one's in the lower half; sums are of 16 times the weights, and so is start.
func Conv2DInt8() *Kernel {
	return &Kernel{Name: "conv2d_i8", Forms: []string{convMVE, pointsInt8}, Descriptor: convInt8Params,
		Operands: []string{"x"}, C: true, Apart: true, InPatches: eachAlone,
		InPlace: eachPixelAlone, Match: matchConvInt8}
}

// DepthwiseInt8 is the convolution of bytes in which each channel is by itself and makes mult
// channels, of images whose channels lie innermost. w is [mult][ceil(channels/4)][kh][kw][4], or
// [kh][kw][4] if all blocks of four channels have the same weights, as those of an average have.
func DepthwiseInt8() *Kernel {
	return &Kernel{Name: "depthwise_i8", Forms: []string{depthwiseMVE, depthwiseLanesInt8},
		Descriptor: depthwiseInt8Params, Operands: []string{"x"}, C: true, Apart: true,
		Windows: true, InPatches: eachAlone, InPlace: rowsBehind,
		Match: matchDepthwiseInt8}
}

// convMVE is the form of Conv2DInt8 for MVE. There w is [groups][cout/4][depth/16][4][16],
// with zeros up to a multiple of sixteen, and scratch holds what some results see. With int4, a
// byte has elements of two such blocks, which there is an even number of.
const convMVE = "conv2d_mve_i8"

// depthwiseMVE is the form of DepthwiseInt8 for MVE, if mult is 1 and 16 bits hold the sum of two
// products of neighbouring taps. There w is [ceil(channels/16)][kh][kw][16], or [kh][kw][16]. start
// has what the offset of the input adds to a sum.
const depthwiseMVE = "depthwise_mve_i8"

// headMVE keeps a kernel apart from what calls it: compilers have too few registers for both.
const headMVE = "SUMS_APART"

// IsConvolutionInt8 reports whether c is a convolution of bytes that one of these
// kernels may take: they want images whose channels lie innermost in memory.
func IsConvolutionInt8(c *ops.Call, t Target) bool {
	cv := int8Of(&Request{Call: c, Target: t})
	return cv != nil && !cv.linear
}

// ReadsPlanes reports whether c is a convolution of bytes whose kernel copies planes of an image, a
// channel each.
func ReadsPlanes(c *ops.Call, t Target) bool {
	cv := int8Of(&Request{Call: c, Target: t})
	return cv != nil && !cv.linear && cv.planes(t)
}

// int8Conv is a call whose result is made of sums of (x + offset)·(w + wOffset). A
// product of rows is a convolution of one tap in one row of pixels.
type int8Conv struct {
	convolution
	offset, wOffset int64
	biasName        string // of what is added for each channel
	wide            bool   // elements of the input have 16 bits
	linear          bool
	// at is where in the weights that of a column is and of a product of its sum, which are in
	// the order rows, columns, channels.
	at func(column, product int) int
}

// maxInt8Bias is the largest bias that the kernels add.
const maxInt8Bias = 1<<30 - 1

// holds reports whether int32 holds each sum, in any order, that begins with a bias or with what
// offsets make of it: far is the sum of the weights without their signs.
func (cv *int8Conv) holds(bias, far int64) bool {
	most := cv.farthest()
	if !cv.wide {
		most = max(most, 255) // a byte without its sign
	}
	return max(bias, -bias)+far*most <= math.MaxInt32
}

// farthest returns the largest x + offset there is, without its sign.
func (cv *int8Conv) farthest() int64 {
	least, most := int64(math.MinInt8), int64(math.MaxInt8)
	if cv.wide {
		least, most = math.MinInt16, math.MaxInt16
	}
	return max(-(least + cv.offset), most+cv.offset)
}

// int8Of reads r as one, or returns nil.
func int8Of(r *Request) *int8Conv {
	c := r.Call
	var cv *int8Conv
	switch c.Op.Name() {
	case ops.IntegerConvolution:
		cv = int8Operands(c, "input", "weight", "input_zero_point", "weight_zero_point", -1)
	case ops.IntegerMatmul:
		if c.Has("scales") {
			return nil
		}
		cv = int8Operands(c, "self", "mat2", "self_zero_point", "mat2_zero_point", -1)
	case "cortex_m.quantized_conv2d.default", "cortex_m.quantized_depthwise_conv2d.default":
		cv = int8Operands(c, "input", "weight", "input_offset", "", 1)
	case "cortex_m.quantized_linear.default":
		cv = int8Operands(c, "input", "weights", "input_offset", "filter_offset", 1)
		if cv != nil && c.Has("kernel_sum") { // which the offset is part of
			cv.offset, cv.biasName = 0, "kernel_sum"
		}
	}
	if cv == nil {
		return nil
	}
	kernel := Conv2DInt8()
	if c.Operands()[cv.x].Type.DType == ir.Float32 {
		kernel = ConvBytes()
	}
	if !r.Target.Language.Has(kernel) {
		return nil
	}
	w := c.Operands()[cv.w].Type
	s, ok := w.StaticSizes()
	if !ok || w.Numel().IsZero() {
		return nil
	}
	switch c.Op.Name() {
	case ops.IntegerMatmul:
		if len(s) != 2 {
			return nil
		}
		if !c.Bool("transposed") {
			n := int(s[1])
			cv.at = func(column, k int) int { return k*n + column }
			return cv.rowsOf(r, int(s[0]), n)
		}
		return cv.rowsOf(r, int(s[1]), int(s[0]))
	case "cortex_m.quantized_linear.default":
		return cv.rowsOf(r, int(s[1]), int(s[0]))
	case ops.IntegerConvolution:
		return cv.imagesOf(r, s)
	}
	return cv.cmsisImagesOf(r, s)
}

// int8Operands reads the operands of a call and what is added to their elements, which are
// arguments times sign; nil if they are neither bytes nor inputs of 16 bits, or too far from zero.
func int8Operands(c *ops.Call, x, w, xOffset, wOffset string, sign int64) *int8Conv {
	cv := &int8Conv{biasName: "bias"}
	cv.x, cv.w, cv.b = c.Operand(x), c.Operand(w), -1
	d := c.Tensor(x).DType
	cv.wide = d == ir.Int16
	if !cv.wide && d != ir.Int8 && d != ir.Float32 || c.Tensor(w).DType != ir.Int8 ||
		c.Outs[0].DType == ir.Int64 {
		return nil
	}
	for name, to := range map[string]*int64{xOffset: &cv.offset, wOffset: &cv.wOffset} {
		if name == "" {
			continue
		}
		n, err := c.Int(name)
		if err != nil || n < -255 || n > 255 {
			return nil
		}
		*to = sign * n
	}
	if cv.wide && cv.offset != 0 {
		return nil
	}
	return cv
}

// cmsisImagesOf fills in a convolution of weights of sizes s in CMSIS-NN's order.
func (cv *int8Conv) cmsisImagesOf(r *Request, s []int64) *int8Conv {
	c := r.Call
	depthwise := c.Op.Name() == "cortex_m.quantized_depthwise_conv2d.default"
	cv.kernel = [2]int{int(s[1]), int(s[2])}
	channels, ok := c.Tensor("input").Sizes[1].Const()
	switch {
	case !depthwise && ok && channels%s[3] == 0 && s[0]%(channels/s[3]) == 0:
		cv.groups, cv.cin = int(channels/s[3]), int(s[3])
		cv.cout = int(s[0]) / cv.groups
	case depthwise && ok && s[3]%channels == 0:
		cv.groups, cv.cin, cv.cout = int(channels), 1, int(s[3]/channels)
		cv.at = func(channel, tap int) int { return tap*int(s[3]) + channel }
	default:
		return nil
	}
	return cv.images(r)
}

// imagesOf fills in a convolution of weights of sizes s in PyTorch's order.
func (cv *int8Conv) imagesOf(r *Request, s []int64) *int8Conv {
	c := r.Call
	groups, err := c.Int("groups")
	if err != nil || c.Bool("transposed") || len(s) < 3 || len(s) > 4 {
		return nil
	}
	taps := int(s[2])
	if cv.kernel = [2]int{1, taps}; len(s) == 4 {
		cv.kernel, taps = [2]int{taps, int(s[3])}, taps*int(s[3])
	}
	cv.groups, cv.cin, cv.cout = int(groups), int(s[1]), int(s[0]/groups)
	cv.at = func(column, i int) int {
		return (column*cv.cin+i%cv.cin)*taps + i/cv.cin
	}
	return cv.images(r)
}

// images fills in the axes of a convolution.
func (cv *int8Conv) images(r *Request) *int8Conv {
	x := r.Call.Tensor("input")
	cv.batch = x.Sizes[0]
	// The order of one channel, or of one pixel, is none.
	none := func(s []sym.Expr) bool { return s[1].Is(1) || sym.Mul(s[2:]...).Is(1) }
	cv.xLast, cv.yLast = r.order(cv.x) != nil || none(x.Sizes), r.Out != nil ||
		none(r.Call.Outs[0].Sizes)
	if !cv.spatial(r.Call, r.Rows) {
		return nil
	}
	return cv
}

// rowsOf fills in the axes of a product with a matrix of n columns of k: a row of pixels.
func (cv *int8Conv) rowsOf(r *Request, k, n int) *int8Conv {
	if !r.RowMajor() || r.Rows != nil {
		return nil
	}
	x := r.Call.Operands()[cv.x].Type
	cv.linear, cv.groups, cv.cin, cv.cout, cv.kernel = true, 1, k, n, [2]int{1, 1}
	one := sym.Int(1)
	cv.batch, cv.xLast, cv.yLast = one, true, true
	m := sym.Mul(x.Sizes[:x.Rank()-1]...)
	in, out := num(cv.cin), num(cv.cout)
	cv.axes[0] = axis{in: one, out: one, kernel: 1, stride: one, dilation: one, inStride: sym.Mul(m,
		in), outStride: sym.Mul(m, out)}
	cv.axes[1] = axis{in: m, out: m, kernel: 1, stride: one, dilation: one, inStride: in,
		outStride: out}
	cv.plane = m
	return cv
}

// size is how many bytes an element of the input has.
func (cv *int8Conv) size() int64 {
	if cv.wide {
		return 2
	}
	return 1
}

// depth is the number of products of a sum.
func (cv *int8Conv) depth() int { return cv.cin * cv.kernel[0] * cv.kernel[1] }

// place is at, or where row-major weights have it.
func (cv *int8Conv) place(column, product int) int {
	if cv.at == nil {
		return column*cv.depth() + product
	}
	return cv.at(column, product)
}

// direct reports whether what a result sees lies in the image as the kernel wants it: a multiple
// of so many elements.
func (cv *int8Conv) direct(of int) bool {
	a, b := &cv.axes[0], &cv.axes[1]
	return cv.groups == 1 && cv.xLast && cv.depth() == cv.cin && cv.cin%of == 0 &&
		(cv.linear || a.stride.Is(1) && b.stride.Is(1) && a.in.Equal(a.out) &&
			b.in.Equal(b.out) && !a.padded() && !b.padded())
}

// shrinks reports whether a pixel of the result follows from that of the image, and has no more
// channels.
func (cv *int8Conv) shrinks() bool {
	return !cv.linear && cv.size() == 1 && cv.direct(4) && cv.yLast && cv.cout <= cv.cin
}

// eachPixelAlone is Kernel.InPlace of Conv2DInt8: it copies what some pixels see before it
// stores them.
func eachPixelAlone(in *Instance) bool {
	if in.Form != "" || !in.param("wide").IsZero() {
		return false
	}
	one := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !in.param(name).Is(1) })
	}
	same := func(a, b string) bool { return in.param(a).Equal(in.param(b)) }
	return one("groups", "kernel_h", "kernel_w", "stride_h", "stride_w", "in_stride_channel",
		"out_stride_channel") && in.param("direct").IsZero() && same("in_h", "out_h") &&
		same("in_w", "out_w") && same("in_channels", "in_stride_col") &&
		in.param("out_channels").Equal(in.param("out_stride_col")) &&
		sym.LessEq(in.param("out_channels"), in.param("in_channels"))
}

// saves reports whether copies of so many pixels take less than the image that lies over the other.
func (cv *int8Conv) saves(rows int) bool {
	results, static := sym.Mul(cv.axes[0].out, cv.axes[1].out).Const()
	return !static || results*int64(cv.cout) > int64(rows*cv.cin)
}

func matchConvInt8(r *Request) *Instance {
	cv := int8Of(r)
	// Of a single product there is no sum.
	if cv == nil || cv.groups > 1 && cv.cin == 1 || cv.depth() < 2 {
		return nil
	}
	if ChannelsLast(r.Target) {
		return cv.vectors(r)
	}
	mve := r.Target.Machine.MVE && !cv.wide
	fours := interleaving{columns: 2, elements: 4}
	if mve {
		fours = interleaving{columns: 4, elements: 16}
	}
	w, start, begun, int4, ok := cv.interleave(r, fours)
	if !ok {
		return nil
	}
	depth := roundUp(int64(cv.depth()), fours.elements)
	direct, copied := 0, int64(0)
	rows := cv.together(r.Target, int4)
	spare := r.Spare && !mve && cv.shrinks() && cv.saves(rows) // what is copied may be overwritten
	if !spare && cv.direct(4) || mve && cv.direct(1) {
		direct = 1
	}
	switch {
	case mve:
		if direct == 0 {
			copied = int64(rows) * depth
		} else {
			depth = int64(cv.depth())
		}
	case !r.Target.Machine.MayPair() || rows == 1:
		if direct == 0 { // as they are
			copied = int64(rows) * depth * cv.size()
		}
	case cv.wide:
		copied = int64(rows) * depth * cv.size()
	default: // made 16 bits wide
		if copied = 2 * int64(rows) * depth; !cv.xLast || cv.cin%4 != 0 {
			copied += depth // and as they are before that
		}
	}
	in := cv.instance(r.Target.BytesTile(), convInt8Params, Values{"depth": num(depth),
		"pad_value": num(-cv.offset), "results_at_once": num(rows), "direct": num(direct),
		"wide": num(cv.size() - 1), "int4": truth(int4), "planes": sym.Int(1),
		"pixel": num(cv.cin), "whole_range": sym.Int(1)}, w, start)
	in.Rest, in.Once, in.Begun, in.Scratch = true, true, begun, num(roundUp(copied, 16))
	if mve {
		in.Form, in.Head = convMVE, headMVE
	}
	in.Cost = cost(in.MACs)
	if direct == 0 {
		in.Spent = perCopy * cost(sym.Mul(cv.batch, cv.axes[0].out, cv.axes[1].out))
	}
	return in
}

// together returns how many results are computed at once. For a panel of four columns, as groups
// have them, making the image 16 bits wide does not pay.
func (cv *int8Conv) together(t Target, int4 bool) int {
	results, static := sym.Mul(cv.axes[0].out, cv.axes[1].out).Const()
	switch {
	case static && results == 1 || t.Machine.MVE && !t.Speed:
		return 1
	case !t.Machine.MayPair():
		return 2
	case t.Machine.DSP && !t.Speed || static && results < 4 || cv.cout <= 4:
		return 1
	case static && results%4 != 0 && results%5 == 0 && !int4:
		return 5
	}
	return 4
}

func matchDepthwiseInt8(r *Request) *Instance {
	cv := int8Of(r)
	if cv == nil || cv.groups == 1 || cv.cin > 1 || cv.depth() < 2 ||
		-cv.offset != int64(int8(-cv.offset)) {
		return nil
	}
	if ChannelsLast(r.Target) {
		return cv.windows(r)
	}
	if !cv.xLast {
		return nil
	}
	given, ok := r.Const(cv.w)
	if !ok || cv.wOffset != 0 {
		return nil
	}
	taps, lanes := cv.depth(), 4
	tap := func(channel, tap int) int64 { return int64(int8(given[cv.place(channel, tap)])) }
	mve := r.Target.Machine.MVE && cv.cout == 1 && !cv.wide
	for channel := 0; mve && channel < cv.groups; channel++ {
		for i := taps%2 + 1; i < taps; i += 2 {
			mve = mve && tap(channel, i-1)+tap(channel, i) > 2*math.MinInt8
		}
	}
	if mve {
		lanes = 16
	}
	all, deep := int(roundUp(int64(cv.groups), 4)), int(roundUp(int64(cv.groups), lanes))*taps
	w, start := make([]byte, cv.cout*deep), make([]int64, cv.cout*all)
	bias, begun := cv.begin(r)
	for i, b := range bias {
		channel, at, far := i/cv.cout, i%cv.cout, int64(0)
		for n := range taps {
			v := tap(i, n)
			far += max(v, -v)
			w[at*deep+channel/lanes*lanes*taps+lanes*n+channel%lanes] = byte(v)
			if mve {
				b += v * cv.offset
			}
		}
		if start[at*all+channel] = b; !cv.holds(b, far) {
			return nil
		}
	}
	stride := taps
	if once, ok := oneForAll(w, lanes*taps, lanes, cv.groups); ok {
		w, stride = once, 0
	}
	rows, keep := &cv.axes[0], r.Spare && !mve && cv.same()
	in := cv.instance(r.Target.BytesTile(), depthwiseInt8Params, Values{"channels": num(cv.groups),
		"multiplier": num(cv.cout), "in_offset": num(cv.offset), "fast": num(fastPairs(r)),
		"pad_value": num(-cv.offset), "wide": num(cv.size() - 1), "in_place": truth(keep),
		"weight_stride_channel": num(stride)},
		Packed{Name: "w", DType: ir.Int8, Data: w, From: []int{cv.w}}, starts(start))
	if mve {
		in.Form, in.Head, in.Scratch = depthwiseMVE, headMVE, num(roundUp(int64(4*taps+cv.groups), 16))
	}
	in.Rest, in.Once, in.Begun = true, true, begun
	in.Cost = cost(in.MACs)
	if keep {
		kept := sym.Mul(sym.Min(rows.in, rows.seen()), rows.inStride)
		in.Scratch = sym.Mul(num(16), sym.CeilDiv(kept, num(16)))
		in.Spent = perKept * cost(kept, rows.out)
	}
	return in
}

// oneForAll returns what every block of w begins with, if they are equal but for channels behind
// the last one: w has blocks of so many bytes, each of lanes channels.
func oneForAll(w []byte, block, lanes, channels int) ([]byte, bool) {
	of := int(roundUp(int64(channels), lanes)) / lanes // blocks of all channels
	for i, b := range w {
		if channel := i/block%of*lanes + i%lanes; channel < channels && b != w[i%block] {
			return nil, false
		}
	}
	return w[:block], len(w) > block
}

// same reports whether results lie as the image does, each row over one that no row behind it
// is the first to see.
func (cv *int8Conv) same() bool {
	rows, cols := &cv.axes[0], &cv.axes[1]
	return cv.size() == 1 && cv.yLast && cv.cout == 1 && rows.in.Equal(rows.out) &&
		cols.in.Equal(cols.out) && rows.stride.Is(1) &&
		cols.stride.Is(1) && sym.LessEq(sym.Add(rows.pad, sym.Int(1)), rows.seen())
}

// seen is from how many rows on end the taps of a column are.
func (a *axis) seen() sym.Expr {
	return sym.Add(sym.Mul(num(a.kernel-1), a.dilation), sym.Int(1))
}

// rowsBehind is Kernel.InPlace of DepthwiseInt8: rows are copied before they are overwritten, or
// results see what lies far enough behind them.
func rowsBehind(in *Instance) bool {
	if in.Form != "" || !in.param("wide").IsZero() {
		return false
	}
	if in.param("in_place").Is(1) {
		return true
	}
	one := sym.Int(1)
	for _, name := range []string{"multiplier", "in_stride_channel", "out_stride_channel"} {
		if !in.param(name).Is(1) {
			return false
		}
	}
	for _, side := range []string{"_h", "_w"} {
		if !sym.LessEq(sym.Int(2), in.param("stride"+side)) ||
			!sym.LessEq(in.param("pad"+side), one) {
			return false
		}
	}
	return sym.LessEq(in.param("out_w"), in.param("in_w"))
}

// fastPairs is 1 if the machine multiplies pairs and time counts more than the size of the text.
func fastPairs(r *Request) int {
	if r.Target.Speed && r.Target.Machine.DSP {
		return 1
	}
	return 0
}

// begin returns what the sums of all channels begin with: what is added to each, and
// which operand that is, or zeros.
func (cv *int8Conv) begin(r *Request) (bias []int64, begun []int) {
	n := cv.groups * cv.cout
	bias = make([]int64, n)
	if !r.Call.Has(cv.biasName) {
		return bias, nil
	}
	k := r.Call.Operand(cv.biasName)
	data, ok := r.Const(k)
	if !ok || r.Call.Operands()[k].Type.DType != ir.Int32 {
		return bias, nil
	}
	for c := range len(data) / 4 {
		bias[c] = int64(int32(binary.LittleEndian.Uint32(data[4*c:])))
		if max(bias[c], -bias[c]) > maxInt8Bias {
			return make([]int64, n), nil
		}
	}
	return bias, []int{k}
}
