package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// torchaoOps are torchao's own operators of affine quantization, of which blocks of a tensor
// share scale and zero point. They become those of quantized_decomposed where these say the same,
// so that what follows sees one form: of a tensor, a channel, a row, a group of a row. The rest is
// written out.
func torchaoOps() []entry {
	const numbers = "Scalar? quant_min=None, Scalar? quant_max=None"
	return []entry{
		{Schema: "torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, " +
			"Tensor? zero_point, ScalarType output_dtype, " + numbers + ") -> Tensor",
			Decompose: quantizeAffine},
		{Schema: "torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, " +
			"Tensor? zero_point, ScalarType input_dtype, " + numbers +
			", ScalarType output_dtype=6) -> Tensor", Decompose: dequantizeAffine},
		{Schema: "torchao::choose_qparams_affine(Tensor? input, str mapping_type, " +
			"SymInt[] block_size, ScalarType target_dtype, " + numbers + ", float? eps=None, " +
			"ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, " +
			"bool keepdim=False) -> (Tensor, Tensor)", Decompose: chooseAffine},
	}
}

// affineBlocks are the blocks of a tensor.
type affineBlocks struct {
	c     *Call
	x     ir.Type
	block []sym.Expr
	lo    int64
	hi    int64
}

func affineBlocksOf(c *Call, dtype string) *affineBlocks {
	if !c.Has("input") {
		panic(c.Errorf("without an input"))
	}
	a := &affineBlocks{c: c, x: c.Tensor("input"), block: must(c.SymInts("block_size"))}
	c.errorIf(len(a.block) != a.x.Rank(), "blocks of %d dimensions of a tensor of %d", len(a.block),
		a.x.Rank())
	for d, n := range a.block {
		c.errorIf(!sym.Less(sym.Int(0), n) || !a.whole(d) && !sym.Mod(a.x.Sizes[d], n).IsZero(),
			"blocks of %s in dimension %d of %s", n, d, a.x.Sizes[d])
	}
	d := c.DType(dtype, ir.InvalidDType)
	c.errorIf(!d.IsInt(), "integers of %s", d)
	least, most := expr.IntRange(d)
	a.lo, a.hi = least, most
	if c.Has("quant_min") {
		a.lo = must(c.Int("quant_min"))
	}
	if c.Has("quant_max") {
		a.hi = must(c.Int("quant_max"))
	}
	c.errorIf(a.lo < least || a.hi > most || a.lo >= a.hi, "a range from %d to %d of %s", a.lo, a.hi,
		d)
	return a
}

// whole reports whether dimension d is in one block.
func (a *affineBlocks) whole(d int) bool { return a.block[d].Equal(a.x.Sizes[d]) }

// divided returns the sizes of a view that has a dimension for what blocks divide, the shape of
// scales in it, and its dimensions that are within blocks.
func (a *affineBlocks) divided() (sizes, scales []sym.Expr, within []int) {
	for d, n := range a.block {
		switch {
		case n.Is(1):
			sizes, scales = append(sizes, a.x.Sizes[d]), append(scales, a.x.Sizes[d])
		case a.whole(d):
			within = append(within, len(sizes))
			sizes, scales = append(sizes, n), append(scales, sym.Int(1))
		default:
			within = append(within, len(sizes)+1)
			m := sym.FloorDiv(a.x.Sizes[d], n)
			sizes, scales = append(sizes, m, n), append(scales, m, sym.Int(1))
		}
	}
	return sizes, scales, within
}

