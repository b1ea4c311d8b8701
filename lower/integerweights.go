package lower

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
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
	if !c.Has("zero_points") {
		return q
	}
	zeros, ok := a.numbers(c, "zero_points")
	if !ok || slices.ContainsFunc(zeros, func(z float64) bool { return z != math.Trunc(z) }) {
		return nil
	}
	q.zero = seq.Map(zeros, func(z float64) int64 { return int64(z) })
	return q
}

// ofGroups follows weights with scales of groups to where they are the transpose, or the weights
// of a convolution of single elements. Rows are along the axis.
func (a *integerArithmetic) ofGroups(n *ir.Node, c *ops.Call) {
	if len(c.Operands()) != 1 || len(n.Outputs) != 1 {
		return
	}
	q := a.groups[c.Operands()[0]]
	if q == nil || q.axis != 0 {
		return
	}
	moved := *q
	if a.transposes(c) {
		moved.axis = 1
	} else if n.Op != "aten.view.default" || c.Outs[0].Rank() < 3 ||
		!sym.AllEqual(c.Outs[0].Sizes[:2], q.ints.Type.Sizes) {
		return
	}
	a.groups[n.Output(0)] = &moved
}

// transposes reports whether the result of c is the transpose of a matrix.
func (a *integerArithmetic) transposes(c *ops.Call) bool {
	if len(c.Operands()) != 1 || c.Operands()[0].Type.Rank() != 2 {
		return false
	}
	ts := a.tensors(c)
	if len(ts) != 1 || len(ts[0].Vars) != 2 || ts[0].Body.Op != expr.OpLoad {
		return false
	}
	at := ts[0].Body.Coords
	return at[0].Equal(ts[0].Vars[1].Expr()) && at[1].Equal(ts[0].Vars[0].Expr())
}

// widen notes bytes that a node makes int32 or float32 of: products of these are ones of the bytes.
// The floats are noted of constants alone, which are weights.
func (a *integerArithmetic) widen(n *ir.Node, c *ops.Call) {
	if base := ir.OpBase(n.Op); base != "to" && base != "_to_copy" || len(c.Operands()) != 1 ||
		c.Operands()[0].Type.DType != ir.Int8 {
		return
	}
	least, most := expr.IntRange(ir.Int8)
	q := &quantity{ints: c.Operands()[0], scale: []float64{1}, zero: []int64{0}, least: least,
		most: most}
	switch d := c.Outs[0].DType; {
	case d == ir.Int32:
		a.wide[n.Output(0)] = q
	case d == ir.Float32 && a.constant[q.ints]:
		a.of[n.Output(0)] = q
	}
}

// transposed is a constant matrix of bytes turned around.
func (a *integerArithmetic) transposed(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if len(c.Operands()) != 1 {
		return nil
	}
	v := c.Operands()[0]
	if !a.constant[v] || v.Type.DType != ir.Int8 || !a.transposes(c) {
		return nil
	}
	return a.turned(b, v)
}

// turned is the transpose of a constant matrix, nil if it cannot be computed.
func (a *integerArithmetic) turned(b *ops.Builder, v *ir.Value) []*ir.Value {
	made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
		return b.Ops(permuteOp, b.Constant("w", v.Const), []int{1, 0})
	})
	if made == nil {
		return nil
	}
	w := b.Constant(v.Name+"_rows", made[0])
	a.constant[w] = true
	return []*ir.Value{w}
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

// scaledRows are constant integers of 8 bits, rows of which have a scale each, or each group of
// columns in a row. If they have zero points, added is less these times the scales, [rows, groups].
type scaledRows struct{ ints, scales, added *ir.Value }

