package lower

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// ExactProducts makes convolutions and products of int8 ones of float32, where
// float32 holds every sum: vectors multiply and add floats as fast as integers,
// and the kernels for floats are many. Sums are then the same in any order, so
// that results are the definition's to the bit. It is for targets where time
// counts more than space: constants and what lies between layers take four times
// as much.
var ExactProducts = Pass{
	Name: "exact-products",
	Doc:  "make products of small integers products of floats, where these are exact",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		if ctx.Speed {
			x := &exactProducts{constant: Constants(p, m)}
			rewrite(ctx.Table, m, onCalls(x.visit))
		}
	}),
}

type exactProducts struct{ constant map[*ir.Value]bool }

func (x *exactProducts) visit(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	weight, depthwise := "weight", false
	switch n.Op {
	case "cortex_m.quantized_conv2d.default":
	case "cortex_m.quantized_depthwise_conv2d.default":
		depthwise = true
	case "cortex_m.quantized_linear.default":
		weight = "weights"
	default:
		return nil
	}
	p := x.product(n, c, weight, depthwise)
	if p == nil || n.Output(0) == nil {
		return nil
	}
	if weight == "weights" {
		return []*ir.Value{p.linear(b)}
	}
	return []*ir.Value{p.convolution(b, depthwise)}
}

// exactProduct is a call whose sums float32 holds.
type exactProduct struct {
	c        *ops.Call
	name     string
	weights  *ir.Value // to which wOffset is to be added
	wOffset  int64
	bias     []float64
	channels int64 // of a convolution's input
	inOffset int64
	rescaled
}

// product reads a call, or returns nil if it is none, or its sums may be too
// large.
func (x *exactProducts) product(n *ir.Node, c *ops.Call, weight string,
	depthwise bool) *exactProduct {
	w, ok := x.ints(c, weight)
	t := c.Tensor(weight)
	sizes, static := t.StaticSizes()
	if !ok || !static || len(w) == 0 {
		return nil
	}
	p := &exactProduct{c: c, name: n.Name, weights: c.Value(weight)}
	args := map[string]*int64{"input_offset": &p.inOffset, "output_offset": &p.offset,
		"activation_min": &p.lo, "activation_max": &p.hi}
	linear := weight == "weights"
	if linear {
		args["filter_offset"] = &p.wOffset
	} else if p.channels, ok = c.Tensor("input").Sizes[1].Const(); !ok {
		return nil
	}
	for name, to := range args {
		v, err := c.Int(name)
		if err != nil || v != int64(int16(v)) {
			return nil
		}
		*to = v
	}
	channels := int(sizes[0])
	if depthwise {
		channels = int(sizes[3])
	}
	biasName := "bias"
	inputs := max(abs(127+p.inOffset), abs(-128+p.inOffset))
	if linear && c.Has("kernel_sum") { // which the offset of the input is part of
		biasName, p.inOffset = "kernel_sum", 0
		inputs = 128
	}
	if inputs > math.MaxInt16 {
		return nil
	}
	sums := make([]int64, channels)
	for i, v := range w {
		v += p.wOffset
		at := i / (len(w) / channels)
		if depthwise {
			at = i % channels
		}
		sums[at] += abs(v) * inputs
	}
	p.bias = make([]float64, channels)
	if c.Has(biasName) {
		bias, ok := x.ints(c, biasName)
		if !ok || len(bias) != channels {
			return nil
		}
		for i, v := range bias {
			p.bias[i] = float64(v)
			sums[i] += abs(v)
		}
	}
	var ms, ss []int64
	if linear {
		m, err := c.Ints("requantize_multipliers")
		s, err2 := c.Ints("requantize_shifts")
		if err != nil || err2 != nil || len(m) == 0 || len(s) == 0 {
			return nil
		}
		ms, ss = m[:1], s[:1]
	} else {
		var ok2 bool
		ms, ok = x.ints(c, "requantize_multipliers")
		ss, ok2 = x.ints(c, "requantize_shifts")
		if !ok || !ok2 || len(ms) != channels || len(ss) != channels {
			return nil
		}
	}
	for i, sum := range sums {
		k := min(i, len(ms)-1)
		scale, half, ok := rounding(ms[k], ss[k], sum, p.rescaled)
		if sum > ops.ExactSum || !ok {
			return nil
		}
		if i < len(ms) {
			p.scale, p.half = append(p.scale, scale), append(p.half, half)
		}
	}
	return p
}

// ints returns the elements of a constant tensor argument of int8 or int32.
func (x *exactProducts) ints(c *ops.Call, name string) ([]int64, bool) {
	v := c.Value(name)
	if v == nil || !x.constant[v] {
		return nil, false
	}
	xs, ok := numbersOf(v.Const)
	if !ok || v.Type.DType != ir.Int8 && v.Type.DType != ir.Int32 {
		return nil, false
	}
	out := seq.Map(xs, func(x float64) int64 { return int64(x) })
	return out, true
}

// input is the input as floats, with its offset.
func (p *exactProduct) input(b *ops.Builder) *ir.Value {
	x := b.Op("aten._to_copy.default", p.c.Value("input"), ops.Kw("dtype", ir.Float32))
	if p.inOffset != 0 {
		x = b.Op("aten.add.Scalar", x, p.inOffset)
	}
	return x
}