// decomposed returns the name of the operators of quantized_decomposed that have these blocks, and
// scales in the shape that they want; "" if there are none.
func (a *affineBlocks) decomposed(b *Builder) (name string, scale, zero *ir.Value, more []any) {
	s := a.c.Value("scale")
	zero = a.zero()
	given := s.Def == nil
	if s.Type.DType.IsHalf() {
		s = b.cast(s, ir.Float32)
	}
	if s.Type.DType != ir.Float32 {
		return "", nil, nil, nil
	}
	shape := func(sizes ...sym.Expr) {
		one := len(sizes) == 1 && sizes[0].Is(1) // of any shape
		if scale = s; !one && !sym.AllEqual(s.Type.Sizes, sizes) {
			scale = b.aten("view", s, sizes)
		}
		if zero == nil {
			zero = b.aten("full", sizes, 0, Kw("dtype", ir.Int64))
		} else if !one && !sym.AllEqual(zero.Type.Sizes, sizes) {
			zero = b.aten("view", zero, sizes)
		}
	}
	last := a.x.Rank() - 1
	var one []int // dimensions of which each index has its own
	for d := range a.block {
		if !a.whole(d) {
			one = append(one, d)
		}
	}
	single := !slices.ContainsFunc(one, func(d int) bool { return !a.block[d].Is(1) })
	switch {
	case len(one) == 0:
		shape(sym.Int(1))
		return "per_tensor.tensor", scale, zero, nil
	case len(one) == 1 && single && (given || one[0] == last):
		shape(a.x.Sizes[one[0]])
		return "per_channel.default", scale, zero, []any{one[0]}
	case single && one[len(one)-1] < last && !slices.ContainsFunc(a.block[:last],
		func(n sym.Expr) bool { return !n.Is(1) }):
		shape(append(slices.Clone(a.x.Sizes[:last]), sym.Int(1))...)
		return "per_token.default", scale, zero, nil
	case last == 1 && a.block[0].Is(1):
		shape(a.x.Sizes[0], sym.FloorDiv(a.x.Sizes[1], a.block[1]))
		return "per_channel_group.default", scale, zero, nil
	}
	return "", nil, nil, nil
}

// zero is the zero point, nil if there is none; one without elements is none.
func (a *affineBlocks) zero() *ir.Value {
	if !a.c.Has("zero_point") || a.c.Tensor("zero_point").Numel().IsZero() {
		return nil
	}
	return a.c.Value("zero_point")
}

func quantizeAffine(b *Builder, c *Call) []*ir.Value {
	a, to := affineBlocksOf(c, "output_dtype"), c.DType("output_dtype", ir.InvalidDType)
	c.errorIf(!a.x.DType.IsFloat(), "the input is %s, not a float", a.x.DType)
	x := c.Value("input")
	if a.x.DType == ir.Float32 && c.Tensor("scale").DType == ir.Float32 {
		if name, scale, zero, more := a.decomposed(b); name != "" {
			args := append([]any{x, scale, zero}, more...)
			args = append(args, a.lo, a.hi, to)
			if name == "per_channel_group.default" {
				args = append(args, a.block[1])
			}
			return b.Ops("quantized_decomposed.quantize_"+name, args...)
		}
	}
	sizes, scales, _ := a.divided()
	y := b.mul(b.aten("reshape", x, sizes), b.aten("reciprocal", b.aten("view", c.Value("scale"),
		scales)))
	y = b.aten("round", y)
	if zero := a.zero(); zero != nil {
		y = b.add(y, b.aten("view", zero, scales))
	}
	y = b.cast(b.aten("clamp", y, a.lo, a.hi), to)
	return []*ir.Value{b.aten("view", y, a.x.Sizes)}
}

