package xnn

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
)

func tensor(k *ir.Constant) []byte { return must.Get(ir.Tensor(k)) }

// alignCorners is the flag of resizing that corners are points of the image; keepDims is one of
// poolings, which says what they do anyhow.
const (
	alignCorners = 8
	keepDims     = 64
)

// window sets the members of a node that say where its window lies. Pads are before and after.
func window(n *xnnpack.Node, kernel, stride string, k, s, d [2]int64, pads [2][2]int64) {
	for i, side := range []string{"height", "width"} {
		set(n, kernel+"_"+side, k[i])
		set(n, stride+"_"+side, s[i])
		set(n, "dilation_"+side, d[i])
	}
	set(n, "padding_top", pads[0][0])
	set(n, "padding_bottom", pads[0][1])
	set(n, "padding_left", pads[1][0])
	set(n, "padding_right", pads[1][1])
}

// convolution has images with channels last. One of a dimension has a height, and a width of 1.
func convolution(w *writer, c *ops.Call) {
	x, k := c.Value("input"), w.weight(c.Value("weight"), w.exact)
	k.four = false // in bytes
	k.widen()
	y, limits := w.limited(w.out())
	stride, dilation := pair(c, "stride", 1), pair(c, "dilation", 1)
	pads, extra := pair(c, "padding", 0), pair(c, "output_padding", 0)
	groups := must.Get(c.Int("groups"))
	flat := len(k.dims) == 3
	if flat {
		k.dims = append(k.dims, 1)
		stride[1], dilation[1], pads[1], extra[1] = 1, 1, 0, 0
	}
	in, each := int64(k.dims[1]), int64(k.dims[0])/groups
	kind := "XNNConv2d"
	switch {
	case c.Bool("transposed"): // [ic, oc/groups, kh, kw]
		in, each = int64(k.dims[0])/groups, int64(k.dims[1])
		k.dims = append([]uint32{uint32(groups), uint32(in)}, k.dims[1:]...)
		k.permute([]uint32{0, 2, 3, 4, 1})
		k.dims = append([]uint32{k.dims[0] * k.dims[1]}, k.dims[2:]...)
		k.axis = min(k.axis, 0)
		kind = "XNNConvTranspose2d"
	case in == 1:
		k.permute([]uint32{1, 2, 3, 0})
		kind = "XNNDepthwiseConv2d"
	default:
		k.permute(toLast)
	}
	dims := k.dims
	constants := []uint32{w.constantOf(k), w.bias(c.Value("bias"), k, x, true)}
	w.onImages(kind, x, y, constants, func(n *xnnpack.Node) {
		n.Clamp = limits
		window(n, "kernel", "subsampling", [2]int64{int64(dims[1]), int64(dims[2])}, stride, dilation,
			[2][2]int64{{pads[0], pads[0]}, {pads[1], pads[1]}})
		set(n, "groups", groups)
		set(n, "group_input_channels", in)
		set(n, "group_output_channels", each)
		if c.Bool("transposed") {
			set(n, "adjustment_height", extra[0])
			set(n, "adjustment_width", extra[1])
		}
	})
}

// onImages writes a node that makes y of x, images with channels last, and of constants. Those of
// one dimension have a width of 1. Fill sets the node's members.
func (w *writer) onImages(kind string, x, y *ir.Value, constants []uint32,
	fill func(n *xnnpack.Node)) {
	if x.Type.Rank() == 4 {
		inputs := append([]uint32{w.value(x, true)}, constants...)
		fill(w.node(kind, inputs, w.result(y, true)))
		return
	}
	t := y.Type
	inputs := append([]uint32{w.flattened(x)}, constants...)
	to := w.inner(y, dim(t, 0), dim(t, 2), 1, dim(t, 1))
	fill(w.node(kind, inputs, to))
	w.unflattened(to, y)
}

func dim(t ir.Type, d int) uint32 { return uint32(known(t.Sizes[d])) }

