package xnn

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/xnnpack"
)

// flagTranspose says that the weights of a fully connected node are transposed;
// flagAlignCorners that corners are points of the image that is resized.
const (
	flagTranspose    = 1
	flagAlignCorners = 8
)

// flags checks that a node has no flags but those known.
func flags(n *xnnpack.Node, known int64) int64 {
	f := n.Int("flags")
	if f&^known != 0 {
		must.Fail("flags %d", f)
	}
	return f
}

// weight returns a constant operand in floats of the other operand's type.
func (r *raiser) weight(id uint32, d ir.DType) *ir.Value {
	if r.get(id).Quant != nil {
		return r.float(id)
	}
	return r.cast(r.float(id), d)
}

// bias returns the bias of a node, nil for none.
func (r *raiser) bias(n *xnnpack.Node, d ir.DType) *ir.Value {
	id := n.Inputs[2]
	if id == xnnpack.None {
		return nil
	}
	return r.weight(id, d)
}

func (r *raiser) fullyConnected(n *xnnpack.Node) *ir.Value {
	x := r.float(n.Inputs[0])
	w := r.weight(n.Inputs[1], x.Type.DType)
	if w.Type.Rank() != 2 {
		must.Fail("a weight of %v", w.Type)
	}
	if flags(n, flagTranspose) != 0 {
		w = r.permute(w, []int64{1, 0})
	}
	return r.sum(n, r.Op("aten.linear.default", x, w, r.bias(n, x.Type.DType)))
}

// sum is the result of a layer: float16 if it is to be, where the run quantizes the operand.
func (r *raiser) sum(n *xnnpack.Node, y *ir.Value) *ir.Value {
	if to := r.values[n.Outputs[0]]; to.Type == xnnpack.FP16 && r.get(n.Inputs[0]).rows != nil {
		return r.cast(y, ir.Float16)
	}
	return y
}

// window is where a kernel of two dimensions lies on images. Pads are before and after, of rows
// and of columns.
type window struct {
	kernel, stride, dilation [2]int64
	pads                     [2][2]int64
}

// windowOf reads a node's window by the names of its members.
func windowOf(n *xnnpack.Node, kernel, stride string) (w window) {
	for i, side := range []string{"height", "width"} {
		w.kernel[i], w.stride[i] = n.Int(kernel+"_"+side), n.Int(stride+"_"+side)
		w.dilation[i] = max(n.Int("dilation_"+side), 1)
	}
	for _, x := range slices.Concat(w.kernel[:], w.stride[:], w.dilation[:]) {
		if x < 1 || x > math.MaxInt32 {
			must.Fail("a window of %d by %d, strides %d, dilations %d", w.kernel[0], w.kernel[1],
				w.stride, w.dilation)
		}
	}
	w.pads = [2][2]int64{{n.Int("padding_top"), n.Int("padding_bottom")},
		{n.Int("padding_left"), n.Int("padding_right")}}
	for _, p := range slices.Concat(w.pads[0][:], w.pads[1][:]) {
		if p > math.MaxInt32 {
			must.Fail("a padding of %d", p)
		}
	}
	return w
}

// before are the pads of both dimensions, if those after them are the same.
func (w *window) before() (pads []int64, ok bool) {
	return []int64{w.pads[0][0], w.pads[1][0]},
		w.pads[0][0] == w.pads[0][1] && w.pads[1][0] == w.pads[1][1]
}

// padded adds a number around the images, and leaves no pads.
func (r *raiser) padded(x *ir.Value, w *window, value float64) *ir.Value {
	pads := []int64{w.pads[1][0], w.pads[1][1], w.pads[0][0], w.pads[0][1]}
	w.pads = [2][2]int64{}
	return r.Op("aten.constant_pad_nd.default", x, pads, value)
}

// channelsFirst returns the images that a node reads.
func (r *raiser) channelsFirst(n *xnnpack.Node) *ir.Value {
	return r.permute(r.float(n.Inputs[0]), toFirst)
}

func (r *raiser) channelsLast(y *ir.Value) *ir.Value { return r.permute(y, toLast) }

// convolution is one by groups of channels, or with one channel in each group.
func (r *raiser) convolution(n *xnnpack.Node) *ir.Value {
	flags(n, 0)
	x := r.channelsFirst(n)
	w := windowOf(n, "kernel", "subsampling")
	f := r.weight(n.Inputs[1], x.Type.DType)
	groups, in, out := n.Int("groups"), n.Int("group_input_channels"),
		n.Int("group_output_channels")
	order, sizes := toFirst, []int64{groups * out, w.kernel[0], w.kernel[1], in}
	if n.Kind.String() == "XNNDepthwiseConv2d" {
		order, sizes = []int64{3, 0, 1, 2}, []int64{1, w.kernel[0], w.kernel[1], groups * out}
		if in != 1 {
			must.Fail("%d channels in a group", in)
		}
	}
	r.sized(f, sizes)
	f = r.permute(f, order)
	pads, ok := w.before()
	if !ok {
		x = r.padded(x, &w, 0)
		pads, _ = w.before()
	}
	y := r.Op("aten.convolution.default", x, f, r.bias(n, x.Type.DType), w.stride[:], pads,
		w.dilation[:], false, []int64{0, 0}, groups)
	return r.channelsLast(r.sum(n, y))
}

// sized checks the sizes of a filter.
func (r *raiser) sized(f *ir.Value, sizes []int64) {
	if !sym.AllEqual(f.Type.Sizes, ir.Ints(sizes)) {
		must.Fail("the filter is %v, its sizes would be %d", f.Type, sizes)
	}
}

