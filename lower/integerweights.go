package lower

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Weights alone are quantized: the sums are of floats times integers, and scaled behind. So the
// weights stay what they are; only where time counts more than space they become floats when the
// program is compiled.

const perGroupOp = "quantized_decomposed.dequantize_per_channel_group.default"

// group reads weights with a scale for each row and group of columns, nil if others are
// dequantized.
func (a *integerArithmetic) group(c *ops.Call) *quantity {
	q := &quantity{ints: c.Value("input"), scales: c.Arg("scales")}
	if c.Outs[0].DType != ir.Float32 || c.Tensor("scales").DType != ir.Float32 {
		return nil
	}
	if zeros, ok := a.numbers(c, "zero_points"); c.Has("zero_points") && (!ok ||
		slices.ContainsFunc(zeros, func(z float64) bool { return z != 0 })) {
		return nil
	}
	return q
}

// ofGroups follows weights with scales of groups to where they are the transpose, or the weights
// of a convolution of single elements. Rows are along the axis.
func (a *integerArithmetic) ofGroups(n *ir.Node, c *ops.Call) {
	if n.Op != permuteOp && n.Op != "aten.view.default" {
		return
	}
	q := a.groups[c.Value("self")]
	if q == nil || q.axis != 0 {
		return
	}
	moved := *q
	if n.Op == permuteOp {
		if dims, err := c.Ints("dims"); err != nil || !slices.Equal(dims, []int64{1, 0}) {
			return
		}
		moved.axis = 1
	} else if c.Outs[0].Rank() < 3 || !sym.AllEqual(c.Outs[0].Sizes[:2], q.ints.Type.Sizes) {
		return
	}
	a.groups[n.Output(0)] = &moved
}

// packed returns the integers of constant weights of at most 4 bits, two to a byte, nil if they
// are none.
func (a *integerArithmetic) packed(b *ops.Builder, v *ir.Value) *ir.Value {
	if u, ok := a.int4[v]; ok || v.Type.DType != ir.Int8 || v.Type.Rank() == 0 || a.speed {
		return u
	}
	xs, ok := a.elements(v)
	if !ok || len(xs) == 0 || len(xs)%2 != 0 || slices.Min(xs) < -8 || slices.Max(xs) > 7 {
		a.int4[v] = nil
		return nil
	}
	data := make(ir.Bytes, len(xs)/2)
	for i := range data {
		data[i] = byte(int8(xs[2*i]))&15 | byte(int8(xs[2*i+1]))<<4
	}
	sizes, _ := v.Type.StaticSizes()
	rows := slices.Clone(sizes)
	if last := len(rows) - 1; rows[last]%2 == 0 {
		rows[last] /= 2
	} else {
		rows = []int64{int64(len(data))}
	}
	u := b.Op(ops.UnpackInt4, b.Constant(v.Name+"_packed", &ir.Constant{Data: data,
		Type: ir.StaticTensor(ir.Uint8, rows...)}))
	if len(rows) != len(sizes) {
		u = b.Op("aten.view.default", u, sizes)
	}
	a.int4[v] = u
	return u
}

// stored is constant weights as they are kept.
func (a *integerArithmetic) stored(b *ops.Builder, ints *ir.Value) *ir.Value {
	if u := a.packed(b, ints); u != nil {
		return u
	}
	return ints
}

// weight returns the integers that weight v stands for, which are constant and have zero points
// of zero, and their scales as a tensor, one for each channel of an axis or for each row and
// group; nil if it is no such weight.
func (a *integerArithmetic) weight(b *ops.Builder, v *ir.Value, axis int) (ints,
	scales *ir.Value) {
	if q := a.groups[v]; q != nil && axis == q.axis && a.constant[q.ints] &&
		q.ints.Type.DType == ir.Int8 {
		return q.ints, q.scales.(ir.Ref).Value
	}
	q := a.of[v]
	if q == nil || q.dynamic[0] != nil || !a.constant[q.ints] || q.ints.Type.DType != ir.Int8 ||
		!q.uniform() && q.axis != axis || slices.Max(q.zero) != 0 || slices.Min(q.zero) != 0 {
		return nil, nil
	}
	n, ok := q.ints.Type.Sizes[axis].Const()
	if !ok || n == 0 {
		return nil, nil
	}
	each := q.scale
	if q.uniform() {
		each = slices.Repeat(q.scale, int(n))
	}
	return q.ints, b.Constant(v.Name+"_scales", &ir.Constant{Data: float32s(each),
		Type: ir.StaticTensor(ir.Float32, n)})
}

// folds reports whether weights become floats when the program is compiled: see FoldConstants.
func (a *integerArithmetic) folds(w *ir.Value) bool {
	n, ok := denseBytes(w.Type)
	return a.speed && ok && n <= foldLimit
}

// kept reports whether the weights of product y of x stay integers though they might be floats.
func (a *integerArithmetic) kept(x *ir.Value, y ir.Type) bool {
	last := x.Type.Rank() - 1
	k, ok1 := x.Type.Sizes[last].Const()
	n, ok2 := y.Sizes[y.Rank()-1].Const()
	return ok1 && ok2 && a.keeps != nil && a.keeps(sym.Mul(x.Type.Sizes[:last]...), n, k)
}