func dequantizeAffine(b *Builder, c *Call) []*ir.Value {
	a, to := affineBlocksOf(c, "input_dtype"), c.DType("output_dtype", ir.Float32)
	c.errorIf(a.x.DType != c.DType("input_dtype", ir.InvalidDType), "the input is %s", a.x.DType)
	c.errorIf(!to.IsFloat(), "the result would be %s, not a float", to)
	x := c.Value("input")
	// Of 8 bits, half floats hold what is scaled: floats are rounded to what their product is.
	if to == ir.Float32 || to.IsHalf() && a.x.DType.Size() == 1 {
		if name, scale, zero, more := a.decomposed(b); name != "" {
			args := append([]any{x, scale, zero}, more...)
			args = append(args, a.lo, a.hi, a.x.DType)
			switch name {
			case "per_channel_group.default":
				args = append(args, a.block[1], ir.Float32)
			case "per_token.default":
				args = append(args, ir.Float32)
			}
			y := b.Ops("quantized_decomposed.dequantize_"+name, args...)
			return []*ir.Value{b.cast(y[0], to)}
		}
	}
	sizes, scales, _ := a.divided()
	y := b.cast(b.aten("reshape", x, sizes), to)
	if zero := a.zero(); zero != nil {
		y = b.sub(y, b.cast(b.aten("view", zero, scales), to))
	}
	y = b.mul(y, b.aten("view", c.Value("scale"), scales))
	return []*ir.Value{b.cast(b.aten("view", y, a.x.Sizes), to)}
}

// smallestNormal is the least scale of elements of a type.
var smallestNormal = map[ir.DType]float64{ir.Float32: 0x1p-126, ir.BFloat16: 0x1p-126,
	ir.Float16: 0x1p-14}

// chooseAffine takes scale and zero point of blocks from their ranges.
func chooseAffine(b *Builder, c *Call) []*ir.Value {
	a := affineBlocksOf(c, "target_dtype")
	eps, ok := smallestNormal[a.x.DType]
	c.errorIf(!ok, "the input is %s", a.x.DType)
	if c.Has("eps") {
		eps = must(c.Float("eps"))
	}
	sizes, _, within := a.divided()
	x := b.aten("reshape", c.Value("input"), sizes)
	lo, hi := x, x
	if len(within) > 0 {
		lo, hi = b.aten("amin", x, within), b.aten("amax", x, within)
	}
	lo, hi = b.aten("clamp", lo, nil, 0.0), b.aten("clamp", hi, 0.0, nil)
	steps := float64(a.hi - a.lo)
	zeroType, given := c.DType("zero_point_dtype", ir.InvalidDType), c.Has("zero_point_dtype")
	var scale, zero *ir.Value
	switch how := c.Str("mapping_type"); how {
	case "ASYMMETRIC":
		scale = b.aten("clamp", b.aten("div.Scalar", b.sub(hi, lo), steps), eps, nil)
		zero = b.aten("rsub.Scalar", b.aten("round", b.div(lo, scale)), float64(a.lo))
		zero = b.aten("clamp", zero, a.lo, a.hi)
		if !given {
			zeroType = ir.Int32
		}
	case "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR":
		if how == "SYMMETRIC" {
			scale = b.aten("div.Scalar", b.aten("maximum", b.aten("neg", lo), hi), steps/2)
		} else {
			c.errorIf(a.lo == 0 || a.hi == 0, "a symmetric range from %d to %d", a.lo, a.hi)
			scale = b.aten("maximum", b.aten("div.Scalar", lo, float64(a.lo)),
				b.aten("div.Scalar", hi, float64(a.hi)))
		}
		scale = b.aten("clamp", scale, eps, nil)
		if !given {
			zeroType = a.x.DType
		}
		zero = b.aten("full", scale.Type.Sizes, math.Trunc(float64(a.lo+a.hi+1)/2),
			Kw("dtype", a.x.DType))
	default:
		panic(c.Errorf("mapping_type %q", how))
	}
	scale = b.cast(scale, c.DType("scale_dtype", a.x.DType))
	zero = b.cast(zero, zeroType)
	if c.Bool("keepdim") {
		var kept []sym.Expr
		for d, n := range a.block {
			kept = append(kept, sym.FloorDiv(a.x.Sizes[d], n))
		}
		scale, zero = b.aten("view", scale, kept), b.aten("view", zero, kept)
	}
	return []*ir.Value{scale, zero}
}