func (r *raiser) transposedConvolution(n *xnnpack.Node) *ir.Value {
	flags(n, 0)
	x := r.channelsFirst(n)
	w := windowOf(n, "kernel", "subsampling")
	f := r.weight(n.Inputs[1], x.Type.DType)
	groups, in, out := n.Int("groups"), n.Int("group_input_channels"),
		n.Int("group_output_channels")
	r.sized(f, []int64{groups * out, w.kernel[0], w.kernel[1], in})
	if groups == 1 {
		f = r.permute(f, []int64{3, 0, 1, 2})
	} else {
		f = r.Op("aten.view.default", f, []int64{groups, out, w.kernel[0], w.kernel[1], in})
		f = r.permute(f, []int64{0, 4, 1, 2, 3})
		f = r.Op("aten.view.default", f, []int64{groups * in, out, w.kernel[0], w.kernel[1]})
	}
	pads, ok := w.before()
	if !ok {
		must.Fail("paddings %d and %d of a transposed convolution", w.pads[0], w.pads[1])
	}
	y := r.Op("aten.convolution.default", x, f, r.bias(n, x.Type.DType), w.stride[:], pads,
		w.dilation[:], true, []int64{n.Int("adjustment_height"), n.Int("adjustment_width")}, groups)
	return r.channelsLast(y)
}

// averagePool divides by the number of elements inside the image.
func (r *raiser) averagePool(n *xnnpack.Node) *ir.Value {
	x := r.channelsFirst(n)
	w := windowOf(n, "pooling", "stride")
	pads, ok := w.before()
	if !ok || w.dilation != [2]int64{1, 1} {
		must.Fail("paddings %d and %d, dilations %d", w.pads[0], w.pads[1], w.dilation)
	}
	return r.channelsLast(r.Op("aten.avg_pool2d.default", x, w.kernel[:], w.stride[:], pads,
		false, false))
}

func (r *raiser) maxPool(n *xnnpack.Node) *ir.Value {
	x := r.channelsFirst(n)
	w := windowOf(n, "pooling", "stride")
	pads, ok := w.before()
	if !ok || 2*pads[0] > w.kernel[0] || 2*pads[1] > w.kernel[1] {
		x = r.padded(x, &w, r.least(n.Inputs[0]))
		pads, _ = w.before()
	}
	return r.channelsLast(r.Op("aten.max_pool2d.default", x, w.kernel[:], w.stride[:], pads,
		w.dilation[:]))
}

// least is the least number that an element of a value may be.
func (r *raiser) least(id uint32) float64 {
	t := r.get(id)
	if q, ok := t.Quant.(xnnpack.PerTensor); ok {
		lo, _ := rangeOf(t.Type)
		return float64(float32(lo-int64(q.ZeroPoint)) * q.Scale)
	}
	return math.Inf(-1)
}

func (r *raiser) globalPool(n *xnnpack.Node) *ir.Value {
	x := r.channelsFirst(n)
	return r.channelsLast(r.Op("aten.mean.dim", x, []int64{2, 3}, true))
}

func (r *raiser) resize(n *xnnpack.Node) *ir.Value {
	x := r.channelsFirst(n)
	corners := flags(n, flagAlignCorners) != 0
	size := []int64{n.Int("new_height"), n.Int("new_width")}
	y := r.Op("aten.upsample_bilinear2d.vec", x, size, corners, nil)
	return r.channelsLast(y)
}

// argMaxPool has windows side by side. Its second result is where in its window the largest
// element is.
func (r *raiser) argMaxPool(n *xnnpack.Node) {
	x := r.float(n.Inputs[0])
	kernel := [2]int64{n.Int("pooling_height"), n.Int("pooling_width")}
	for _, side := range []string{"top", "right", "bottom", "left"} {
		if p := n.Int("padding_" + side); p != 0 {
			must.Fail("a padding of %d", p)
		}
	}
	if x.Type.Rank() != 4 || kernel[0] < 1 || kernel[1] < 1 || kernel[0] > math.MaxInt16 ||
		kernel[1] > math.MaxInt16 {
		must.Fail("windows of %d by %d of %v", kernel[0], kernel[1], x.Type)
	}
	s := x.Type.Sizes
	h, w := sym.FloorDiv(s[1], sym.Int(kernel[0])), sym.FloorDiv(s[2], sym.Int(kernel[1]))
	x = r.Op("aten.slice_copy.Tensor", x, 1, 0, sym.Mul(h, sym.Int(kernel[0])))
	x = r.Op("aten.slice_copy.Tensor", x, 2, 0, sym.Mul(w, sym.Int(kernel[1])))
	x = r.Op("aten.view.default", x, []sym.Expr{s[0], h, sym.Int(kernel[0]), w,
		sym.Int(kernel[1]), s[3]})
	x = r.Op("aten.permute_copy.default", x, []int64{0, 1, 3, 5, 2, 4})
	x = r.Op("aten.view.default", x, []sym.Expr{s[0], h, w, s[3],
		sym.Int(kernel[0] * kernel[1])})
	outs := r.Ops("aten.max.dim", x, -1)
	r.give(n.Outputs[0], outs[0])
	to := r.values[n.Outputs[1]]
	if to.Type != xnnpack.Int32 {
		must.Fail("indices of %v", to.Type)
	}
	r.give(n.Outputs[1], r.cast(outs[1], ir.Int32))
}
