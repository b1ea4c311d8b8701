package xnn

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/xnnpack"
)

// The orders of dimensions of images: to channels first, and to channels last.
var (
	toFirst = []int64{0, 3, 1, 2}
	toLast  = []int64{0, 2, 3, 1}
)

// raises are what nodes mean, by their kinds. Each returns the node's result in floats. Nil
// stands for kinds with operators that take all operands as they are.
var raises = map[string]func(*raiser, *xnnpack.Node) *ir.Value{
	"XNNAdd":                    operator("aten.add.Tensor"),
	"XNNFullyConnected":         (*raiser).fullyConnected,
	"XNNSoftmax":                (*raiser).softmax,
	"XNNSigmoid":                operator("aten.sigmoid.default"),
	"XNNStaticTranspose":        (*raiser).transpose,
	"XNNClamp":                  (*raiser).same,
	"XNNConv2d":                 (*raiser).convolution,
	"XNNDiv":                    operator("aten.div.Tensor"),
	"XNNStaticResizeBilinear2D": (*raiser).resize,
	"XNNStaticConstantPad":      (*raiser).pad,
	"XNNAvgPooling2d":           (*raiser).averagePool,
	"XNNMinimum":                operator("aten.minimum.default"),
	"XNNDepthwiseConv2d":        (*raiser).convolution,
	"XNNMaxPooling2d":           (*raiser).maxPool,
	"XNNMultiply":               operator("aten.mul.Tensor"),
	"XNNSubtract":               operator("aten.sub.Tensor"),
	"XNNFloor":                  operator("aten.floor.default"),
	"XNNConvert":                (*raiser).convert,
	"XNNGlobalAvgPooling2d":     (*raiser).globalPool,
	"XNNStaticReshape":          (*raiser).reshape,
	"XNNSquareRoot":             operator("aten.sqrt.default"),
	"XNNCeiling":                operator("aten.ceil.default"),
	"XNNHardswish":              operator("aten.hardswish.default"),
	"XNNLeakyReLU":              (*raiser).leaky,
	"XNNMaximum":                operator("aten.maximum.default"),
	"XNNNegate":                 operator("aten.neg.default"),
	"XNNSquare":                 (*raiser).square,
	"XNNELU":                    (*raiser).elu,
	"XNNAbs":                    operator("aten.abs.default"),
	"XNNPReLU":                  (*raiser).prelu,
	"XNNConcatenate2":           (*raiser).concatenate,
	"XNNConcatenate3":           (*raiser).concatenate,
	"XNNConcatenate4":           (*raiser).concatenate,
	"XNNConcatenate5":           (*raiser).concatenate,
	"XNNStaticSlice":            (*raiser).slice,
	"XNNBatchMatrixMultiply":    (*raiser).matmul,
	"XNNConvTranspose2d":        (*raiser).transposedConvolution,
	"XNNReciprocalSquareRoot":   operator("aten.rsqrt.default"),
	"XNNLog":                    operator("aten.log.default"),
	"XNNGelu":                   operator("aten.gelu.default"),
	"XNNTanh":                   operator("aten.tanh.default"),
	"XNNExp":                    operator("aten.exp.default"),
	"XNNSin":                    operator("aten.sin.default"),
	"XNNCopy":                   (*raiser).same,
	"XNNCos":                    operator("aten.cos.default"),
}

// limited are the kinds whose results output_min_max limits; others ignore it, as XNNPACK does.
var limited = []string{"XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d",
	"XNNFullyConnected", "XNNAvgPooling2d", "XNNMaxPooling2d", "XNNGlobalAvgPooling2d", "XNNAdd",
	"XNNSubtract", "XNNMultiply", "XNNDiv", "XNNClamp"}

