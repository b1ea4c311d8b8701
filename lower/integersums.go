package lower

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// convolution is a sum of products of integers and its scale, nil if it cannot be.
func (a *integerArithmetic) convolution(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	x, w := a.of[c.Value("input")], a.of[c.Value("weight")]
	if !x.small() || !w.small() || !x.uniform() || w.dynamic[0] != nil {
		return nil
	}
	spatial := c.Outs[0].Rank() - 2
	axis, transposed := 0, c.Bool("transposed")
	if transposed {
		axis = 1
	}
	before, err := spatialInts(c, "padding", spatial)
	if err != nil || !w.uniform() && (w.axis != axis || transposed && !isOne(c.Arg("groups"))) {
		return nil
	}
	after, ints := slices.Clone(before), x.ints
	if x.inner != nil && x.pad[0] != nil && !transposed {
		ints = x.inner
		for d := range before {
			before[d] += x.pad[0][d]
			after[d] += x.pad[1][d]
		}
	}
	from := &quantity{ints: ints, zero: x.zero, least: x.least, most: x.most}
	s := &scaledSum{inner: spatial}
	return a.sum(b, n, s, [2]*quantity{x, w}, axis, 0, c.Value("bias"), func(bias any,
		d ir.DType) *ir.Value {
		sum := b.Op(ops.IntegerConvolution, a.summed(b, s, from), w.ints, bias, c.Arg("stride"),
			before, after, c.Arg("dilation"), transposed, c.Arg("output_padding"),
			c.Arg("groups"), x.zero[0], w.zero[0], d)
		if s.exact = s.exact && !a.multiplies(b, sum); s.exact && transposed {
			return b.Op(n.Op, a.whole(b, from), a.whole(b, w), nil, c.Arg("stride"), before,
				c.Arg("dilation"), true, c.Arg("output_padding"), c.Arg("groups"))
		}
		if s.exact {
			return b.Op(ops.PaddedConvolution, a.whole(b, from), a.whole(b, w), nil,
				c.Arg("stride"), before, after, c.Arg("dilation"), c.Arg("groups"), true)
		}
		return sum
	})
}

// padding returns what constant_pad_nd adds before and after the dimensions behind the
// second, nil if it adds to others or takes away.
func padding(c *ops.Call) (pad [2][]int64) {
	spatial := c.Outs[0].Rank() - 2
	before, after, ok := zeroPadding(c, max(spatial, 0))
	if !ok {
		return pad
	}
	return [2][]int64{before, after}
}

// summed is the first operand of a sum of products: integers of 8 bits whose sums float32 holds
// are floats where vectors are of these.
func (a *integerArithmetic) summed(b *ops.Builder, s *scaledSum, x *quantity) *ir.Value {
	if s.floats = a.floats && s.exact && x.ints.Type.DType == ir.Int8; s.floats {
		return a.whole(b, x)
	}
	return x.ints
}

// multiplies reports whether a kernel multiplies the bytes of a sum as they are.
func (a *integerArithmetic) multiplies(b *ops.Builder, sum *ir.Value) bool {
	if a.bytes == nil {
		return false
	}
	c, err := b.Table.Bind(sum.Def)
	return err == nil && a.bytes(c, a.constant)
}

// times is the product of two quantities, element by element, as integers times a scale.
func (a *integerArithmetic) times(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if n.Op != "aten.mul.Tensor" {
		return nil
	}
	x, y := a.of[c.Value("self")], a.of[c.Value("other")]
	if !x.small() || !y.small() || !x.uniform() || !y.uniform() ||
		x.far() > math.MaxInt32/y.far() {
		return nil
	}
	s := a.productOf(b, x, y)
	s.graph = graphOf(n, 1, 1, s.most, 5)
	made := a.scaled(b, n, s)
	if form := a.forms[made[0]]; x.ofBytes() && y.ofBytes() {
		near := form.build
		form.build = func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
			if a.productsAgree(b.Table, n, q, x, y, to) {
				return s.quantized(b, q, to)
			}
			return near(b, q, to)
		}
	}
	return made
}

// productOf is the product of integers of x and y.
func (a *integerArithmetic) productOf(b *ops.Builder, x, y *quantity) *scaledSum {
	s := &scaledSum{scale: []float64{x.scale[0] * y.scale[0]}}
	a.summed32(b, s, x.far()*y.far(), func(d ir.DType) *ir.Value {
		return b.Op(ops.IntegerMul, x.ints, y.ints, x.zero[0], y.zero[0], d)
	})
	return s
}

