package lower

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// norm is a norm of a quantity with constant weights: in ops.IntegerNorm's words its result is
// scale·x/sqrt(squares + added), scale having a weight in it, plus bias.
type norm struct {
	of          *quantity
	ints        func(b *ops.Builder) *ir.Value // of, with rows as the last dimensions
	shape       []int64                        // of a row
	params      []int64                        // the sizes of parameters
	count       int64
	mean        bool
	added       float64
	scale, bias []float64 // of a row's elements, or one for all; bias may be nil
}

// normOf reads a call, nil if it is none of those.
func (a *integerArithmetic) normOf(c *ops.Call) *norm {
	name := ir.OpBase(c.Op.Name())
	if !slices.Contains([]string{"native_layer_norm", "rms_norm", "native_group_norm",
		"instance_norm"}, name) {
		return nil
	}
	n := &norm{of: a.of[c.Value("input")], count: 1, mean: name != "rms_norm"}
	if !n.of.small() || !n.of.uniform() || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	n.ints = func(*ops.Builder) *ir.Value { return n.of.ints }
	sizes := n.of.ints.Type.Sizes
	var err error
	if c.Op.ParsedSchema().Index("normalized_shape") >= 0 {
		n.shape, err = c.Ints("normalized_shape")
		n.params = n.shape
	} else {
		channels, ok1 := sizes[1].Const()
		inner, ok2 := sym.Mul(sizes[2:]...).Const()
		groups := channels
		if name == "native_group_norm" {
			groups, err = c.Int("group")
		} else if !c.Bool("use_input_stats") {
			return nil
		}
		if !ok1 || !ok2 || err != nil {
			return nil
		}
		each := channels / groups
		n.shape, n.params = []int64{each, inner}, []int64{groups, each, 1}
		n.ints = func(b *ops.Builder) *ir.Value {
			return denseOp(b, "aten.view.default", n.of.ints,
				[]sym.Expr{sizes[0], sym.Int(groups), sym.Int(each), sym.Int(inner)})
		}
	}
	for _, size := range n.shape {
		if n.count *= size; n.count < 1 || n.count > ops.MostRow(n.of.ints.Type.DType) {
			return nil
		}
	}
	eps := 0x1p-23
	if err == nil && c.Has("eps") {
		eps, err = c.Float("eps")
	}
	if err != nil {
		return nil
	}
	count := float64(n.count)
	n.added, n.scale = count*eps/(n.of.scale[0]*n.of.scale[0]), []float64{1}
	if n.mean {
		n.added *= count
	}
	var ok bool
	if n.scale, ok = a.rowOf(c, "weight"); !ok {
		return nil
	}
	if n.scale == nil {
		n.scale = []float64{1}
	}
	if !n.mean {
		for i := range n.scale {
			n.scale[i] *= math.Sqrt(count)
		}
	} else if n.bias, ok = a.rowOf(c, "bias"); !ok {
		return nil
	}
	return n
}

// rowOf returns a parameter, of one element if all are the same, nil if it is absent or 0; ok is
// false if it is no constant.
func (a *integerArithmetic) rowOf(c *ops.Call, name string) (xs []float64, ok bool) {
	if !c.Has(name) {
		return nil, true
	}
	if xs, ok = a.biasOf(c.Value(name)); !ok || len(xs) == 0 ||
		slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return nil, false
	}
	if slices.ContainsFunc(xs, func(x float64) bool { return x != xs[0] }) {
		return xs, true
	}
	if xs = xs[:1]; xs[0] == 0 && name == "bias" {
		return nil, true
	}
	return xs, true
}

// sizes are those of a parameter with xs.
func (n *norm) sizes(xs int) []int64 {
	if xs == 1 {
		return nil
	}
	return n.params
}

// less is what is taken from the integers of a row.
func (n *norm) less() int64 {
	if n.mean {
		return 0
	}
	return n.of.zero[0]
}