// wholeWords reports whether each row or group of weights is a multiple of the integers that
// kernels read in a word.
func wholeWords(w, scales *ir.Value) bool {
	all, ok1 := w.Type.Numel().Const()
	groups, ok2 := scales.Type.Numel().Const()
	return ok1 && ok2 && groups > 0 && all%(8*groups) == 0
}

// mixedProduct is a product of floats with such a weight: the columns of mat2 are rows if
// transposed is set.
func (a *integerArithmetic) mixedProduct(b *ops.Builder, n *ir.Node, c *ops.Call, self, mat2,
	bias string, transposed bool) []*ir.Value {
	x := c.Value(self)
	if x == nil || x.Type.DType != ir.Float32 || c.Tensor(mat2).Rank() != 2 || a.constant[x] ||
		x.Type.Rank() == 0 {
		return nil
	}
	axis := 1
	if transposed {
		axis = 0
	}
	folds := a.folds(c.Value(mat2))
	if folds && !a.kept(x, c.Outs[0]) {
		return nil
	}
	w, scales := a.weight(b, c.Value(mat2), axis)
	if w == nil || folds && !wholeWords(w, scales) {
		return nil
	}
	if !transposed && a.groups[c.Value(mat2)] == nil {
		made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
			return b.Ops(permuteOp, b.Constant("w", w.Const), []int{1, 0})
		})
		if made == nil {
			return nil
		}
		w = b.Constant(w.Name+"_rows", made[0])
		a.constant[w] = true
	}
	y := a.mixedRows(b, x, w, scales)
	if bias != "" && c.Has(bias) {
		y = b.Op("aten.add.Tensor", y, c.Value(bias))
	}
	return []*ir.Value{y}
}

// mixedRows is the product of the rows of x and those of w, which have scales.
func (a *integerArithmetic) mixedRows(b *ops.Builder, x, w, scales *ir.Value) *ir.Value {
	sizes := slices.Clone(x.Type.Sizes)
	last := len(sizes) - 1
	if last != 1 {
		x = b.Op("aten.view.default", x, []sym.Expr{sym.Mul(sizes[:last]...), sizes[last]})
	}
	y := b.Op("quantized_decomposed.mixed_linear.default", x, a.stored(b, w), scales, nil)
	if last != 1 {
		sizes[last] = w.Type.Sizes[0]
		y = b.Op("aten.view.default", y, sizes)
	}
	return y
}

// mixedConvolution is a convolution of floats with such a weight.
func (a *integerArithmetic) mixedConvolution(b *ops.Builder, n *ir.Node,
	c *ops.Call) []*ir.Value {
	if c.Outs[0].DType != ir.Float32 || c.Bool("transposed") || a.constant[c.Value("input")] ||
		a.folds(c.Value("weight")) {
		return nil
	}
	w, scales := a.weight(b, c.Value("weight"), 0)
	if w == nil {
		return nil
	}
	rank := c.Outs[0].Rank()
	each := append([]int64{-1}, slices.Repeat([]int64{1}, rank-2)...)
	if scales.Type.Rank() > 1 { // of groups
		if !Pointwise(c) {
			return nil
		}
		last, first := make([]int, rank), make([]int, rank) // where channels go
		for d := range rank {
			last[d], first[d] = d+1, d-1
		}
		last[0], last[rank-1], first[0], first[1] = 0, 1, 0, rank-1
		y := a.mixedRows(b, denseOp(b, permuteOp, c.Value("input"), last), w, scales)
		y = denseOp(b, permuteOp, y, first)
		if c.Has("bias") {
			y = b.Op("aten.add.Tensor", y, b.Op("aten.view.default", c.Value("bias"), each))
		}
		return []*ir.Value{y}
	}
	y := b.Op(ops.MixedConvolution, c.Value("input"), a.stored(b, w), c.Arg("stride"),
		c.Arg("padding"), c.Arg("padding"), c.Arg("dilation"), c.Arg("groups"))
	y = b.Op("aten.mul.Tensor", y, b.Op("aten.view.default", scales, each))
	if c.Has("bias") {
		y = b.Op("aten.add.Tensor", y, b.Op("aten.view.default", c.Value("bias"), each))
	}
	return []*ir.Value{y}
}

// Pointwise reports whether a convolution is a product by a matrix for each element of an image.
func Pointwise(c *ops.Call) bool {
	w := c.Tensor("weight")
	for _, n := range w.Sizes[2:] {
		if !n.Is(1) {
			return false
		}
	}
	stride, err1 := c.Ints("stride")
	padding, err2 := c.Ints("padding")
	base := ir.OpBase(c.Op.Name())
	return err1 == nil && err2 == nil && isOne(c.Arg("groups")) && !strings.HasPrefix(base,
		"conv_transpose") && !(base == "convolution" && c.Bool("transposed")) &&
		!slices.ContainsFunc(stride, func(n int64) bool { return n != 1 }) &&
		!slices.ContainsFunc(padding, func(n int64) bool { return n != 0 })
}