// productsAgree reports whether products of integers, quantized by q, are those of floats, which n
// makes, for all pairs of 8 bits but few.
func (a *integerArithmetic) productsAgree(table *ops.Table, n, q *ir.Node, x, y *quantity,
	to *quantization) bool {
	made := computed(table, func(b *ops.Builder) []*ir.Value {
		x, y := allBytes(b, x, 256, 1), allBytes(b, y, 1, 256)
		at := &integerArithmetic{fixedPoint: a.fixedPoint, of: map[*ir.Value]*quantity{}}
		return []*ir.Value{at.productOf(b, x, y).quantized(b, q, to),
			to.float(b, b.Op(n.Op, at.float(b, x), at.float(b, y)))}
	})
	if made == nil {
		return false
	}
	ints, ok1 := numbersOf(made[0])
	floats, ok2 := numbersOf(made[1])
	differ := 0
	for i, x := range ints {
		if x != floats[i] {
			differ++
		}
	}
	return ok1 && ok2 && differ*mayDiffer <= len(ints)
}

// ofBytes reports whether q is of 8 bits.
func (q *quantity) ofBytes() bool { return q.ints.Type.DType.Size() == 1 }

// allBytes is q of all integers of 8 bits.
func allBytes(b *ops.Builder, q *quantity, sizes ...int64) *quantity {
	data := make(ir.Bytes, 256)
	for i := range data {
		data[i] = byte(i)
	}
	all := *q
	all.ints = b.Constant("x", &ir.Constant{Data: data,
		Type: ir.StaticTensor(q.ints.Type.DType, sizes...)})
	return &all
}

// far is how far an integer may be from the zero point of all, at least 1.
func (q *quantity) far() int64 { return max(q.most-q.zero[0], q.zero[0]-q.least, 1) }

// mean is the sum of integers, of all or of windows, times a scale that divides it.
func (a *integerArithmetic) mean(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if len(c.Operands()) == 0 || len(c.Outs) != 1 {
		return nil
	}
	q := a.of[c.Operands()[0]]
	if !q.small() || !q.uniform() || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	s, pool, keep := &scaledSum{}, poolingOf(c), true
	var dims []int
	if n.Op == "aten.mean.dim" {
		dims, keep = meanDims(c), c.Bool("keepdim")
	} else if pool != nil && pool.whole {
		dims = []int{2, 3, 4}[:len(pool.kernel)]
	}
	count := int64(0)
	if dims != nil {
		if count = q.meanCount(dims); count == 0 || count > math.MaxInt32/max(-q.least, q.most, 1) {
			return nil
		}
		ints, d := q.ints, ir.Int32
		if a.floats && count*max(-q.least, q.most, 1) <= ops.ExactSum {
			d = ir.Float32
			ints = a.asFloats(b, ints)
		}
		sum := planeSums(b, ints, dims, keep)
		if sum == nil {
			sum = b.Op("aten.sum.dim_IntList", ints, dims, keep, ops.Kw("dtype", d))
		}
		a.summed32(b, s, count*max(-q.least, q.most, 1), func(to ir.DType) *ir.Value {
			if d == to {
				return sum
			}
			return b.Op("aten._to_copy.default", sum, ops.Kw("dtype", to))
		})
		s.bias = []float64{-float64(count * q.zero[0])}
		s.scale = []float64{q.scale[0] / float64(count)}
		s.added = multiplied(s.bias, s.scale[0])
		if count <= ops.MostInOrder && (pool != nil || ops.MeanInOrder(q.sizes(dims))) {
			s.graph = graphOf(n, count, 1/float64(count), count*q.far(), count+3)
		}
	} else if ones := a.ones(b, n, pool, q); ones != nil {
		count = pool.count()
		a.summed32(b, s, count*q.far(), ones)
		s.scale = []float64{q.scale[0] / float64(count)}
		if count <= ops.MostInOrder {
			s.graph = graphOf(n, count, 1/float64(count), s.most, count+3)
		}
	} else if w := a.windowsOf(c); w != nil {
		if w.wide() {
			s.sum = w.sum(b, n, ir.Float32)
		} else {
			a.summed32(b, s, w.most, func(d ir.DType) *ir.Value { return w.sum(b, n, d) })
		}
		s.scale = []float64{q.scale[0] / w.unit}
		s.graph = graphOf(n, int64(w.unit), w.whole, w.most, w.terms+8)
	} else {
		return nil
	}
	return a.scaled(b, n, s)
}

