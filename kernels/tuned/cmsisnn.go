package tuned

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// CMSISNN returns kernels that call Arm's library CMSIS-NN, one for each operator of cortex_m whose
// arithmetic is that of a function of the library. They go before all others. The application
// compiles and links the library. What a kernel does not accept, as images whose channels do
// not lie innermost, stays with the kernels behind them.
func CMSISNN() []*Kernel {
	list := []*Kernel{
		{Name: "cmsis_nn_convolve", Descriptor: cmsisConvParams, Operands: []string{"x"},
			Match: matchCMSISConvolve},
		{Name: "cmsis_nn_depthwise", Descriptor: cmsisConvParams, Operands: []string{"x"},
			Match: matchCMSISDepthwise},
		{Name: "cmsis_nn_linear", Descriptor: cmsisLinearParams, Operands: []string{"x"},
			Match: matchCMSISLinear},
		{Name: "cmsis_nn_avg_pool", Descriptor: cmsisPoolParams, Operands: []string{"x"},
			Match: matchCMSISAvgPool},
		{Name: "cmsis_nn_max_pool", Descriptor: cmsisPoolParams, Operands: []string{"x"},
			Match: matchCMSISMaxPool},
		{Name: "cmsis_nn_add", Descriptor: cmsisAddParams, Operands: []string{"x", "other"},
			Match: matchCMSISAdd},
		{Name: "cmsis_nn_mul", Descriptor: cmsisMulParams, Operands: []string{"x", "other"},
			Match: matchCMSISMul},
		{Name: "cmsis_nn_softmax", Descriptor: cmsisSoftmaxParams, Operands: []string{"x"},
			Match: matchCMSISSoftmax},
	}
	for _, k := range list {
		k.C, k.Whole, k.Fails, k.Include = true, true, true, "arm_nnfunctions.h"
	}
	return list
}

// NeedsCopies reports whether a library among kernels takes r only if a row-major image is copied,
// or only if its result is: it wants channels innermost.
func NeedsCopies(kernels []*Kernel, r *Request) (into, out bool) {
	takes := func(image, result []int) bool {
		as := *r
		as.Order, as.Out = func(int) []int { return image }, result
		return slices.ContainsFunc(kernels, func(k *Kernel) bool {
			return k.Include != "" && k.match(&as) != nil
		})
	}
	if r.Call.Outs[0].Rank() != 4 || !takes(NHWC, NHWC) {
		return false, false
	}
	return !takes(nil, NHWC), !takes(NHWC, nil)
}

const cortexM = "cortex_m.quantized_"

// cmsisCall is a call of an operator of cortex_m, whose arguments become the values of fields.
type cmsisCall struct {
	r      *Request
	values Values
	ok     bool // all arguments so far are known
}

// cmsisOf reads a call of an operator on int8; ok is false if r is none.
func cmsisOf(r *Request, op string) *cmsisCall {
	m := &cmsisCall{r: r, values: Values{}}
	m.ok = r.Call.Op.Name() == op+".default" && r.Call.Operands()[0].Type.DType == ir.Int8 &&
		r.Rows == nil && len(r.Call.Outs) == 1
	return m
}

// set gives fields values.
func (m *cmsisCall) set(values Values) {
	maps.Copy(m.values, values)
}

// ints gives fields the values of arguments that are ints: field, argument, ….
func (m *cmsisCall) ints(names ...string) {
	for ; m.ok && len(names) > 0; names = names[2:] {
		n, err := m.r.Call.Int(names[1])
		m.ok = err == nil && n == int64(int32(n))
		m.values[names[0]] = num(n)
	}
}

// pairs gives the fields FIELD_h and FIELD_w the values of an argument.
func (m *cmsisCall) pairs(names ...string) {
	for ; m.ok && len(names) > 0; names = names[2:] {
		var p [2]sym.Expr
		p, m.ok = pair(m.r.Call, names[1])
		m.values[names[0]+"_h"], m.values[names[0]+"_w"] = p[0], p[1]
	}
}

// images gives the fields of image and result values, which have to lie channels last.
func (m *cmsisCall) images() {
	if !m.ok {
		return
	}
	x, y := m.r.Call.Operands()[0].Type, m.r.Call.Outs[0]
	if m.ok = x.Rank() == 4; !m.ok {
		return
	}
	last := func(order []int, t ir.Type) bool {
		return order != nil || t.Sizes[1].Is(1) || t.Sizes[2].Is(1) && t.Sizes[3].Is(1)
	}
	m.ok = last(m.r.order(0), x) && last(m.r.Out, y)
	m.set(Values{"batch": x.Sizes[0], "in_h": x.Sizes[2], "in_w": x.Sizes[3],
		"in_channels": x.Sizes[1], "out_h": y.Sizes[2], "out_w": y.Sizes[3]})
}

