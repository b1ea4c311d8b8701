package xnn

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
)

// out is the first result of the node that is written.
func (w *writer) out() *ir.Value { return w.at.Outputs[0] }

// unary writes a node of one operand, which has its channels where the operand has them.
func unary(kind string) func(*writer, *ops.Call) {
	return func(w *writer, c *ops.Call) {
		x := c.Operands()[0]
		last := w.isLast(x)
		w.node(kind, []uint32{w.value(x, last)}, w.result(w.out(), last))
	}
}

// rowMajor gives an image its channels first; nodes that want them last need no node for it.
func rowMajor(w *writer, c *ops.Call) {
	w.ids[layout{w.out(), true}] = w.value(c.Value("self"), true)
}

func clamp(w *writer, c *ops.Call) {
	x := c.Operands()[0]
	last := w.isLast(x)
	lo, hi, _ := limitsOf(c)
	n := w.node("XNNClamp", []uint32{w.value(x, last)}, w.result(w.out(), last))
	n.Clamp = &xnnpack.Clamp{Min: float32(lo), Max: float32(hi)}
}

// factored writes a node of one operand and a number, an argument of the call.
func factored(kind, argument string) func(*writer, *ops.Call) {
	return func(w *writer, c *ops.Call) {
		x := c.Operands()[0]
		last := w.isLast(x)
		n := w.node(kind, []uint32{w.value(x, last)}, w.result(w.out(), last))
		factor, _ := c.Float(argument)
		n.Float = float32(factor)
	}
}

// gelu is exact in XNNPACK; the approximation by tanh is written out.
func gelu(w *writer, c *ops.Call) {
	if c.Str("approximate") != "tanh" {
		unary("XNNGelu")(w, c)
		return
	}
	v := c.Operands()[0]
	last := w.isLast(v)
	x := w.value(v, last)
	step := func(kind string, inputs ...uint32) uint32 {
		id := w.inner(v, dimsOf(v.Type, last)...)
		w.node(kind, inputs, id)
		return id
	}
	cube := step("XNNMultiply", step("XNNMultiply", x, x), x)
	sum := step("XNNAdd", x, step("XNNMultiply", cube, w.number(0.044715, ir.Float32)))
	t := step("XNNTanh", step("XNNMultiply", sum, w.number(math.Sqrt2*2/math.Sqrt(math.Pi)/2,
		ir.Float32)))
	half := step("XNNMultiply", x, w.number(0.5, ir.Float32))
	w.node("XNNMultiply", []uint32{half, step("XNNAdd", t, w.number(1, ir.Float32))},
		w.result(w.out(), last))
}

// twoOperands writes a node of two operands. It has its channels last if all tensors of four
// dimensions can, and one has.
func twoOperands(kind string) func(*writer, *ops.Call) {
	return func(w *writer, c *ops.Call) {
		y, limits := w.limited(w.out())
		operands := []*ir.Value{c.Value("self"), c.Value("other")}
		last := false
		for _, v := range operands {
			last = last || v != nil && w.isLast(v)
		}
		for _, v := range operands {
			last = last && (v == nil || v.Type.Rank() == 4 || v.Type.Numel().Is(1))
		}
		var ids []uint32
		for i, v := range operands {
			switch {
			case v == nil:
				x, _ := c.Float([]string{"self", "other"}[i])
				ids = append(ids, w.number(x, y.Type.DType))
			case v.Type.Rank() == 4:
				ids = append(ids, w.value(v, last))
			default:
				ids = append(ids, w.value(v, false))
			}
		}
		w.node(kind, ids, w.result(y, last)).Clamp = limits
	}
}

func softmax(w *writer, c *ops.Call) {
	w.node("XNNSoftmax", []uint32{w.value(c.Value("self"), false)}, w.result(w.out(), false))
}

// matmul multiplies matrices that the run knows.
func matmul(w *writer, c *ops.Call) {
	a, b := w.value(c.Value("self"), false), w.value(c.Value("mat2"), false)
	w.node("XNNBatchMatrixMultiply", []uint32{a, b}, w.result(w.out(), false))
}

func linear(w *writer, c *ops.Call) {
	w.connected(c.Value("input"), c.Value("weight"), c.Value("bias"), false)
}

// product is a linear layer whose weight is transposed.
func product(x, weight, bias string) func(*writer, *ops.Call) {
	return func(w *writer, c *ops.Call) {
		var b *ir.Value
		if bias != "" {
			b = c.Value(bias)
		}
		w.connected(c.Value(x), c.Value(weight), b, true)
	}
}

func (w *writer) connected(x, weight, bias *ir.Value, transpose bool) {
	y, limits := w.limited(w.out())
	k := w.weight(weight, w.exact)
	if transpose {
		k.permute([]uint32{1, 0})
	}
	run, _ := runQuantizes(w.table, x)
	k.four = k.four && run != nil && k.dims[1]%2 == 0 // else in bytes
	ids := []uint32{w.value(x, false), w.constantOf(k), w.bias(bias, k, x, false)}
	w.node("XNNFullyConnected", ids, w.result(y, false)).Clamp = limits
}

// prelu has its weight by channels, which lie last.
func prelu(w *writer, c *ops.Call) {
	x := c.Value("self")
	last := x.Type.Rank() == 4
	data, channels := w.weight(c.Value("weight"), false).data, dim(x.Type, slopes(x.Type))
	if len(data) == x.Type.DType.Size() { // one for all
		data = bytes.Repeat(data, int(channels))
	}
	id := w.data(data, x.Type.DType, channels)
	w.node("XNNPReLU", []uint32{w.value(x, last), id}, w.result(w.out(), last))
}