// weight returns what weight v stands for, with rows along an axis, nil if it is no such weight.
func (a *integerArithmetic) weight(b *ops.Builder, v *ir.Value, axis int) *scaledRows {
	q := a.groups[v]
	var scales *ir.Value
	var each []float64
	if q != nil && axis == q.axis {
		scales = q.scales.(ir.Ref).Value
		if each, _ = a.elements(scales); each == nil && !allZero(q.zero) {
			return nil
		}
	} else if q = a.of[v]; q == nil || q.dynamic[0] != nil || !q.uniform() && q.axis != axis {
		return nil
	}
	n, ok := q.ints.Type.Sizes[axis].Const()
	if !a.constant[q.ints] || q.ints.Type.DType != ir.Int8 || !ok || n == 0 {
		return nil
	}
	zero := q.zero
	if scales == nil {
		if each = slices.Clone(q.scale); q.uniform() {
			each, zero = slices.Repeat(q.scale, int(n)), slices.Repeat(q.zero, int(n))
		}
		scales = b.Constant(v.Name+"_scales", &ir.Constant{Data: float32s(each),
			Type: ir.StaticTensor(ir.Float32, n)})
	}
	w := &scaledRows{ints: q.ints, scales: scales}
	if !allZero(zero) {
		for i, z := range zero {
			each[i] *= -float64(z)
		}
		rows, _ := scales.Type.Sizes[0].Const()
		w.added = b.Constant(v.Name+"_added", &ir.Constant{Data: float32s(each),
			Type: ir.StaticTensor(ir.Float32, rows, int64(len(each))/rows)})
	}
	return w
}

func allZero(zeros []int64) bool {
	return !slices.ContainsFunc(zeros, func(z int64) bool { return z != 0 })
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
	w := a.weight(b, c.Value(mat2), axis)
	if w == nil || folds && !wholeWords(w.ints, w.scales) {
		return nil
	}
	if !transposed && a.groups[c.Value(mat2)] == nil {
		rows := a.turned(b, w.ints)
		if rows == nil {
			return nil
		}
		w.ints = rows[0]
	}
	y := a.mixedRows(b, x, w)
	if q := a.of[c.Value(mat2)]; bias == "" && w.added == nil && q != nil && q.uniform() &&
		q.scale[0] == 1 {
		a.unscaled[y] = func(b *ops.Builder, scales *ir.Value) *ir.Value {
			return a.mixedRows(b, x, &scaledRows{ints: w.ints, scales: scales})
		}
	}
	if bias != "" && c.Has(bias) {
		y = b.Op("aten.add.Tensor", y, c.Value(bias))
	}
	return []*ir.Value{y}
}

// mixedRows is the product of the rows of x and those of w. Zero points take from it the sums of
// the groups of x, each times what is to be added of a row's group.
func (a *integerArithmetic) mixedRows(b *ops.Builder, x *ir.Value, w *scaledRows) *ir.Value {
	sizes := slices.Clone(x.Type.Sizes)
	last := len(sizes) - 1
	if last != 1 {
		x = b.Op("aten.view.default", x, []sym.Expr{sym.Mul(sizes[:last]...), sizes[last]})
	}
	y := b.Op("quantized_decomposed.mixed_linear.default", x, a.stored(b, w.ints), w.scales, nil)
	if w.added != nil {
		groups := w.added.Type.Sizes[1]
		parts := b.Op("aten.view.default", x, []sym.Expr{x.Type.Sizes[0], groups,
			sym.FloorDiv(x.Type.Sizes[1], groups)})
		sums := b.Op("aten.sum.dim_IntList", parts, []int{2}, false)
		y = b.Op("aten.add.Tensor", y, b.Op("aten.linear.default", sums, w.added))
	}
	if last != 1 {
		sizes[last] = w.ints.Type.Sizes[0]
		y = b.Op("aten.view.default", y, sizes)
	}
	return y
}

