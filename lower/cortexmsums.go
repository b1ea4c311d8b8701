package lower

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// multiplierOf returns x as a multiplier of 31 fractional bits and a shift, of numbers up to most
// in magnitude. It is that of ExecuTorch's quantize_multiplier_aot; what is too small to count is
// 0.
func multiplierOf(x float64, most int64) (multiplier, shift int64, ok bool) {
	fraction, shiftOf := math.Frexp(x)
	multiplier, shift = int64(math.RoundToEven(fraction*(1<<31))), int64(shiftOf)
	if multiplier == 1<<31 {
		multiplier, shift = multiplier/2, shift+1
	}
	if shift < -31 {
		return 0, 0, true
	}
	return multiplier, shift, x > 0 && shift <= 30 &&
		(shift <= 0 || most <= math.MaxInt32>>shift)
}

// layer8 is what a sum of products with constant weights needs besides its input.
type layer8 struct {
	of      *quantity
	weights []int64 // less their zero point
	channel func(i int) int
	scale   []float64
	bias    []float64 // nil: there is none
}

// layer8 reads the weights and the bias of a layer of n channels; axis is that of the weights'
// channels. It is nil if they are no constants, or the weights have several scales in a sum.
func (m *cortexM) layer8(x *quantity, weight, bias *ir.Value, axis int) *layer8 {
	w := m.of[weight]
	if x == nil || w == nil || len(w.scale) == 0 || !w.uniform() && w.axis != axis ||
		slices.ContainsFunc(w.zero, func(z int64) bool { return z != w.zero[0] }) {
		return nil
	}
	ws, ok := m.elements(w.ints)
	sizes, static := w.ints.Type.StaticSizes()
	if !ok || !static || len(ws) == 0 {
		return nil
	}
	l := &layer8{of: x, weights: make([]int64, len(ws))}
	for i, v := range ws {
		l.weights[i] = int64(v) - w.zero[0]
		if l.weights[i] != int64(int8(l.weights[i])) {
			return nil
		}
	}
	inner := 1
	for _, size := range sizes[axis+1:] {
		inner *= int(size)
	}
	n := int(sizes[axis])
	l.channel = func(i int) int { return i / inner % n }
	for c := range n {
		l.scale = append(l.scale, x.scale[0]*w.scale[min(c, len(w.scale)-1)])
	}
	if bias != nil {
		if l.bias, ok = m.biasOf(bias); !ok || len(l.bias) != n {
			return nil
		}
	}
	return l
}

// fixedLayer are the constants of a layer whose result is quantized.
type fixedLayer struct {
	weights             []int64
	bias                []int64
	multipliers, shifts []int64
}

// deadSum is the part of a step that sums may reach and be left out.
const deadSum = 1.0 / 1024

// to returns the constants with which the layer gives integers of a scale, nil if int32 does not
// hold its sums. A bias that int32 does not hold beside sums too small to count is a channel's
// result.
func (l *layer8) to(scale float64) *fixedLayer {
	n := len(l.scale)
	f := &fixedLayer{weights: slices.Clone(l.weights), bias: make([]int64, n),
		multipliers: make([]int64, n), shifts: make([]int64, n)}
	sums := make([]int64, n)
	for i, w := range l.weights {
		sums[l.channel(i)] += max(w, -w) * l.of.far()
	}
	dead := make([]bool, n)
	for c := range n {
		unit, bias := l.scale[c], 0.0
		if l.bias != nil {
			bias = math.RoundToEven(l.bias[c] / unit)
		}
		most := float64(sums[c]) + math.Abs(bias)
		if !(most <= math.MaxInt32) {
			if !(float64(sums[c])*unit/scale < deadSum) {
				return nil
			}
			dead[c], unit = true, scale/(1<<16)
			bias = min(max(math.RoundToEven(l.bias[c]/unit), -1<<30), 1<<30)
			most = math.Abs(bias)
		}
		var ok bool
		f.bias[c] = int64(bias)
		if f.multipliers[c], f.shifts[c], ok = multiplierOf(unit/scale, int64(most)); !ok {
			return nil
		}
	}
	for i := range f.weights {
		if dead[l.channel(i)] {
			f.weights[i] = 0
		}
	}
	return f
}