// normalize multiplies each channel by a number and adds one, which follow from the statistics.
func normalize(w *writer, c *ops.Call) {
	x := c.Value("input")
	last := w.isLast(x)
	channels := dim(x.Type, 1)
	number := func(name string, i uint32, def float32) float64 {
		v := c.Value(name)
		if v == nil {
			return float64(def)
		}
		bits := binary.LittleEndian.Uint32(w.weight(v, false).data[4*i:])
		return float64(math.Float32frombits(bits))
	}
	eps, _ := c.Float("eps")
	var factors, terms []byte
	for i := range channels {
		f := number("weight", i, 1) / math.Sqrt(number("running_var", i, 0)+eps)
		factors = appendFloat(factors, ir.Float32, float32(f))
		terms = appendFloat(terms, ir.Float32,
			float32(number("bias", i, 0)-number("running_mean", i, 0)*f))
	}
	dims := slices.Repeat([]uint32{1}, x.Type.Rank())
	dims[1] = channels
	if last {
		dims = byLayout(dims, true)
	}
	y, limits := w.limited(w.out())
	product := w.inner(x, dimsOf(x.Type, last)...)
	w.node("XNNMultiply", []uint32{w.value(x, last), w.data(factors, ir.Float32, dims...)}, product)
	n := w.node("XNNAdd", []uint32{product, w.data(terms, ir.Float32, dims...)}, w.result(y, last))
	n.Clamp = limits
}

// maxCat is how many operands a concatenation has at most; more take several.
const maxCat = 5

func concatenate(w *writer, c *ops.Call) {
	operands := c.Operands()
	last := false
	for _, v := range operands {
		last = last || w.isLast(v)
	}
	d := axis(c, "dim", w.out().Type.Rank())
	at := d
	if last {
		at = []int{0, 3, 1, 2}[d]
	}
	ids := seq.Map(operands, func(v *ir.Value) uint32 { return w.value(v, last) })
	for len(ids) > 1 {
		n := min(len(ids), maxCat)
		var to uint32
		if n == len(ids) {
			to = w.result(w.out(), last)
		} else {
			dims := dimsOf(w.out().Type, last)
			dims[at] = 0
			for _, id := range ids[:n] {
				dims[at] += w.Values[id].Dims[at]
			}
			x := w.tensorOf(w.stands(w.out()), last)
			x.Dims = dims
			to = w.add(x)
		}
		kind := []string{"XNNConcatenate2", "XNNConcatenate3", "XNNConcatenate4", "XNNConcatenate5"}
		set(w.node(kind[n-2], ids[:n:n], to), "axis", int64(at))
		ids = append([]uint32{to}, ids[n:]...)
	}
}

// byLayout puts numbers of dimensions where the dimensions are.
func byLayout(list []uint32, last bool) []uint32 {
	if !last {
		return list
	}
	return []uint32{list[0], list[2], list[3], list[1]}
}

func pad(w *writer, c *ops.Call) {
	x := c.Value("self")
	last := w.isLast(x)
	list, _ := c.Ints("pad")
	rank := x.Type.Rank()
	before, after := make([]uint32, rank), make([]uint32, rank)
	for i := range len(list) / 2 {
		before[rank-1-i], after[rank-1-i] = uint32(list[2*i]), uint32(list[2*i+1])
	}
	n := w.node("XNNStaticConstantPad", []uint32{w.value(x, last)}, w.result(w.out(), last))
	n.Lists = [][]uint32{byLayout(before, last), byLayout(after, last)}
	value, _ := c.Float("value")
	n.Float = float32(value)
}

func slice(w *writer, c *ops.Call) {
	x := c.Value("self")
	last := w.isLast(x)
	sizes := dimsOf(w.out().Type, false)
	d := axis(c, "dim", x.Type.Rank())
	size := known(x.Type.Sizes[d])
	start := int64(0)
	if c.Has("start") {
		start, _ = c.Int("start")
	}
	if start < 0 {
		start = max(start+size, 0)
	}
	offsets := make([]uint32, len(sizes))
	offsets[d] = uint32(min(start, size))
	n := w.node("XNNStaticSlice", []uint32{w.value(x, last)}, w.result(w.out(), last))
	n.Lists = [][]uint32{byLayout(offsets, last), byLayout(sizes, last)}
	set(n, "num_dims", int64(len(sizes)))
}

func transpose(w *writer, c *ops.Call) {
	if w.isWeight(w.out()) {
		return // the layer has it
	}
	dims, _ := c.Ints("dims")
	order := make([]uint32, len(dims))
	for i, d := range dims {
		if d < 0 {
			d += int64(len(dims))
		}
		order[i] = uint32(d)
	}
	from := w.value(c.Value("self"), false)
	w.permuted(from, w.result(w.out(), false), order)
}

func reshape(w *writer, c *ops.Call) {
	from := w.value(c.Value("self"), false)
	n := w.node("XNNStaticReshape", []uint32{from}, w.result(w.out(), false))
	var sizes []uint32
	for _, s := range w.out().Type.Sizes {
		k, _ := s.Const() // 0, which is inferred, if it varies
		sizes = append(sizes, uint32(k))
	}
	if len(sizes) == 0 {
		sizes = []uint32{1}
	}
	set(n, "num_dims", int64(len(sizes)))
	n.Lists = [][]uint32{sizes}
}