// scaleRows scales the rows of weights of a product instead of its results.
func (a *integerArithmetic) scaleRows(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if n.Op != "aten.mul.Tensor" || a.unscaled[c.Value("self")] == nil {
		return nil
	}
	y := c.Outs[0]
	rows, ok := y.Sizes[y.Rank()-1].Const()
	scales, known := a.elements(c.Value("other"))
	by := c.Tensor("other")
	if !ok || !known || int64(len(scales)) != rows && len(scales) != 1 || by.DType != ir.Float32 ||
		by.Rank() > 0 && len(scales) > 1 && !by.Sizes[by.Rank()-1].Is(rows) ||
		!sym.AllEqual(y.Sizes, c.Tensor("self").Sizes) {
		return nil
	}
	if len(scales) == 1 {
		scales = slices.Repeat(scales, int(rows))
	}
	return []*ir.Value{a.unscaled[c.Value("self")](b, b.Constant(n.Name+"_scales", &ir.Constant{
		Data: float32s(scales), Type: ir.StaticTensor(ir.Float32, rows)}))}
}

// mixedConvolution is a convolution of floats with such a weight.
func (a *integerArithmetic) mixedConvolution(b *ops.Builder, n *ir.Node,
	c *ops.Call) []*ir.Value {
	x, groups := a.of[c.Value("input")], a.groups[c.Value("weight")]
	if groups != nil && x != nil && x.uniform() && Pointwise(c) {
		if made := a.pointwise(b, c, x.ints, func(rows *ir.Value) *ir.Value {
			moved := *x
			moved.ints = rows
			return a.groupsRows(b, n, &moved, groups)
		}); made != nil {
			return made
		}
	}
	if c.Outs[0].DType != ir.Float32 || c.Bool("transposed") || a.constant[c.Value("input")] ||
		a.folds(c.Value("weight")) {
		return nil
	}
	weight := c.Value("weight")
	if q := a.of[weight]; q != nil && x == nil {
		if less := a.centred(b, q); less != q {
			weight = a.float(b, less)
		}
	}
	w := a.weight(b, weight, 0)
	if w == nil {
		return nil
	}
	each := ofChannels(c.Outs[0].Rank())
	if w.added != nil || w.scales.Type.Rank() > 1 { // of groups
		if !Pointwise(c) || w.scales.Type.Rank() == 1 {
			return nil
		}
		return a.pointwise(b, c, c.Value("input"), func(rows *ir.Value) *ir.Value {
			return a.mixedRows(b, rows, w)
		})
	}
	y := b.Op(ops.MixedConvolution, c.Value("input"), a.stored(b, w.ints), c.Arg("stride"),
		c.Arg("padding"), c.Arg("padding"), c.Arg("dilation"), c.Arg("groups"))
	y = b.Op("aten.mul.Tensor", y, b.Op("aten.view.default", w.scales, each))
	if c.Has("bias") {
		y = b.Op("aten.add.Tensor", y, b.Op("aten.view.default", c.Value("bias"), each))
	}
	return []*ir.Value{y}
}

// pointwise is a convolution that is a product by a matrix for each element of image x, as made of
// rows of channels; nil if these give nil.
func (a *integerArithmetic) pointwise(b *ops.Builder, c *ops.Call, x *ir.Value,
	made func(rows *ir.Value) *ir.Value) []*ir.Value {
	rank := c.Outs[0].Rank()
	last, first := make([]int, rank), make([]int, rank) // where channels go
	for d := range rank {
		last[d], first[d] = d+1, d-1
	}
	last[0], last[rank-1], first[0], first[1] = 0, 1, 0, rank-1
	y := made(denseOp(b, permuteOp, x, last))
	if y == nil {
		return nil
	}
	y = denseOp(b, permuteOp, y, first)
	if c.Has("bias") {
		y = b.Op("aten.add.Tensor", y, b.Op("aten.view.default", c.Value("bias"), ofChannels(rank)))
	}
	return []*ir.Value{y}
}

// ofChannels are the sizes of a view with a number for each channel.
func ofChannels(rank int) []int64 {
	return append([]int64{-1},
		slices.Repeat([]int64{1}, rank-2)...)
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