// planeSums is the sums of images of floats: a pool's, whose kernel keeps them in registers. It is
// nil if dims are not those of images.
func planeSums(b *ops.Builder, x *ir.Value, dims []int, keep bool) *ir.Value {
	sizes, _ := x.Type.StaticSizes()
	if x.Type.DType != ir.Float32 || len(sizes) != 4 || !slices.Equal(dims, []int{2, 3}) {
		return nil
	}
	sum := b.Op("aten.avg_pool2d.default", x, sizes[2:], ops.Kw("divisor_override", 1))
	if !keep {
		sum = b.Op("aten.squeeze.dims", sum, dims)
	}
	return sum
}

// meanDims are the dimensions of which a call of mean.dim is the mean, in order, nil if they are
// not known.
func meanDims(c *ops.Call) []int {
	rank := c.Tensor("self").Rank()
	dims, err := c.Ints("dim")
	switch {
	case !c.Has("dim") || err == nil && (len(dims) == 0 || rank == 0):
		return seq.Of(rank, func(d int) int { return d })
	case err != nil:
		return nil
	}
	at := seq.Map(dims, func(d int64) int { return int(d+int64(rank)) % rank })
	slices.Sort(at)
	return at
}

// meanCount is how many elements a mean over dimensions is of, 0 if only the run knows.
func (q *quantity) meanCount(dims []int) int64 {
	n, _ := sym.Mul(q.sizes(dims)...).Const()
	return n
}

func (q *quantity) sizes(dims []int) []sym.Expr {
	return seq.Map(dims, func(d int) sym.Expr { return q.ints.Type.Sizes[d] })
}

// pooling is an average pooling of windows of one size.
type pooling struct {
	kernel, stride, padding []int64
	ceil, counted           bool // windows may begin inside and end outside; padding counts
	whole                   bool // the one window is the image
}

// poolingOf reads a call of an average pooling, an adaptive one if the result's sizes divide those
// of the image; nil if it is none, or if another divisor is given.
func poolingOf(c *ops.Call) *pooling {
	base, adaptive := strings.CutPrefix(strings.TrimPrefix(ir.OpBase(c.Op.Name()), "_"), "adaptive_")
	if !strings.HasPrefix(base, "avg_pool") {
		return nil
	}
	spatial := int(base[len("avg_pool")] - '0')
	if c.Outs[0].Rank() != spatial+2 {
		return nil
	}
	in, out := c.Tensor("self").Sizes[2:], c.Outs[0].Sizes[2:]
	p := &pooling{padding: make([]int64, spatial), counted: true, whole: true}
	if adaptive {
		for d := range in {
			n, ok1 := in[d].Const()
			m, ok2 := out[d].Const()
			if !ok1 || !ok2 || m < 1 || n%m != 0 {
				return nil
			}
			p.kernel = append(p.kernel, n/m)
			p.whole = p.whole && m == 1
		}
		p.stride = p.kernel
		return p
	}
	if spatial > 1 && c.Has("divisor_override") {
		return nil
	}
	var err1, err2, err3 error
	p.kernel, err1 = spatialInts(c, "kernel_size", spatial)
	p.padding, err2 = spatialInts(c, "padding", spatial)
	if p.stride = p.kernel; c.Has("stride") {
		if l, ok := c.Arg("stride").(ir.List); !ok || len(l) > 0 {
			p.stride, err3 = spatialInts(c, "stride", spatial)
		}
	}
	if err1 != nil || err2 != nil || err3 != nil {
		return nil
	}
	p.ceil, p.counted = c.Bool("ceil_mode"), c.Bool("count_include_pad")
	for d, k := range p.kernel {
		p.whole = p.whole && in[d].Is(k) && p.padding[d] == 0
	}
	return p
}

// count is how many elements a window has.
func (p *pooling) count() int64 {
	count := int64(1)
	for _, k := range p.kernel {
		count *= k
	}
	return count
}

// ones makes the sums of the windows of a pooling, which are a convolution with ones; nil if they
// are not all of one size.
func (a *integerArithmetic) ones(b *ops.Builder, n *ir.Node, p *pooling,
	q *quantity) func(d ir.DType) *ir.Value {
	if p == nil {
		return nil
	}
	channels, ok := q.ints.Type.Sizes[1].Const()
	if !ok || p.ceil || q.ints.Type.DType != ir.Int8 || !p.counted && slices.Max(p.padding) > 0 {
		return nil
	}
	count := p.count()
	if count < 1 || count > maxWindow {
		return nil
	}
	ones := bytes.Repeat([]byte{1}, int(channels*count))
	w := b.Constant(n.Name+"_ones", &ir.Constant{Data: ir.Bytes(ones),
		Type: ir.StaticTensor(ir.Int8, append([]int64{channels, 1}, p.kernel...)...)})
	return func(d ir.DType) *ir.Value {
		return b.Op(ops.IntegerConvolution, q.ints, w, nil, p.stride, p.padding, p.padding,
			slices.Repeat([]int64{1}, len(p.kernel)), false, []int64{0}, channels, q.zero[0], 0, d)
	}
}