// multiplied is xs times a number.
func multiplied(xs []float64, by float64) []float64 {
	ys := slices.Clone(xs)
	for i := range ys {
		ys[i] *= by
	}
	return ys
}

// quantized is what node q makes of n, its sums being exact and the rest float32; nil if float32
// does not hold what is added to sums.
func (n *norm) quantized(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
	if x := float32(n.added); !(x > 0) || math.IsInf(float64(x), 0) {
		return nil
	}
	row := func(name string, xs []float64) any {
		if xs == nil {
			return nil
		}
		return b.Constant(q.Name+name, &ir.Constant{Data: float32s(multiplied(xs, 1/to.scale)),
			Type: ir.StaticTensor(ir.Float32, n.sizes(len(xs))...)})
	}
	v := denseOp(b, ops.IntegerNorm, n.ints(b), n.shape, row("_weight", n.scale), row("_bias", n.bias),
		n.less(), n.mean, float64(float32(n.added)))
	return n.seen(b, b.Op(quantizeOp+".default", v, 1.0, to.zero, to.lo, to.hi, to.dtype))
}

// seen is v with the sizes of the input.
func (n *norm) seen(b *ops.Builder, v *ir.Value) *ir.Value {
	if sizes := n.of.ints.Type.Sizes; !sym.AllEqual(v.Type.Sizes, sizes) {
		return denseOp(b, "aten.view.default", v, sizes)
	}
	return v
}

// fixed is what node q makes of n in fixed point, in which int32 holds what is made of the sums.
func (n *norm) fixed(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
	if n.of.ints.Type.DType != ir.Int8 || to.dtype != ir.Int8 {
		return nil
	}
	count, far := float64(n.count), float64(n.of.far())
	// The largest element of a row, the sum of squares, and the quotient.
	element, squares, quotient := far, count*far*far, 1.0
	if n.mean {
		far = float64(n.of.most - n.of.least)
		element, squares, quotient = far*count, far*far*count*count, math.Sqrt(count)
	}
	variance := 0
	for variance < maxVarianceShift &&
		math.Ldexp(squares+n.added, variance+2) < 1<<60 {
		variance += 2
	}
	added := math.RoundToEven(math.Ldexp(n.added, variance))
	if !(added+math.Ldexp(squares, variance) < 1<<61) {
		return nil
	}
	up := 0
	for math.Ldexp(element, up+1) < 1<<30 {
		up++
	}
	scale, bias := multiplied(n.scale, 1/to.scale), []float64{float64(to.zero)}
	if n.bias != nil {
		bias = multiplied(n.bias, 1/to.scale)
		for i := range bias {
			bias[i] += float64(to.zero)
		}
	}
	largest := func(xs []float64) float64 { return max(slices.Max(xs), -slices.Min(xs)) }
	fraction := maxFraction
	for ; math.Ldexp(quotient*largest(scale)+largest(bias), fraction) > 1<<30; fraction-- {
		if fraction <= leastFraction {
			return nil
		}
	}
	// InverseRoot's root has 60 bits more than half, HighMul takes 31 away.
	_, shift := math.Frexp(math.Ldexp(largest(scale), fraction-29-up+variance/2))
	row := func(name string, xs []float64, bits int) *ir.Value {
		ints := seq.Map(xs, func(x float64) int64 {
			return int64(min(math.RoundToEven(math.Ldexp(x, bits)), math.MaxInt32))
		})
		return intConstant(b, q.Name+name, ir.Int32, ints, n.sizes(len(xs))...)
	}
	return n.seen(b, denseOp(b, ops.FixedNorm, n.ints(b), n.shape,
		row("_multipliers", scale, fraction-29-up+variance/2-shift+31), row("_biases", bias, fraction),
		n.less(), n.mean, int64(added), variance, up, shift, fraction, to.lo, to.hi))
}

const (
	// The result of a norm in fixed point has so many fractional bits before it is rounded.
	maxFraction, leastFraction = 16, 8
	// maxVarianceShift is how far sums of squares are shifted up, for what is added to them.
	maxVarianceShift = 16
)