// uniform reports whether all channels have one multiplier.
func (f *fixedLayer) uniform() bool {
	for c := range f.shifts {
		if f.multipliers[c] != f.multipliers[0] || f.shifts[c] != f.shifts[0] {
			return false
		}
	}
	return true
}

// biasFor is the bias as a constant, nil if none of it counts.
func (m *cortexM) biasFor(b *ops.Builder, n *ir.Node, f *fixedLayer, always bool) any {
	if !always && !slices.ContainsFunc(f.bias, func(v int64) bool { return v != 0 }) {
		return nil
	}
	return m.fixed(b, n.Name+"_bias", ir.Int32, f.bias, int64(len(f.bias)))
}

// fixed is a constant of int8 or int32.
func (m *cortexM) fixed(b *ops.Builder, name string, d ir.DType, xs []int64,
	sizes ...int64) *ir.Value {
	v := intConstant(b, name, d, xs, sizes...)
	m.constant[v] = true
	return v
}

func intConstant(b *ops.Builder, name string, d ir.DType, xs []int64, sizes ...int64) *ir.Value {
	return b.Constant(name, intData(d, xs, sizes...))
}

func intData(d ir.DType, xs []int64, sizes ...int64) *ir.Constant {
	raw := make(ir.Bytes, 0, len(xs)*d.Size())
	for _, x := range xs {
		switch d {
		case ir.Int8:
			raw = append(raw, byte(x))
		case ir.Int16:
			raw = binary.LittleEndian.AppendUint16(raw, uint16(x))
		default:
			raw = binary.LittleEndian.AppendUint32(raw, uint32(x))
		}
	}
	return &ir.Constant{Type: ir.StaticTensor(d, sizes...), Data: raw}
}

// transposed returns row-major xs of some sizes with the dimensions in another order.
func transposed(xs []int64, sizes []int64, order ...int) (out []int64, now []int64) {
	strides := make([]int64, len(sizes))
	stride := int64(1)
	for d := len(sizes) - 1; d >= 0; d-- {
		strides[d], stride = stride, stride*sizes[d]
	}
	out, now = make([]int64, len(xs)), make([]int64, len(order))
	for d, from := range order {
		now[d] = sizes[from]
	}
	for i := range out {
		at, rest := int64(0), int64(i)
		for d := len(order) - 1; d >= 0; d-- {
			at += rest % now[d] * strides[order[d]]
			rest /= now[d]
		}
		out[i] = xs[at]
	}
	return out, now
}

// image is one or two spatial dimensions as two.
func image(xs []int64, absent int64) []int64 {
	if len(xs) == 1 {
		return []int64{absent, xs[0]}
	}
	return xs
}

// asImage is v with two spatial dimensions.
func asImage(b *ops.Builder, v *ir.Value) *ir.Value {
	s := v.Type.Sizes
	if len(s) == 4 {
		return v
	}
	return denseOp(b, "aten.view.default", v, []sym.Expr{s[0], s[1], sym.Int(1), s[2]})
}

// seen is v in the sizes of n's result.
func seen(b *ops.Builder, v *ir.Value, n *ir.Node) *ir.Value {
	if v.Type.Rank() == n.Output(0).Type.Rank() {
		return v
	}
	return denseOp(b, "aten.view.default", v, n.Output(0).Type.Sizes)
}