// node emits a node.
func (r *raiser) node(n *xnnpack.Node) {
	if n.Kind.String() == "XNNArgMaxPooling2d" {
		r.argMaxPool(n)
		return
	}
	raise := raises[n.Kind.String()]
	if raise == nil {
		must.Fail("it is not supported")
	}
	y := raise(r, n)
	if c := n.Clamp; c != nil && slices.Contains(limited, n.Kind.String()) {
		y = r.over(y, func(y *ir.Value) *ir.Value { return r.limit(y, c) })
	}
	from, to := r.values[n.Inputs[0]], r.values[n.Outputs[0]]
	if _, byRows := from.Quant.(xnnpack.PerToken); !byRows && from.Type != to.Type &&
		n.Kind.String() != "XNNConvert" {
		must.Fail("its operand is %v, its result %v", from.Type, to.Type)
	}
	r.give(n.Outputs[0], y)
}

func (r *raiser) limit(y *ir.Value, c *xnnpack.Clamp) *ir.Value {
	bound := func(x float32) any {
		if math.IsInf(float64(x), 0) {
			return nil
		}
		return float64(x)
	}
	lo, hi := bound(c.Min), bound(c.Max)
	switch {
	case lo == nil && hi == nil:
		return y
	case lo == 0.0 && hi == nil:
		return r.Op("aten.relu.default", y)
	case lo != nil && hi != nil: // its kernels are shorter than those of clamp
		return r.Op("aten.hardtanh.default", y, lo, hi)
	}
	return r.Op("aten.clamp.default", y, lo, hi)
}

// operator is a node that is an elementwise operator of its operands.
func operator(name string) func(*raiser, *xnnpack.Node) *ir.Value {
	return func(r *raiser, n *xnnpack.Node) *ir.Value {
		var xs []*ir.Value
		for _, id := range n.Inputs {
			xs = append(xs, r.float(id))
		}
		return r.overAll(xs, func(xs []*ir.Value, _ []int64) *ir.Value {
			var args []any
			for _, x := range xs {
				args = append(args, x)
			}
			return r.Op(name, args...)
		})
	}
}

func (r *raiser) matmul(n *xnnpack.Node) *ir.Value {
	return r.Op("aten.matmul.default", r.float(n.Inputs[0]), r.float(n.Inputs[1]))
}

// same is a node that changes nothing but what is done to all results.
func (r *raiser) same(n *xnnpack.Node) *ir.Value { return r.float(n.Inputs[0]) }

// convert quantizes, dequantizes or changes the type of floats.
func (r *raiser) convert(n *xnnpack.Node) *ir.Value {
	x, to := r.float(n.Inputs[0]), r.values[n.Outputs[0]]
	if to.Quant != nil {
		return x
	}
	if !x.Type.DType.IsFloat() || !dtypeOf(to.Type).IsFloat() {
		must.Fail("from %v to %v", x.Type, to.Type)
	}
	return r.over(x, func(x *ir.Value) *ir.Value { return r.cast(x, dtypeOf(to.Type)) })
}

func (r *raiser) softmax(n *xnnpack.Node) *ir.Value {
	return r.Op("aten._softmax.default", r.float(n.Inputs[0]), -1, false)
}

func (r *raiser) square(n *xnnpack.Node) *ir.Value {
	return r.over(r.float(n.Inputs[0]), func(x *ir.Value) *ir.Value {
		return r.Op("aten.pow.Tensor_Scalar", x, 2)
	})
}

func (r *raiser) leaky(n *xnnpack.Node) *ir.Value {
	return r.over(r.float(n.Inputs[0]), func(x *ir.Value) *ir.Value {
		return r.Op("aten.leaky_relu.default", x, float64(n.Float))
	})
}

func (r *raiser) elu(n *xnnpack.Node) *ir.Value {
	return r.over(r.float(n.Inputs[0]), func(x *ir.Value) *ir.Value {
		return r.Op("aten.elu.default", x, float64(n.Float))
	})
}

// prelu has a weight for each index of the last dimension, or one.
func (r *raiser) prelu(n *xnnpack.Node) *ir.Value {
	x, w := r.float(n.Inputs[0]), r.float(n.Inputs[1])
	w = r.Op("aten.view.default", w, []int64{-1})
	rank := x.Type.Rank()
	if rank < 3 {
		return r.Op("aten.prelu.default", x, w)
	}
	order, back := make([]int64, rank), make([]int64, rank)
	for i := range order {
		order[i], back[i] = int64(i-1), int64(i+1)
	}
	order[0], order[1], back[0], back[rank-1] = 0, int64(rank-1), 0, 1
	y := r.Op("aten.prelu.default", r.permute(x, order), w)
	return r.permute(y, back)
}