// constant packs an operand as it is; zeros of int32 if the call does not have it.
func (m *cmsisCall) constant(name, argument string, n int) (p Packed) {
	if !m.ok {
		return p
	}
	k := m.r.Call.Operand(argument)
	if k < 0 {
		return Packed{Name: name, DType: ir.Int32, Data: make([]byte, 4*n)}
	}
	data, ok := m.r.Const(k)
	m.ok = ok
	return Packed{Name: name, DType: m.r.Call.Operands()[k].Type.DType, Data: data, From: []int{k}}
}

// instance makes a kernel's instance that reads these operands and works in so many bytes
// of scratch, nil if the call is not one for it.
func (m *cmsisCall) instance(d *Descriptor, macs sym.Expr, scratch int64, operands []int,
	packed ...Packed) *Instance {
	if !m.ok {
		return nil
	}
	return &Instance{Params: d.params(m.values, nil), Operands: operands, Packed: packed,
		Channels: Channels{Inner: sym.Int(1), Count: m.r.Call.Outs[0].Numel()},
		Tile:     m.r.Target.tile(), MACs: macs, Cost: -1, Scratch: num(roundUp(scratch, 16))}
}

// image is the first operand.
var image = []int{0}

func matchCMSISConvolve(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"conv2d")
	return m.convolution(true)
}

func matchCMSISDepthwise(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"depthwise_conv2d")
	m.ints("multiplier", "depth_multiplier")
	if m.ok && !r.Call.Tensor("input").Sizes[0].Is(1) { // of one image is what the library has
		return nil
	}
	return m.convolution(false)
}

// convolution makes the instance of a convolution, dense or depthwise.
func (m *cmsisCall) convolution(dense bool) *Instance {
	c := m.r.Call
	m.ints("in_offset", "input_offset", "out_offset", "output_offset", "activation_min",
		"activation_min", "activation_max", "activation_max")
	m.pairs("stride", "stride", "dilation", "dilation")
	m.images()
	if !m.ok {
		return nil
	}
	padding, err := c.SymInts("padding")
	w, static := c.Tensor("weight").StaticSizes()
	if err != nil || !static || len(padding) != 2 && len(padding) != 4 {
		return nil
	}
	// What lies behind the image follows from the size of the result, but for single taps.
	for d, p := range padding[min(2, len(padding)-2):] {
		if w[1+d] == 1 && !p.Equal(padding[d]) {
			return nil
		}
	}
	m.set(Values{"kernel_h": num(w[1]), "kernel_w": num(w[2]), "pad_h": padding[0],
		"pad_w": padding[1], "out_channels": c.Outs[0].Sizes[1]})
	channels, each := int(w[0]), w[3]
	if dense {
		m.values["multiplier"] = num(1)
	} else {
		channels, each = int(w[3]), 1
	}
	m.values["group_channels"] = num(each)
	packed := []Packed{m.constant("w", "weight", 0), m.constant("bias", "bias", channels),
		m.constant("multipliers", "requantize_multipliers", channels),
		m.constant("shifts", "requantize_shifts", channels)}
	macs := sym.Mul(c.Outs[0].Numel(), num(w[1]*w[2]*each))
	return m.instance(cmsisConvParams, macs, max(1, ops.CMSISScratch(c)[0]), image,
		packed...)
}

func matchCMSISLinear(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"linear")
	m.ints("in_offset", "input_offset", "weight_offset", "filter_offset", "out_offset",
		"output_offset", "activation_min", "activation_min", "activation_max", "activation_max")
	if !m.ok || !r.RowMajor() {
		return nil
	}
	c := r.Call
	w, static := c.Tensor("weights").StaticSizes()
	scales, err := c.Ints("requantize_multipliers")
	shifts, err2 := c.Ints("requantize_shifts")
	data, known := r.Const(c.Operand("weights"))
	if !static || !known || err != nil || err2 != nil || len(scales) == 0 || len(shifts) == 0 {
		return nil
	}
	rows := sym.Mul(c.Tensor("input").Sizes[:c.Tensor("input").Rank()-1]...)
	m.set(Values{"m": rows, "n": num(w[0]), "k": num(w[1]), "scale": num(scales[0]),
		"shift": num(shifts[0])})
	bias := m.constant("bias", "bias", int(w[0]))
	if c.Has("kernel_sum") && !c.Has("bias") { // which the bias is part of
		return nil
	}
	if r.Target.Machine.MVE {
		bias = cmsisSums(bias, data, int(w[1]), constantOf(m.values["in_offset"]),
			constantOf(m.values["weight_offset"]))
	}
	return m.instance(cmsisLinearParams, sym.Mul(rows, num(w[0]*w[1])), 0, image,
		m.constant("w", "weights", 0), bias)
}

