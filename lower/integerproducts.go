package lower

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// product is that of rows and columns; the columns are rows if transposed is set.
func (a *integerArithmetic) product(b *ops.Builder, n *ir.Node, c *ops.Call,
	self, mat2, bias string, transposed bool) []*ir.Value {
	if bias == "" && !transposed {
		if made := a.attended(b, n, c.Value(self), a.of[c.Value(mat2)]); made != nil {
			return made
		}
	}
	if made := a.integerProduct(b, n, c, self, mat2, bias, transposed); made != nil {
		return made
	}
	if made := a.groupsProduct(b, n, c, self, mat2, bias, transposed); made != nil {
		return made
	}
	return a.mixedProduct(b, n, c, self, mat2, bias, transposed)
}

func (a *integerArithmetic) integerProduct(b *ops.Builder, n *ir.Node, c *ops.Call,
	self, mat2, bias string, transposed bool) []*ir.Value {
	x, w := a.of[c.Value(self)], a.of[c.Value(mat2)]
	if !x.small() || !w.small() || !x.uniform() && x.dynamic[0] == nil || w.dynamic[0] != nil {
		return nil
	}
	axis := c.Tensor(mat2).Rank() - 1
	if transposed {
		axis--
	}
	if !w.uniform() && w.axis != axis {
		return nil
	}
	var add *ir.Value
	if bias != "" {
		add = c.Value(bias)
	}
	if x.dynamic[0] != nil {
		return a.dynamicProduct(b, n, x, w, add, axis, transposed)
	}
	s := &scaledSum{}
	lead := w.ints.Type.Rank() - 2
	return a.sum(b, n, s, [2]*quantity{x, w}, axis, lead, add, func(bias any,
		d ir.DType) *ir.Value {
		sum := b.Op(ops.IntegerMatmul, a.summed(b, s, x), w.ints, bias, transposed, x.zero[0],
			w.zero[0], d)
		if s.exact = s.exact && !a.multiplies(b, sum); s.exact {
			return a.floatProduct(b, a.whole(b, x), w, transposed)
		}
		return sum
	})
}

// floatProduct is that of x, floats that are whole numbers, and the integers of w.
func (a *integerArithmetic) floatProduct(b *ops.Builder, x *ir.Value, w *quantity,
	transposed bool) *ir.Value {
	op := "aten.linear.default"
	if !transposed {
		op = "aten." + map[int]string{2: "mm", 3: "bmm"}[w.ints.Type.Rank()] + ".default"
	}
	return b.Op(op, x, a.whole(b, w))
}

// wideProduct is the int32 product of bytes that were made int32.
func (a *integerArithmetic) wideProduct(b *ops.Builder, c *ops.Call) []*ir.Value {
	x, w := a.wide[c.Value("self")], a.wide[c.Value("mat2")]
	if x == nil || w == nil {
		return nil
	}
	rank := w.ints.Type.Rank()
	most := a.largestSum(x, w, rank-1, rank-2)
	if most > math.MaxInt32 {
		return nil
	}
	sum := b.Op(ops.IntegerMatmul, x.ints, w.ints, nil, false, 0, 0, ir.Int32)
	if a.speed && most <= ops.ExactSum && !a.multiplies(b, sum) {
		sum = a.floatProduct(b, a.whole(b, x), w, false)
		sum = b.Op("aten._to_copy.default", sum, ops.Kw("dtype", ir.Int32))
	}
	return []*ir.Value{sum}
}

// dynamicProduct is a product with a constant matrix w of what only the run knows scale and zero
// point of: (Σ x·w - zero·Σ w)·scale, the sums being exact.
func (a *integerArithmetic) dynamicProduct(b *ops.Builder, n *ir.Node, x, w *quantity,
	bias *ir.Value, axis int, transposed bool) []*ir.Value {
	ws, ok := a.elements(w.ints)
	if !ok || w.ints.Type.Rank() != 2 ||
		slices.ContainsFunc(w.zero, func(z int64) bool { return z != w.zero[0] }) {
		return nil
	}
	sizes, _ := w.ints.Type.StaticSizes()
	s := &scaledSum{bias: make([]float64, sizes[axis])} // of w
	for i, v := range ws {
		at := i % int(sizes[1])
		if axis == 0 {
			at = i / int(sizes[1])
		}
		s.bias[at] += v - float64(w.zero[0])
	}
	from := &quantity{ints: x.ints, zero: []int64{0}, least: x.least, most: x.most}
	most := a.largestSum(from, w, axis, 0)
	if 2*most > math.MaxInt32 { // less the zero point it may be twice as large
		return nil
	}
	zero := x.dynamic[1]
	if x.ints.Type.DType == ir.Uint8 {
		if from, zero = a.dynamicInt8(b, x); from == nil {
			return nil
		}
	}
	sum := b.Op(ops.IntegerMatmul, from.ints, w.ints, nil, transposed, 0, w.zero[0], ir.Int32)
	if a.speed && 2*most <= ops.ExactSum && !a.multiplies(b, sum) {
		less := b.Op("aten.mul.Tensor", cast(b, zero, ir.Float32), s.channels(b, n.Name+"_sums", s.bias))
		sum = b.Op("aten.sub.Tensor", a.floatProduct(b, cast(b, from.ints, ir.Float32), w, transposed),
			less)
	} else {
		sums := cast(b, s.channels(b, n.Name+"_sums", s.bias), ir.Int32)
		sum = cast(b, b.Op("aten.sub.Tensor", sum, b.Op("aten.mul.Tensor", cast(b, zero, ir.Int32),
			sums)), ir.Float32)
	}
	y := b.Op("aten.mul.Tensor", sum, b.Op("aten.mul.Tensor", cast(b, x.dynamic[0], ir.Float32),
		s.channels(b, n.Name+"_scale", w.scale)))
	if bias != nil {
		y = b.Op("aten.add.Tensor", y, bias)
	}
	return []*ir.Value{y}
}