func (m *cortexM) convolution(n *ir.Node, c *ops.Call) quantizer {
	x, spatial := m.ofBytes(c.Value("input")), c.Outs[0].Rank()-2
	if x == nil || spatial < 1 || spatial > 2 {
		return nil
	}
	var lists [4][]int64
	for i, name := range []string{"stride", "padding", "dilation", "output_padding"} {
		var err error
		if lists[i], err = spatialInts(c, name, spatial); err != nil {
			return nil
		}
	}
	stride, padding, dilation, outside := image(lists[0], 1), image(lists[1], 0),
		image(lists[2], 1), image(lists[3], 0)
	groups, err := c.Int("groups")
	axis, transpose := 0, c.Bool("transposed")
	if transpose {
		axis = 1
	}
	if err != nil || transpose && (groups != 1 || slices.Max(dilation) > 1) {
		return nil
	}
	ints := x.ints
	if x.inner != nil && !transpose && x.pad[0] != nil &&
		(m.sides || slices.Equal(x.pad[0], x.pad[1])) {
		ints, padding = x.inner, slices.Concat(padding, padding)
		for side, pad := range x.pad {
			for d, p := range image(pad, 0) {
				padding[2*side+d] += p
			}
		}
		if slices.Equal(padding[:2], padding[2:]) {
			padding = padding[:2]
		}
	}
	l := m.layer8(x, c.Value("weight"), c.Value("bias"), axis)
	if l == nil {
		return nil
	}
	sizes, _ := c.Tensor("weight").StaticSizes()
	sizes = append(slices.Clone(sizes[:2]), image(sizes[2:], 1)...)
	channels := groups * sizes[1]
	return func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
		f := l.to(to.scale)
		if f == nil {
			return nil
		}
		op, order := "quantized_conv2d", []int{0, 2, 3, 1}
		before, behind := []any{stride, padding}, []any{dilation}
		switch {
		case transpose:
			op, order, behind = "quantized_transpose_conv2d", []int{1, 2, 3, 0},
				[]any{outside, dilation}
		case groups == channels && groups > 1:
			op, order = "quantized_depthwise_conv2d", []int{1, 2, 3, 0}
			behind = []any{dilation, sizes[0] / channels}
		}
		ws, now := transposed(f.weights, sizes, order...)
		args := []any{asImage(b, ints), m.fixed(b, n.Name+"_weight", ir.Int8, ws, now...),
			m.biasFor(b, n, f, groups > 1)}
		args = append(append(append(args, before...), behind...), -x.zero[0], to.zero)
		args = append(append(args, m.rescales(b, n, f)...), to.lo, to.hi)
		return seen(b, denseOp(b, cm+op+".default", args...), n)
	}
}

// rescales are the multipliers and shifts of channels as constants.
func (m *cortexM) rescales(b *ops.Builder, n *ir.Node, f *fixedLayer) []any {
	channels := int64(len(f.shifts))
	return []any{m.fixed(b, n.Name+"_multipliers", ir.Int32, f.multipliers, channels),
		m.fixed(b, n.Name+"_shifts", ir.Int32, f.shifts, channels)}
}

// product is that of rows and columns; the columns are rows if rows is set.
func (m *cortexM) product(n *ir.Node, c *ops.Call, self, mat2, bias string,
	rows bool) quantizer {
	x, add := m.ofBytes(c.Value(self)), (*ir.Value)(nil)
	if bias != "" {
		add = c.Value(bias)
	}
	if x == nil {
		return nil
	}
	axis := 1
	if rows {
		axis = 0
	}
	if c.Tensor(mat2).Rank() == 2 {
		if l := m.layer8(x, c.Value(mat2), add, axis); l != nil {
			return m.linear8(n, c, x, l, mat2, rows)
		}
	}
	if add != nil {
		return nil
	}
	return m.matmul(n, c, x, m.ofBytes(c.Value(mat2)), rows)
}

// linear8 is a product with constant weights: a linear layer, or if channels have scales of
// their own the convolution of one tap of which every row is an image.
func (m *cortexM) linear8(n *ir.Node, c *ops.Call, x *quantity, l *layer8, mat2 string,
	rows bool) quantizer {
	sizes, _ := c.Tensor(mat2).StaticSizes()
	order := []int{1, 0}
	if rows {
		order = []int{0, 1}
	}
	return func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
		f := l.to(to.scale)
		if f == nil {
			return nil
		}
		ws, now := transposed(f.weights, sizes, order...)
		if f.uniform() {
			return denseOp(b, cm+"quantized_linear.default", x.ints, m.fixed(b, n.Name+"_weight", ir.Int8,
				ws, now...), m.biasFor(b, n, f, false), nil, -x.zero[0], 0, to.zero,
				f.multipliers[:1], f.shifts[:1], to.hi, to.lo)
		}
		in := denseOp(b, "aten.view.default", x.ints, []int64{-1, now[1], 1, 1})
		one, none := []int64{1, 1}, []int64{0, 0}
		args := []any{in, m.fixed(b, n.Name+"_weight", ir.Int8, ws, now[0], 1, 1, now[1]),
			m.biasFor(b, n, f, false), one, none, one, -x.zero[0], to.zero}
		args = append(append(args, m.rescales(b, n, f)...), to.lo, to.hi)
		return denseOp(b, "aten.view.default", denseOp(b, cm+"quantized_conv2d.default", args...),
			n.Output(0).Type.Sizes)
	}
}