// weight is the weights as floats, with their offset and their dimensions in an order.
func (p *exactProduct) weight(b *ops.Builder, order ...int) *ir.Value {
	made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
		w := b.Op("aten._to_copy.default", p.weights, ops.Kw("dtype", ir.Float32))
		w = b.Op("aten.permute.default", b.Op("aten.add.Scalar", w, p.wOffset), order)
		return []*ir.Value{w}
	})
	if made == nil {
		must.Fail("its weights cannot be computed")
	}
	return b.Constant(p.name+"_weight", made[0])
}

func (p *exactProduct) convolution(b *ops.Builder, depthwise bool) *ir.Value {
	order := []int{0, 3, 1, 2} // of [out, h, w, in of a group]
	if depthwise {
		order = []int{3, 0, 1, 2} // of [1, h, w, out]
	}
	x, w := p.input(b), p.weight(b, order...)
	s, _ := w.Type.StaticSizes()
	y := b.Op(ops.PaddedConvolution, x, w, p.constant(b, "bias", ir.Float32, p.bias, s[0]),
		p.c.Arg("stride"), p.c.Arg("padding"), p.c.Arg("padding"), p.c.Arg("dilation"),
		p.channels/s[1], true)
	return p.requantised(b, y, s[0], 1, 1)
}

func (p *exactProduct) linear(b *ops.Builder) *ir.Value {
	s, _ := p.c.Tensor("weights").StaticSizes() // [out, in]
	x := p.input(b)
	flat := x.Type.Rank() != 2
	if flat {
		x = b.Op("aten.view.default", x, []int64{-1, s[1]})
	}
	y := b.Op("aten.addmm.default", p.constant(b, "bias", ir.Float32, p.bias, s[0]), x,
		p.weight(b, 1, 0))
	if flat {
		y = b.Op("aten.view.default", y, p.c.Outs[0].Sizes)
	}
	return p.requantised(b, y)
}

// requantised is sums y, whose scales have the given sizes, as int8.
func (p *exactProduct) requantised(b *ops.Builder, y *ir.Value, scales ...int64) *ir.Value {
	y = b.Op("aten._to_copy.default", y, ops.Kw("dtype", ir.Float64))
	half := p.constant(b, "half", ir.Float64, p.half, scales...)
	if p.lo < p.offset {
		half = b.Op("aten.mul.Tensor", b.Op("aten.hardtanh.default", y, -1, 1), half)
	}
	y = b.Op("aten.add.Tensor", b.Op("aten.mul.Tensor", y, p.constant(b, "scale", ir.Float64,
		p.scale, scales...)), half)
	y = b.Op("aten.hardtanh.default", y, p.lo-p.offset, p.hi-p.offset)
	y = b.Op("aten._to_copy.default", y, ops.Kw("dtype", ir.Int16))
	y = b.Op("aten._to_copy.default", b.Op("aten.add.Scalar", y, p.offset),
		ops.Kw("dtype", ir.Int8))
	// Once more as floats, which a kernel of floats may store in any language.
	y = b.Op("aten._to_copy.default", y, ops.Kw("dtype", ir.Float32))
	return b.Op("aten._to_copy.default", y, ops.Kw("dtype", ir.Int8))
}

func (p *exactProduct) constant(b *ops.Builder, what string, d ir.DType, xs []float64,
	sizes ...int64) *ir.Value {
	raw := make([]byte, 0, len(xs)*d.Size())
	for _, x := range xs {
		if d == ir.Float64 {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		} else {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
		}
	}
	return b.Constant(p.name+"_"+what, &ir.Constant{Type: ir.StaticTensor(d, sizes...),
		Data: ir.Bytes(raw)})
}

func abs(x int64) int64 { return max(x, -x) }

// rescaled are requantised sums. CMSIS-NN rounds twice: after it has multiplied, and
// after it has shifted to the right, where ties go away from zero. Both at once are
// the rounding of a number that lies further from zero by half of what the shift
// drops, and, as it is never in the middle of two integers, what is left without
// its fraction of one that lies further from zero by a half: sum·scale[c] ± half[c]
// of channel c, exact in float64. The sign is that of the sum; half is added to all
// where limits leave nothing below zero.
type rescaled struct {
	scale, half    []float64
	offset, lo, hi int64
}

// rounding returns scale and half of a channel whose sums are at most limit, for
// the scale m·2^(s-31). It reports false where they would not be exact.
func rounding(m, s, limit int64, r rescaled) (scale, half float64, ok bool) {
	left, right := max(s, 0), max(-s, 0)
	if m <= 0 || s < -maxShift || s > 30 || limit<<left > math.MaxInt32 {
		return 0, 0, false
	}
	// Of the sums that do not give a limit, the products are exact, and none lies
	// in the middle of two integers.
	scale = math.Ldexp(float64(m), int(s)-31)
	reach := max(abs(r.lo-r.offset), abs(r.hi-r.offset)) + 2
	most := min(limit, int64(min(math.Ceil(float64(reach)/scale), ops.ExactSum)))
	zeros := bits.TrailingZeros64(uint64(m)) + int(left)
	if reach > maxReach || bits.Len64(uint64(most))+bits.Len64(uint64(m)) > 53 || zeros < 31 &&
		most >= 1<<(30-zeros) {
		return 0, 0, false
	}
	half = 0.5
	if right > 0 {
		half += math.Ldexp(1, int(-right)-1)
	}
	return scale, half, true
}

// A product of less than maxReach with 31+maxShift fractional bits, and half of the
// last bit that a shift leaves, fit 53 bits.
const (
	maxReach = 1 << 9
	maxShift = 13
)