// dynamicInt8 is x, of uint8, less 128, and its zero point as int32; nil if x is a constant that
// cannot be computed.
func (a *integerArithmetic) dynamicInt8(b *ops.Builder, x *quantity) (*quantity, *ir.Value) {
	ints := a.lessHalf(b, x.ints)
	if ints == nil {
		return nil, nil
	}
	return &quantity{ints: ints, zero: []int64{0}, least: x.least - uint8Zero,
		most: x.most - uint8Zero}, b.Op("aten.sub.Scalar", cast(b, x.dynamic[1], ir.Int32), uint8Zero)
}

func cast(b *ops.Builder, v *ir.Value, d ir.DType) *ir.Value {
	return b.Op("aten._to_copy.default", v, ops.Kw("dtype", d))
}

// groupsProduct is a product with a constant matrix whose columns have scales for groups.
func (a *integerArithmetic) groupsProduct(b *ops.Builder, n *ir.Node, c *ops.Call, self, mat2,
	bias string, transposed bool) []*ir.Value {
	w := a.groups[c.Value(mat2)]
	if w == nil || transposed != (w.axis == 0) {
		return nil
	}
	y := a.groupsRows(b, n, a.of[c.Value(self)], w)
	if y == nil {
		return nil
	}
	if bias != "" && c.Has(bias) {
		y = b.Op("aten.add.Tensor", y, c.Value(bias))
	}
	return []*ir.Value{y}
}

// groupsRows is the product of rows of integers and rows of w, which have scales for groups of
// elements; nil if there is none. The groups' sums are exact; each is scaled, and these are added
// as floats. The zero point of x times what all of a row of w adds up to is taken from that.
func (a *integerArithmetic) groupsRows(b *ops.Builder, n *ir.Node, x, w *quantity) *ir.Value {
	if !x.small() || !x.uniform() && x.dynamic[0] == nil || w.ints.Type.DType != ir.Int8 {
		return nil
	}
	scales := w.scales.(ir.Ref).Value
	ws, ok1 := a.elements(w.ints)
	each, ok2 := a.elements(scales)
	if !ok1 || !ok2 || len(each) == 0 || len(ws) < 2*len(each) {
		return nil
	}
	sizes, _ := scales.Type.StaticSizes()
	groups, size := int(sizes[1]), len(ws)/len(each)
	sums, far := make([]float64, sizes[0]), 0.0
	for i, s := range each {
		sum, most := 0.0, 0.0
		for _, v := range ws[i*size : (i+1)*size] {
			if w.zero != nil {
				v -= float64(w.zero[i])
			}
			sum += v
			most += math.Abs(v)
		}
		sums[i/groups] += s * sum
		far = max(far, most)
	}
	if far*float64(max(-x.least, x.most)) > math.MaxInt32 {
		return nil
	}
	floats := func(name string, xs []float64, sizes ...int64) *ir.Value {
		return b.Constant(n.Name+name, &ir.Constant{Data: float32s(xs),
			Type: ir.StaticTensor(ir.Float32, sizes...)})
	}
	ints, zero := x.ints, x.dynamic[1]
	if x.uniform() {
		scales = floats("_scales", multiplied(each, x.scale[0]), sizes...)
	} else if scales.Const == nil { // of half floats
		scales = floats("_scales", each, sizes...)
	}
	if !x.uniform() && ints.Type.DType == ir.Uint8 {
		from, less := a.dynamicInt8(b, x)
		if from == nil {
			return nil
		}
		ints, zero = from.ints, less
	}
	var zeros *ir.Value
	if !allZero(w.zero) {
		zeros = intConstant(b, n.Name+"_zeros", ir.Int32, w.zero, sizes...)
	}
	product := func(x *ir.Value) *ir.Value {
		return b.Op(ops.IntegerMatmul, x, a.stored(b, w.ints), nil, true, 0, 0, ir.Float32,
			ops.Kw("scales", scales), ops.Kw("mat2_zero_points", zeros))
	}
	a.constant[scales] = true
	if zeros != nil {
		a.constant[zeros] = true
	}
	y := product(ints)
	if a.speed && far*128 <= ops.ExactSum && !a.multiplies(b, y) {
		if z := product(cast(b, ints, ir.Float32)); a.multiplies(b, z) {
			y = z
		}
	}
	switch {
	case !x.uniform():
		less := b.Op("aten.mul.Tensor", cast(b, zero, ir.Float32), floats("_sums", sums, sizes[0]))
		y = b.Op("aten.mul.Tensor", b.Op("aten.sub.Tensor", y, less), cast(b, x.dynamic[0], ir.Float32))
	case x.zero[0] != 0:
		by := x.scale[0] * float64(x.zero[0])
		y = b.Op("aten.sub.Tensor", y, floats("_sums", multiplied(sums, by), sizes[0]))
	}
	return y
}