// cmsisSums are what linear layers begin with where there are vectors: the bias plus the offset of
// the input times the sum of a row of weights.
func cmsisSums(bias Packed, w []byte, k int, offset, weightOffset int64) Packed {
	sums := make([]int64, len(bias.Data)/4)
	for i := range sums {
		sums[i] = int64(int32(binary.LittleEndian.Uint32(bias.Data[4*i:])))
		for _, v := range w[i*k:][:k] {
			sums[i] += (int64(int8(v)) + weightOffset) * offset
		}
	}
	p := starts(sums)
	p.Name = "sums"
	return p
}

// constantOf is the number that e is.
func constantOf(e sym.Expr) int64 {
	n, _ := e.Const()
	return n
}

func matchCMSISAvgPool(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"avg_pool2d")
	m.set(Values{"activation_min": num(-128), "activation_max": num(127)})
	if !m.ok {
		return nil
	}
	return m.pool(ops.CMSISScratch(r.Call)[0])
}

func matchCMSISMaxPool(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"max_pool2d")
	if m.ok {
		m.ints("activation_min", "activation_min", "activation_max", "activation_max")
	} else {
		m = cmsisOf(r, "aten.max_pool2d")
		m.set(Values{"activation_min": num(-128), "activation_max": num(127)})
	}
	if m.ok {
		d, ok := pair(r.Call, "dilation")
		m.ok = ok && d[0].Is(1) && d[1].Is(1)
	}
	return m.pool(0)
}

// pool makes the instance of a pooling that works in so many bytes of scratch.
func (m *cmsisCall) pool(scratch int64) *Instance {
	m.pairs("kernel", "kernel_size", "stride", "stride", "pad", "padding")
	m.images()
	if !m.ok || m.r.Call.Bool("ceil_mode") {
		return nil
	}
	return m.instance(cmsisPoolParams, sym.Int(0), max(1, scratch), image)
}

func matchCMSISAdd(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"add")
	m.ints("in_offset", "self_zero_point", "in_scale", "self_multiplier", "in_shift", "self_shift",
		"other_offset", "other_zero_point", "other_scale", "other_multiplier", "other_shift",
		"other_shift", "out_offset", "output_zero_point", "scale", "output_multiplier", "shift",
		"output_shift", "activation_min", "activation_min", "activation_max", "activation_max")
	return m.pairwise(cmsisAddParams)
}

func matchCMSISMul(r *Request) *Instance {
	m := cmsisOf(r, cortexM+"mul")
	m.ints("in_offset", "self_zero_point", "other_offset", "other_zero_point", "out_offset",
		"output_zero_point", "scale", "output_multiplier", "shift", "output_shift")
	return m.pairwise(cmsisMulParams)
}

// pairwise makes the instance of an operator on two tensors of the same sizes in the same order.
func (m *cmsisCall) pairwise(d *Descriptor) *Instance {
	if !m.ok {
		return nil
	}
	c, r := m.r.Call, m.r
	for k, v := range c.Operands() {
		if !sym.AllEqual(v.Type.Sizes, c.Outs[0].Sizes) || !slices.Equal(r.order(k), r.Out) {
			return nil
		}
	}
	for _, name := range []string{"in_offset", "other_offset"} {
		m.values[name] = num(-constantOf(m.values[name]))
	}
	m.values["n"] = c.Outs[0].Numel()
	return m.instance(d, sym.Int(0), 0, []int{c.Operand("self"), c.Operand("other")})
}

func matchCMSISSoftmax(r *Request) *Instance {
	m := cmsisOf(r, "cortex_m.softmax")
	m.ints("scale", "input_multiplier", "shift", "input_shift", "diff_min", "diff_min")
	if !m.ok || !r.RowMajor() {
		return nil
	}
	x := r.Call.Tensor("input")
	last := x.Rank() - 1
	m.set(Values{"m": sym.Mul(x.Sizes[:last]...), "n": x.Sizes[last]})
	return m.instance(cmsisSoftmaxParams, sym.Int(0), 0, image)
}