// flattened returns a tensor [n, c, l] as images [n, l, 1, c].
func (w *writer) flattened(x *ir.Value) uint32 {
	t := x.Type
	moved := w.inner(x, dim(t, 0), dim(t, 2), dim(t, 1))
	w.permuted(w.value(x, false), moved, []uint32{0, 2, 1})
	to := w.inner(x, dim(t, 0), dim(t, 2), 1, dim(t, 1))
	w.reshaped(moved, to, t, 0, 2, -1, 1)
	return to
}

// unflattened makes a tensor [n, c, l] of images [n, l, 1, c].
func (w *writer) unflattened(from uint32, y *ir.Value) {
	t := y.Type
	moved := w.inner(y, dim(t, 0), dim(t, 2), dim(t, 1))
	w.reshaped(from, moved, t, 0, 2, 1)
	w.permuted(moved, w.result(y, false), []uint32{0, 2, 1})
}

// reshaped gives a tensor the sizes of these dimensions of a type, -1 for a size of 1.
func (w *writer) reshaped(from, to uint32, t ir.Type, dims ...int) {
	var sizes []uint32
	for _, d := range dims {
		size := int64(1)
		if d >= 0 {
			size, _ = t.Sizes[d].Const()
		}
		sizes = append(sizes, uint32(size))
	}
	n := w.node("XNNStaticReshape", []uint32{from}, to)
	set(n, "num_dims", int64(len(sizes)))
	n.Lists = [][]uint32{sizes}
}

// strideOf returns the stride of a pooling, which is its kernel's size where it is not given.
func strideOf(c *ops.Call) (k, s [2]int64) {
	k, s = pair(c, "kernel_size", 0), pair(c, "stride", 0)
	if s[0] == 0 {
		s = k
	}
	return k, s
}

func maxPool(w *writer, c *ops.Call) {
	x := c.Value("self")
	k, s := strideOf(c)
	d, p := pair(c, "dilation", 1), pair(c, "padding", 0)
	pads := [2][2]int64{{p[0], p[0]}, {p[1], p[1]}}
	if c.Bool("ceil_mode") { // more of nothing, as much as the last window needs
		for i := range pads {
			size := known(x.Type.Sizes[2+i])
			need := (known(w.out().Type.Sizes[2+i])-1)*s[i] + d[i]*(k[i]-1) + 1
			pads[i][1] = max(need-size-p[i], 0)
		}
	}
	y, limits := w.limited(w.out())
	n := w.node("XNNMaxPooling2d", []uint32{w.value(x, true)}, w.result(y, true))
	n.Clamp = limits
	window(n, "pooling", "stride", k, s, d, pads)
}

// largest is a maximum over whole rows or columns.
func largest(w *writer, c *ops.Call) {
	x := c.Value("self")
	k := [2]int64{1, 1}
	for _, d := range poolDims(c) {
		k[d-2] = known(x.Type.Sizes[d])
	}
	y, limits := w.limited(w.out())
	n := w.node("XNNMaxPooling2d", []uint32{w.value(x, true)}, w.result(y, true))
	n.Clamp = limits
	window(n, "pooling", "stride", k, k, [2]int64{1, 1}, [2][2]int64{})
}

func averagePool(w *writer, c *ops.Call) {
	x := c.Value("self")
	k, s := strideOf(c)
	p := pair(c, "padding", 0)
	if x.Type.Rank() == 3 {
		k[1], s[1], p[1] = 1, 1, 0
	}
	w.onImages("XNNAvgPooling2d", x, w.out(), nil, func(n *xnnpack.Node) {
		window(n, "pooling", "stride", k, s, [2]int64{}, [2][2]int64{{p[0], p[0]}, {p[1], p[1]}})
	})
}

func globalPool(w *writer, c *ops.Call) {
	w.onImages("XNNGlobalAvgPooling2d", c.Value("self"), w.out(), nil, func(n *xnnpack.Node) {
		set(n, "flags", keepDims)
	})
}

func resize(w *writer, c *ops.Call) {
	n := w.node("XNNStaticResizeBilinear2D", []uint32{w.value(c.Value("input"), true)},
		w.result(w.out(), true))
	sizes := dimsOf(w.out().Type, false)
	set(n, "new_height", int64(sizes[2]))
	set(n, "new_width", int64(sizes[3]))
	if c.Bool("align_corners") {
		set(n, "flags", alignCorners)
	}
}
