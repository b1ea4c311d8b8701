package tuned

import (
	"encoding/binary"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// The kernels of bytes compute the sums in ExecuTorch's operators for
// microcontrollers, in C for machines without vectors. What the operator makes of a
// sum, bias and scales, is the epilogue's. Input and weights are multiplied as they
// are: what is added to each element of the input is a number for each channel,
// where the sums begin, and what padding holds is what it makes zero.

// Conv2DInt8 is the convolution of bytes, of any layout, or a product of rows. It copies what
// two results see; w is packed as [ceil(cout/2)][depth/4][2][4], depth being kh·kw·cin and
// zeros up to a multiple of four. Sums begin at start[cout]; both have zeros for a column that
// is not there.
func Conv2DInt8() *Kernel {
	return &Kernel{Name: "conv2d_i8", Forms: []string{linearInt8}, Descriptor: convInt8Params,
		Operands: []string{"x"}, C: true, InPatches: eachAlone, Match: matchConvInt8}
}

// linearInt8 is the form of Conv2DInt8 for rows of a multiple of four, which are read where
// they are: of products of matrices, and of convolutions of one tap that moves by one.
const linearInt8 = "linear_i8"

// DepthwiseInt8 is the convolution of bytes in which each channel is by itself, of
// images whose channels lie innermost. w is [kh][kw][channels].
func DepthwiseInt8() *Kernel {
	return &Kernel{Name: "depthwise_i8", Descriptor: depthwiseInt8Params,
		Operands: []string{"x"}, C: true, InPatches: eachAlone, Match: matchDepthwiseInt8}
}

// IsConvolutionInt8 reports whether c is a convolution of bytes that one of these
// kernels may take: they want images whose channels lie innermost in memory.
func IsConvolutionInt8(c *ops.Call, t Target) bool {
	cv := int8Of(&Request{Call: c, Target: t})
	return cv != nil && !cv.linear
}

// int8Conv is a call whose result is made of sums of (x + offset)·(w + wOffset). A
// product of rows is a convolution of one tap in one row of pixels.
type int8Conv struct {
	convolution
	offset, wOffset int64
	biasName        string // of what is added for each channel
	linear          bool
	tapsFirst       bool // weights are [kh][kw][channels]
}

// The largest depth of a sum, and the largest bias, for which int32 holds the sum in
// any order.
const (
	maxInt8Depth = 1 << 14
	maxInt8Bias  = 1<<30 - 1
)

// int8Of reads r as one, or returns nil.
func int8Of(r *Request) *int8Conv {
	c := r.Call
	weight, depthwise, linear := "weight", false, false
	switch c.Op.Name() {
	case "cortex_m.quantized_conv2d.default":
	case "cortex_m.quantized_depthwise_conv2d.default":
		depthwise = true
	case "cortex_m.quantized_linear.default":
		weight, linear = "weights", true
	default:
		return nil
	}
	if !r.Target.Language.Has(Conv2DInt8()) || ChannelsLast(r.Target) {
		return nil
	}
	cv := &int8Conv{biasName: "bias", linear: linear}
	cv.x, cv.w, cv.b = c.Operand("input"), c.Operand(weight), -1
	s, ok := c.Tensor(weight).StaticSizes()
	if !ok || c.Tensor(weight).Numel().IsZero() {
		return nil
	}
	var err error
	if cv.offset, err = c.Int("input_offset"); err != nil {
		return nil
	}
	x := c.Tensor("input")
	if cv.linear {
		if cv.wOffset, err = c.Int("filter_offset"); err != nil || cv.wOffset < -255 ||
			cv.wOffset > 255 {
			return nil
		}
		if c.Has("kernel_sum") { // which the offset is part of
			cv.offset, cv.biasName = 0, "kernel_sum"
		}
		cv.groups, cv.cin, cv.cout, cv.kernel = 1, int(s[1]), int(s[0]), [2]int{1, 1}
		if r.Rows != nil {
			return nil
		}
		return cv.rowsOf(r, x)
	}
	cv.batch, cv.kernel = x.Sizes[0], [2]int{int(s[1]), int(s[2])}
	switch channels := x.Sizes[1]; {
	case !depthwise && channels.Is(s[3]):
		cv.groups, cv.cin, cv.cout = 1, int(s[3]), int(s[0])
	case depthwise && channels.Is(1):
		cv.tapsFirst = true
		cv.groups, cv.cin, cv.cout = 1, 1, int(s[3])
	case depthwise && channels.Is(s[3]):
		cv.groups, cv.cin, cv.cout = int(s[3]), 1, 1
	default:
		return nil
	}
	// The order of one channel is none.
	cv.xLast, cv.yLast = r.order(cv.x) != nil || x.Sizes[1].Is(1), r.Out != nil ||
		c.Outs[0].Sizes[1].Is(1)
	if !cv.spatial(c, r.Rows) {
		return nil
	}
	return cv
}

// rowsOf fills in the axes of a product: a row of pixels.
func (cv *int8Conv) rowsOf(r *Request, x ir.Type) *int8Conv {
	if !r.RowMajor() {
		return nil
	}
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

// depth is the number of products of a sum.
func (cv *int8Conv) depth() int { return cv.cin * cv.kernel[0] * cv.kernel[1] }

// rows reports whether the rows of products lie in the input as the kernel wants
// them.
func (cv *int8Conv) rows() bool {
	a, b := &cv.axes[0], &cv.axes[1]
	return cv.groups == 1 && cv.xLast && cv.depth() == cv.cin && cv.cin%4 == 0 &&
		(cv.linear || a.in.Is(1) && a.out.Is(1) && b.stride.Is(1) && b.in.Equal(b.out) &&
			!a.padded() && !b.padded())
}

func matchConvInt8(r *Request) *Instance {
	cv := int8Of(r)
	// Of a single product there is no sum.
	if cv == nil || cv.groups > 1 || cv.depth() < 2 {
		return nil
	}
	w, start, begun, ok := cv.turns(r)
	if !ok {
		return nil
	}
	depth := roundUp(int64(cv.depth()), 4)
	form, copied, padding := "", 2*depth, -cv.offset
	if cv.rows() {
		form, copied, padding = linearInt8, 0, 0
	}
	in := cv.instance(r.Target.tile(), convInt8Params, Values{"depth": num(depth),
		"pad_value": num(padding)}, w, start)
	in.Form, in.Rest, in.Begun, in.Scratch = form, true, begun, num(copied)
	in.Cost = cost(in.MACs)
	return in
}

func matchDepthwiseInt8(r *Request) *Instance {
	cv := int8Of(r)
	if cv == nil || cv.groups == 1 || !cv.xLast || cv.depth() < 2 || cv.depth() > maxInt8Depth ||
		-cv.offset != int64(int8(-cv.offset)) {
		return nil
	}
	w, ok := r.Const(cv.w)
	if !ok {
		return nil
	}
	bias, begun := cv.begin(r, cv.groups)
	in := cv.instance(r.Target.tile(), depthwiseInt8Params, Values{"channels": num(cv.groups),
		"in_offset": num(cv.offset)},
		Packed{Name: "w", DType: ir.Int8, Data: w, From: []int{cv.w}}, starts(bias))
	in.Rest, in.Begun = true, begun
	in.Cost = cost(in.MACs)
	return in
}

// begin returns what the sums of n channels begin with: what is added to each, and
// which operand that is, or zeros.
func (cv *int8Conv) begin(r *Request, n int) (bias []int64, begun []int) {
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

// turns packs the weights of pairs of columns, whose fours take turns, and where
// their sums begin. It reports false if they are not constant, or if the sums may
// not be those of the definition.
func (cv *int8Conv) turns(r *Request) (w, start Packed, begun []int, ok bool) {
	if -cv.offset != int64(int8(-cv.offset)) || cv.depth() > maxInt8Depth {
		return w, start, nil, false
	}
	given, ok := r.Const(cv.w)
	if !ok {
		return w, start, nil, false
	}
	k := cv.depth()
	each, all := 1, k // steps from product to product, and from column to column
	if cv.tapsFirst {
		each, all = cv.cout, 1
	}
	deep := int(roundUp(int64(k), 4))
	columns := int(roundUp(int64(cv.cout), 2))
	bytes := make([]byte, columns*deep)
	bias, begun := cv.begin(r, columns)
	for c := range columns {
		sum := int64(0)
		for i := 0; c < cv.cout && i < k; i++ {
			v := int64(int8(given[c*all+i*each])) + cv.wOffset
			if v != int64(int8(v)) {
				return w, start, nil, false
			}
			sum += v
			bytes[c/2*2*deep+i/4*8+c%2*4+i%4] = byte(v)
		}
		bias[c] += sum * cv.offset
	}
	w = Packed{Name: "w", DType: ir.Int8, Data: bytes, From: []int{cv.w}}
	return w, starts(bias), begun, true
}

// starts packs what sums begin with.
func starts(sums []int64) Packed {
	p := Packed{Name: "start", DType: ir.Int32}
	for _, v := range sums {
		p.Data = binary.LittleEndian.AppendUint32(p.Data, uint32(int32(v)))
	}
	return p
}