// maxWindow is how many elements of a window may be summed with weights of one.
const maxWindow = 1 << 10

// short reports whether 16 bits hold the integers less their zero point.
func (q *quantity) short() bool {
	return len(q.zero) == 1 && q.least-q.zero[0] >= math.MinInt16 && q.most-q.zero[0] <= math.MaxInt16
}

// sum is what made makes of a bias in int32 and a dtype, times the scales of the operands x and w;
// made may ask whether the sum is to be of floats. A bias that is no constant is added behind the
// scale. The axis is that of w's results, in front of dimension lead are batches. Sums that int32
// may not hold are of int64, or floats where time counts.
func (a *integerArithmetic) sum(b *ops.Builder, n *ir.Node, s *scaledSum, of [2]*quantity,
	axis, lead int, bias *ir.Value, made func(bias any, d ir.DType) *ir.Value) []*ir.Value {
	x, w := of[0], of[1]
	if slices.ContainsFunc(w.zero, func(z int64) bool { return z != w.zero[0] }) {
		return nil
	}
	most := a.largestSum(x, w, axis, lead)
	d := ir.Float32
	if most > math.MaxInt32 {
		if d = ir.Int64; a.speed || most > mostSum || x.far() > math.MaxInt32/w.far() {
			return nil
		}
	}
	s.exact = a.speed && most <= ops.ExactSum && x.short()
	for _, k := range w.scale {
		s.scale = append(s.scale, k*x.scale[0])
	}
	var ints, rest *ir.Value
	if bias != nil {
		if ints, s.bias = a.bias(b, n, bias, s, most); ints == nil && s.bias == nil {
			rest = bias
		}
	}
	if d == ir.Int64 {
		s.sum = b.Op("aten._to_copy.default", made(ints, d), ops.Kw("dtype", ir.Float32))
	} else if a.summed32(b, s, most, func(d ir.DType) *ir.Value {
		return made(ints,
			d)
	}); bias != nil {
		if xs, ok := a.biasOf(bias); ok && !slices.ContainsFunc(xs, math.IsNaN) {
			s.added = xs
		} else {
			s.ints = nil
		}
	}
	if rest == nil {
		if bias == nil && len(s.scale) == 1 && most <= math.MaxInt32/2 {
			s.as = func(b *ops.Builder) *ir.Value {
				if s.ints != nil {
					return s.ints
				}
				return made(nil, ir.Int32)
			}
		}
		return a.scaled(b, n, s)
	}
	rest = b.Op("aten.view.default", rest, append([]int64{-1},
		slices.Repeat([]int64{1}, s.inner)...))
	v := b.Op("aten.add.Tensor", s.times(b, n, s.scale), rest)
	a.forms[v] = &form{unlimited, s.rescaled}
	return []*ir.Value{v}
}

// summed32 gives s what made makes: sums of at most so much, rounded to float32. In fixed point
// they are int32, too.
func (a *integerArithmetic) summed32(b *ops.Builder, s *scaledSum, most int64,
	made func(d ir.DType) *ir.Value) {
	s.most = most
	if !a.fixedPoint {
		s.sum = made(ir.Float32)
		return
	}
	s.sum = made(ir.Int32)
	to := func(d ir.DType) *ir.Value {
		return b.Op("aten._to_copy.default", s.sum, ops.Kw("dtype", d))
	}
	switch s.sum.Type.DType {
	case ir.Int32:
		s.ints, s.sum = s.sum, to(ir.Float32)
	default: // float32 holds what is exact, and what int64 has made is not
		if s.exact {
			s.ints = to(ir.Int32)
		}
	}
}

// scaled is s as floats, which quantize in one step.
func (a *integerArithmetic) scaled(b *ops.Builder, n *ir.Node, s *scaledSum) []*ir.Value {
	v := s.times(b, n, s.scale)
	a.forms[v], a.sums[v] = &form{unlimited, s.quantized}, s
	if s.graph != nil {
		a.forms[v].build = func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
			return s.asGraph(a, b, q, to)
		}
	}
	return []*ir.Value{v}
}