// matmul is the product of two tensors, neither of which is known.
func (m *cortexM) matmul(n *ir.Node, c *ops.Call, x, y *quantity,
	rows bool) quantizer {
	if x == nil || y == nil {
		return nil
	}
	s := x.ints.Type.Sizes
	_, depth := s[len(s)-1].Bounds()
	if depth > math.MaxInt32/x.far()/y.far() {
		return nil
	}
	return func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
		multiplier, shift, ok := multiplierOf(x.scale[0]*y.scale[0]/to.scale, depth*x.far()*y.far())
		if !ok {
			return nil
		}
		lhs, rhs := x.ints, y.ints
		t := rhs.Type.Sizes
		if lhs.Type.Rank() != 3 || rows {
			lhs = denseOp(b, "aten.view.default", lhs, []sym.Expr{sym.Int(1), sym.Int(-1), s[len(s)-1]})
			rhs = denseOp(b, "aten.view.default", rhs, []sym.Expr{sym.Int(1), t[0], t[1]})
		}
		if !rows {
			rhs = denseOp(b, "aten.permute.default", rhs, []int{0, 2, 1})
		}
		v := limitedTo(b, denseOp(b, cm+"quantized_batch_matmul.default", lhs, -x.zero[0], rhs,
			-y.zero[0], to.zero, multiplier, shift), to)
		if v.Type.Rank() != n.Output(0).Type.Rank() || rows {
			return denseOp(b, "aten.view.default", v, n.Output(0).Type.Sizes)
		}
		return v
	}
}

// mean is a pooling of the image, or if the scale changes a sum that is rescaled.
func (m *cortexM) mean(c *ops.Call) quantizer {
	x, dims := m.ofBytes(c.Value("self")), meanDims(c)
	if x == nil || dims == nil || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	return m.meanOf(x, dims, c.Bool("keepdim"), c)
}

// meanOf is the mean over dimensions in order.
func (m *cortexM) meanOf(x *quantity, dims []int, keep bool, c *ops.Call) quantizer {
	count, sizes := x.meanCount(dims), c.Outs[0].Sizes
	if count < 1 || count > math.MaxInt32/x.far() {
		return nil
	}
	return func(b *ops.Builder, n *ir.Node, to *quantization) *ir.Value {
		if x.scale[0] == to.scale && x.zero[0] == to.zero && slices.Equal(dims, []int{2, 3}) &&
			x.ints.Type.Rank() == 4 {
			kernel, _ := ir.TensorOf(ir.Int8, x.ints.Type.Sizes[2:]...).StaticSizes()
			v := pooled(b, x, x.ints, kernel, []int64{1, 1}, []int64{0, 0}, false)
			return denseOp(b, "aten.view.default", limitedTo(b, v, to), sizes)
		}
		up := sumShift(count * x.far())
		multiplier, shift, ok := multiplierOf(x.scale[0]/(float64(count<<up)*to.scale),
			count*x.far()<<up)
		if !ok {
			return nil
		}
		return denseOp(b, ops.FixedMean, x.ints, dims, keep, x.zero[0], up, to.zero, multiplier, shift,
			to.lo, to.hi)
	}
}

// sumShift is how far sums of at most so much are shifted up before they are rescaled: what is
// rounded twice is to have many bits. Weights of 2^6 are int8.
func sumShift(most int64) (up int) {
	for up < 6 && most<<(up+1) <= math.MaxInt32 {
		up++
	}
	return up
}