func (r *raiser) concatenate(n *xnnpack.Node) *ir.Value {
	var list []*ir.Value
	for _, id := range n.Inputs {
		list = append(list, r.float(id))
	}
	axis := n.Int("axis")
	if axis >= int64(list[0].Type.Rank()) {
		must.Fail("axis %d of %v", axis, list[0].Type)
	}
	return r.overAll(list, func(list []*ir.Value, order []int64) *ir.Value {
		if order != nil {
			axis = order[axis]
		}
		return r.Op("aten.cat.default", list, axis)
	})
}

// members checks that a node has as many members in a list as a value has dimensions.
func members(n *xnnpack.Node, list string, rank int) []int64 {
	xs := n.List(list)
	if len(xs) != rank || slices.Contains(n.Kind.Form().Ints, "num_dims") &&
		n.Int("num_dims") != int64(rank) {
		must.Fail("%s %d of %d dimensions", list, xs, rank)
	}
	return xs
}

func (r *raiser) transpose(n *xnnpack.Node) *ir.Value {
	x := r.float(n.Inputs[0])
	return r.permute(x, members(n, "perm", x.Type.Rank()))
}

func (r *raiser) reshape(n *xnnpack.Node) *ir.Value {
	x := r.float(n.Inputs[0])
	size := members(n, "new_shape", len(n.List("new_shape")))
	r.Doubts += doubts(size, r.values[n.Inputs[0]].Dims, x.Type.Sizes, 0, 0, 1)
	r.Doubts += doubts(size, r.values[n.Inputs[0]].Dims, x.Type.Sizes, len(size)-1,
		x.Type.Rank()-1, -1)
	for i, s := range size {
		if s == 0 {
			size[i] = -1
		}
	}
	return r.Op("aten.view.default", x, size)
}

// doubts counts the sizes that a reshape keeps as the payload has them, and that are others, from
// dimension i of its result and k of its operand on.
func doubts(to []int64, dims []uint32, sizes []sym.Expr, i, k, step int) (n int) {
	for i >= 0 && i < len(to) && k >= 0 && k < len(sizes) && to[i] == int64(dims[k]) {
		if !sizes[k].Is(to[i]) {
			n++
		}
		i, k = i+step, k+step
	}
	return n
}

func (r *raiser) slice(n *xnnpack.Node) *ir.Value {
	x := r.float(n.Inputs[0])
	rank := x.Type.Rank()
	offsets, sizes := members(n, "offsets", rank), members(n, "sizes", rank)
	for d, from := range offsets {
		size, known := x.Type.Sizes[d].Const()
		to := from + sizes[d]
		switch {
		case sizes[d] == 0: // what is left
			to = math.MaxInt64
		case known && to > size:
			must.Fail("elements %d to %d of dimension %d of %v", from, to, d, x.Type)
		}
		if known && from == 0 && to >= size {
			continue
		}
		x = r.overAll([]*ir.Value{x}, func(xs []*ir.Value, order []int64) *ir.Value {
			at := int64(d)
			if order != nil {
				at = order[d]
			}
			return r.Op("aten.slice_copy.Tensor", xs[0], at, from, to)
		})
	}
	return x
}

func (r *raiser) pad(n *xnnpack.Node) *ir.Value {
	x := r.float(n.Inputs[0])
	before := members(n, "pre_paddings", x.Type.Rank())
	after := members(n, "post_paddings", x.Type.Rank())
	return r.overAll([]*ir.Value{x}, func(xs []*ir.Value, order []int64) *ir.Value {
		where := make([]int, len(before)) // the dimension of the payload that each one is
		for i := range where {
			where[i] = i
		}
		for i, d := range order {
			where[d] = i
		}
		var pads []int64
		for _, d := range slices.Backward(where) {
			pads = append(pads, before[d], after[d])
		}
		return r.Op("aten.constant_pad_nd.default", xs[0], pads, float64(n.Float))
	})
}