// mostSum is a sum of integers that int64 holds twice.
const mostSum = 1 << 60

// largestSum returns a bound of the sums of products of x and w, more than mostSum if only the run
// knows their number. The axis is that of w's results; in front of dimension lead are batches.
func (a *integerArithmetic) largestSum(x, w *quantity, axis, lead int) int64 {
	channels, inner, terms := int64(1), int64(1), int64(1)
	for d, size := range w.ints.Type.Sizes {
		_, n := size.Bounds()
		if d == axis {
			channels, inner = n, 1
			continue
		}
		if inner *= n; d < lead {
			continue
		}
		if n > math.MaxInt32 || terms > math.MaxInt32/max(n, 1) {
			return mostSum + 1
		}
		terms *= n
	}
	ws, ok := a.elements(w.ints)
	if !ok {
		return min(terms, mostSum/x.far()/w.far()+1) * x.far() * w.far()
	}
	sums := make([]float64, channels)
	for i, v := range ws {
		sums[int64(i)/inner%channels] += math.Abs(v - float64(w.zero[0]))
	}
	return int64(slices.Max(append(sums, 0))) * x.far()
}

// biasOf returns the elements of a constant bias, which may be quantized.
func (a *integerArithmetic) biasOf(v *ir.Value) (xs []float64, ok bool) {
	q := a.of[v]
	if q == nil || q.dynamic[0] != nil {
		return a.elements(v)
	}
	if xs, ok = a.elements(q.ints); ok {
		for i := range xs {
			k := min(i, len(q.scale)-1)
			xs[i] = (xs[i] - float64(q.zero[k])) * q.scale[k]
		}
	}
	return xs, ok
}

// bias is a constant bias in units of the scales: integers if it is one of integers and a sum
// of at most the given size and it is one of int32, else floats, nil if there are none.
func (a *integerArithmetic) bias(b *ops.Builder, n *ir.Node, v *ir.Value, s *scaledSum,
	most int64) (ints *ir.Value, floats []float64) {
	xs, ok := a.biasOf(v)
	if !ok {
		return nil, nil
	}
	raw := make([]byte, 0, 4*len(xs))
	whole := true
	for i, x := range xs {
		x /= s.scale[min(i, len(s.scale)-1)]
		if math.IsNaN(x) || math.Abs(x) > maxBias {
			return nil, nil
		}
		y := math.RoundToEven(x)
		whole = whole && math.Abs(x-y) < biasSlack && math.Abs(y) <= float64(math.MaxInt32-most)
		raw = binary.LittleEndian.AppendUint32(raw, uint32(int32(y)))
		xs[i] = x
	}
	if !whole || s.exact || a.fixedPoint {
		return nil, xs
	}
	return b.Constant(n.Name+"_bias", &ir.Constant{Type: ir.StaticTensor(ir.Int32,
		int64(len(xs))), Data: ir.Bytes(raw)}), nil
}

const (
	// A bias that was quantized with the product of the scales is a whole number of them but
	// for the rounding of float32.
	biasSlack = 1.0 / 1024
	// maxBias is a float32 with room to be added to.
	maxBias = 1e30
)

// moved is sum, or the same as int32, moved to where its elements are in the floats.
func (s *scaledSum) moved(b *ops.Builder, sum *ir.Value) *ir.Value {
	if s.move == nil {
		return sum
	}
	return s.move(b, sum)
}

// times is the sum and its bias times scales.
func (s *scaledSum) times(b *ops.Builder, n *ir.Node, scales []float64) *ir.Value {
	sum := s.sum
	if s.bias != nil {
		sum = b.Op("aten.add.Tensor", sum, s.channels(b, n.Name+"_bias", s.bias))
	}
	return b.Op("aten.mul.Tensor", sum, s.channels(b, n.Name+"_scale", scales))
}

// channels is a constant with a number for each channel, or with one for all.
func (s *scaledSum) channels(b *ops.Builder, name string, xs []float64) *ir.Value {
	return b.Constant(name, &ir.Constant{Type: ir.StaticTensor(ir.Float32, s.sizes(len(xs))...),
		Data: float32s(xs)})
}

// float32s are the bytes of numbers as float32.
func float32s(xs []float64) ir.Bytes {
	raw := make(ir.Bytes, 0, 4*len(xs))
	for _, x := range xs {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
	}
	return raw
}