// pooled is the mean of windows of an image.
func pooled(b *ops.Builder, x *quantity, image *ir.Value, kernel, stride, padding []int64,
	ceil bool) *ir.Value {
	multiplier, shift, _ := multiplierOf(x.scale[0], 0) // which no kernel reads
	return denseOp(b, cm+"quantized_avg_pool2d.default", image, kernel, stride, padding, ceil,
		x.zero[0], multiplier, shift)
}

// pool is the mean of windows: that of int8, or if the scale changes the convolution of each
// channel with ones; windows that are cut or differ have weights.
func (m *cortexM) pool(n *ir.Node, c *ops.Call) quantizer {
	x, p := m.ofBytes(c.Value("self")), poolingOf(c)
	switch {
	case x == nil || p == nil:
		return nil
	case p.whole:
		return m.meanOf(x, []int{2, 3}[:len(p.kernel)], true, c)
	}
	kernel, stride, padding := image(p.kernel, 1), image(p.stride, 1), image(p.padding, 0)
	channels, known := x.ints.Type.Sizes[1].Const()
	padded, count := slices.Max(padding) > 0, p.count()
	if !known {
		return nil
	}
	return func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
		in, around := asImage(b, x.ints), padding
		if x.scale[0] == to.scale && x.zero[0] == to.zero {
			if padded && p.counted {
				in = denseOp(b, padOp, in, []int64{padding[1], padding[1], padding[0], padding[0]}, x.zero[0])
				around = []int64{0, 0}
			}
			v := pooled(b, x, in, kernel, stride, around, p.ceil)
			if !v.Type.Numel().Equal(n.Output(0).Type.Numel()) {
				return nil // one more window begins in the padding, which is part of the image now
			}
			return limitedTo(b, seen(b, v, n), to)
		}
		if p.ceil || padded && !p.counted || count > maxWindow {
			return nil
		}
		up := sumShift(count * x.far())
		l := &layer8{of: x, weights: slices.Repeat([]int64{1 << up}, int(count*channels)),
			channel: func(i int) int { return i % int(channels) },
			scale:   slices.Repeat([]float64{x.scale[0] / float64(count<<up)}, int(channels))}
		if v := m.depthwise(b, n, l, in, kernel, stride, padding, to); v != nil {
			return seen(b, v, n)
		}
		return nil
	}
}

// depthwise is the convolution of each channel of an image with weights of its own.
func (m *cortexM) depthwise(b *ops.Builder, n *ir.Node, l *layer8, image *ir.Value, kernel, stride,
	padding []int64, to *quantization) *ir.Value {
	f := l.to(to.scale)
	if f == nil {
		return nil
	}
	args := []any{image, m.fixed(b, n.Name+"_weight", ir.Int8, f.weights, 1, kernel[0], kernel[1],
		int64(len(l.scale))), m.biasFor(b, n, f, true), stride, padding, []int64{1, 1}, 1,
		-l.of.zero[0], to.zero}
	args = append(append(args, m.rescales(b, n, f)...), to.lo, to.hi)
	return denseOp(b, cm+"quantized_depthwise_conv2d.default", args...)
}

// batchNorm is that of an image that no layer makes: each channel times a number, plus another.
func (m *cortexM) batchNorm(n *ir.Node, c *ops.Call) quantizer {
	x := m.ofBytes(c.Value("input"))
	if x == nil {
		return nil
	}
	scale, added, ok := m.batchNormOf(c)
	if !ok {
		return nil
	}
	l := &layer8{of: x, channel: func(i int) int { return i }, bias: added}
	for _, by := range scale {
		l.weights = append(l.weights, int64(math.Copysign(math.MaxInt8, by)))
		l.scale = append(l.scale, x.scale[0]*math.Abs(by)/math.MaxInt8)
	}
	s, one := x.ints.Type.Sizes, []int64{1, 1}
	return func(b *ops.Builder, _ *ir.Node, to *quantization) *ir.Value {
		image := denseOp(b, "aten.view.default", x.ints,
			[]sym.Expr{s[0], s[1], sym.Mul(s[2:]...), sym.Int(1)})
		v := m.depthwise(b, n, l, image, one, one, []int64{0, 0}, to)
		if v == nil {
			return nil
		}
		return denseOp(b, "aten.view.default", v, s)
	}
}
