package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

const cm = "cortex_m::"

// cortexMOps are ExecuTorch's operators for microcontrollers: int8 tensors with
// the arithmetic of CMSIS-NN, to the bit.
//
// A scale is a multiplier of 31 fractional bits and a shift (Requantize). What
// is called an offset is added to elements, a zero point subtracted. 4-D tensors
// are logically NCHW; in memory they are channels last. The weight of a
// convolution is row-major in another order, which each entry states.
//
// Schemas are those of ExecuTorch 1.5. Arguments that earlier versions do not
// pass have defaults here: the scratch tensors, whose contents mean nothing, the
// limits of quantized_add and ceil_mode of quantized_avg_pool2d.
func cortexMOps() []entry {
	var all []entry
	for _, g := range [][]entry{cortexMConversions(), cortexMElementwise(), cortexMProducts(),
		cortexMConvolutions(), cortexMPools(), cortexMMoves()} {
		all = append(all, g...)
	}
	return append(all,
		// cortexMSoftmax is softmax along the last dimension in fixed point. The result
		// has a scale of 1/256 and a zero point of -128.
		entry{
			Schema: cm +
				"softmax(Tensor input, int dim, int input_zero_point, int output_zero_point, " +
				"int input_multiplier, int input_shift, int diff_min) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.int8Input("input", 0)
				d := c.dim("dim", t.Rank())
				zero := must(c.Int("output_zero_point"))
				c.errorIf(t.Rank() == 0 || d != t.Rank()-1,
					"along dimension %d of %d; it is defined along the last one", d, t.Rank())
				c.errorIf(zero != -128, "a zero point of %d for the result; it is -128", zero)
				return []ir.Type{likeType(t, t.DType)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				n := c.int32Args("input_multiplier", "input_shift", "diff_min")
				c.errorIf(n[1].Int < 0 || n[1].Int > 30, "a shift of %d; it lies in [0, 30]",
					n[1].Int)
				row := newFixedRow(c, at, n[0], n[1], n[2])
				return row.probability(at)
			}),
		})
}

// int8Input returns the type of a tensor argument that must be int8, with the
// given number of dimensions unless that is 0.
func (c *Call) int8Input(name string, rank int) ir.Type {
	t := c.Tensor(name)
	c.errorIf(t.DType != ir.Int8, "%s is %s, not int8", name, t.DType)
	c.errorIf(rank > 0 && t.Rank() != rank, "%s has %d dimensions, not %d", name, t.Rank(), rank)
	return t
}

// int32Arg returns an int argument as a constant.
func (c *Call) int32Arg(name string) *expr.Expr {
	n := must(c.Int(name))
	c.errorIf(n != int64(int32(n)), "%s is %d, which does not fit an int32", name, n)
	return expr.Int(ir.Int32, n)
}

// int32Args is int32Arg for several arguments.
func (c *Call) int32Args(names ...string) []*expr.Expr {
	return seq.Map(names, c.int32Arg)
}

// rescale is a scale whose multiplier and shift are constants.
type rescale struct{ multiplier, shift *expr.Expr }

func (r rescale) of(x *expr.Expr) *expr.Expr { return fixed.Requantize(x, r.multiplier, r.shift) }

// rescaleOf checks a multiplier and a shift that an argument gave.
func (c *Call) rescaleOf(what string, multiplier, shift int64) rescale {
	c.errorIf(multiplier <= math.MinInt32 || multiplier > math.MaxInt32 || shift < -31 ||
		shift > 30,
		"%s: a multiplier of %d and a shift of %d; they lie in [-2147483647, 2147483647] and [-31, 30]",
		what, multiplier, shift)
	return rescale{expr.Int(ir.Int32, multiplier), expr.Int(ir.Int32, shift)}
}

// rescaleArg returns the scale that the arguments PREFIX_multiplier and
// PREFIX_shift give.
func (c *Call) rescaleArg(prefix string) rescale {
	return c.rescaleOf(prefix, must(c.Int(prefix+"_multiplier")), must(c.Int(prefix+"_shift")))
}

// finish adds the offset of the result to int32 x and limits it.
func finish(x, offset, lo, hi *expr.Expr) *expr.Expr {
	return expr.Cast(ir.Int8, between(expr.Add(x, offset), lo, hi))
}

// int8Limits are the smallest and the largest int8, as int32.
func int8Limits() (lo, hi *expr.Expr) { return expr.Num(ir.Int32, -128), expr.Num(ir.Int32, 127) }

// offset returns int8 x as int32 plus by.
func offset(x, by *expr.Expr) *expr.Expr { return expr.Add(expr.Cast(ir.Int32, x), by) }

// cortexMConversions are float32 to int8 or int16 and back, in float32: unlike
// quantized_decomposed, which takes the reciprocal of a scale in float64.
func cortexMConversions() []entry {
	const args = "(Tensor input, float scale, int zero_point, " + quantRange + ") -> Tensor"
	return []entry{
		{
			Schema: cm + "quantize_per_tensor" + args,
			Infer: func(c *Call) []ir.Type {
				t, d := c.Tensor("input"), c.DType("dtype", ir.InvalidDType)
				c.errorIf(t.DType != ir.Float32 || d != ir.Int8 && d != ir.Int16,
					"%s to %s; float32 to int8 and int16 are defined", t.DType, d)
				c.quantLimits(d)
				return []ir.Type{likeType(t, d)}
			},
			Compute: elementsOf("input", func(c *Call, x *expr.Expr) *expr.Expr {
				scale := must(c.Float("scale"))
				n := c.int32Args("zero_point", "quant_min", "quant_max")
				// Limited before it is an integer: what does not fit one stays on
				// its side, NaN is the least.
				limit := func(k int) *expr.Expr {
					return expr.Cast(ir.Float32, expr.Sub(n[k], n[0]))
				}
				inverse := expr.Div(like(x, 1), expr.Float(ir.Float32, scale))
				q := expr.Min(expr.Max(expr.Round(expr.Mul(inverse, x)), limit(1)), limit(2))
				return expr.Add(expr.Cast(ir.Int32, q), n[0])
			}),
		},
		{
			Schema: cm + "dequantize_per_tensor" + args,
			Infer: func(c *Call) []ir.Type {
				t, d := c.Tensor("input"), c.DType("dtype", ir.InvalidDType)
				c.errorIf(t.DType != d || d != ir.Int8 && d != ir.Int16,
					"an input of %s as %s; int8 and int16 are defined", t.DType, d)
				c.quantLimits(d)
				return []ir.Type{likeType(t, ir.Float32)}
			},
			Compute: elementsOf("input", func(c *Call, x *expr.Expr) *expr.Expr {
				scale := must(c.Float("scale"))
				zero := c.int32Arg("zero_point")
				x = expr.Cast(ir.Float32, expr.Sub(expr.Cast(ir.Int32, x), zero))
				return expr.Mul(x, expr.Float(ir.Float32, scale))
			}),
		},
	}
}

// quantLimits checks quant_min and quant_max against the range of d.
func (c *Call) quantLimits(d ir.DType) {
	lo := must(c.Int("quant_min"))
	hi := must(c.Int("quant_max"))
	if least, most := expr.IntRange(d); lo < least || hi > most || lo > hi {
		panic(c.Errorf("limits %d and %d of %s", lo, hi, d))
	}
}

// elementsOf maps each element of an operand to that of the only result, of
// which f gives the value in any dtype.
func elementsOf(name string,
	f func(c *Call, x *expr.Expr) *expr.Expr) func(*Call) []expr.Tensor {
	return element(func(c *Call, coords []sym.Expr) *expr.Expr {
		return f(c, c.Load(name, coords...))
	})
}

// cortexMElementwise are the operators whose result has an element for each of
// the operands, which broadcast.
func cortexMElementwise() []entry {
	const limits = "int activation_min=-128, int activation_max=127"
	add := cm +
		"quantized_add(Tensor self, int self_zero_point, int self_multiplier, int self_shift, " +
		"Tensor other, int other_zero_point, int other_multiplier, int other_shift, " +
		"int output_zero_point, int output_multiplier, int output_shift, " + limits + ") -> Tensor"
	mul := cm +
		"quantized_mul(Tensor self, int self_zero_point, Tensor other, int other_zero_point, " +
		"int output_zero_point, int output_multiplier, int output_shift) -> Tensor"
	div := cm +
		"quantized_div(Tensor self, int self_zero_point, Tensor other, int other_zero_point, " +
		"int output_zero_point, float output_scale) -> Tensor"
	int8s := []ir.DType{ir.Int8}
	return []entry{
		pairwise(add, int8s, func(c *Call) combine {
			// Brings both operands, shifted up for precision, to one scale.
			n := c.int32Args("self_zero_point", "other_zero_point", "output_zero_point",
				"activation_min", "activation_max")
			var scales [3]rescale
			for i, name := range []string{"self", "other", "output"} {
				scales[i] = c.rescaleArg(name)
			}
			up := expr.Int(ir.Int32, 20)
			return func(a, b *expr.Expr) *expr.Expr {
				a = scales[0].of(expr.Shl(expr.Sub(a, n[0]), up))
				b = scales[1].of(expr.Shl(expr.Sub(b, n[1]), up))
				return finish(scales[2].of(expr.Add(a, b)), n[2], n[3], n[4])
			}
		}),
		pairwise(mul, int8s, func(c *Call) combine {
			n := c.int32Args("self_zero_point", "other_zero_point", "output_zero_point")
			scale := c.rescaleArg("output")
			return func(a, b *expr.Expr) *expr.Expr {
				lo, hi := int8Limits()
				return finish(scale.of(expr.Mul(expr.Sub(a, n[0]), expr.Sub(b, n[1]))), n[2], lo,
					hi)
			}
		}),
		pairwise(div, []ir.DType{ir.Int8, ir.Int16}, func(c *Call) combine {
			// Divides in float32 and rounds ties away from zero. What is
			// divided by zero is 0.
			n := c.int32Args("self_zero_point", "other_zero_point", "output_zero_point")
			scale := must(c.Float("output_scale"))
			least, most := expr.IntRange(c.Tensor("self").DType)
			float := func(x *expr.Expr) *expr.Expr { return expr.Cast(ir.Float32, x) }
			return func(a, b *expr.Expr) *expr.Expr {
				a, b = expr.Sub(a, n[0]), expr.Sub(b, n[1])
				zero := expr.Float(ir.Float32, 0)
				q := expr.Select(expr.Ne(b, expr.Int(ir.Int32, 0)), expr.Div(float(a), float(b)),
					zero)
				q = awayFromZero(expr.Mul(q, expr.Float(ir.Float32, scale)))
				q = between(expr.Add(q, float(n[2])), expr.Float(ir.Float32, float64(least)),
					expr.Float(ir.Float32, float64(most)))
				return expr.Cast(ir.Int32, q)
			}
		}),
		pairwise(cm+"minimum(Tensor self, Tensor other) -> Tensor", int8s,
			func(c *Call) combine { return expr.Min }),
		pairwise(cm+"maximum(Tensor self, Tensor other) -> Tensor", int8s,
			func(c *Call) combine { return expr.Max }),
		// lookUp is any function of int8, as a table of its 256 values.
		{
			Schema: cm + "quantized_activation(Tensor input, Tensor lut) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.int8Input("input", 0)
				lut := c.int8Input("lut", 1)
				c.errorIf(!lut.Sizes[0].Is(256), "a table of %s values", lut.Sizes[0])
				return []ir.Type{likeType(t, t.DType)}
			},
			Compute: elementsOf("input", func(c *Call, x *expr.Expr) *expr.Expr {
				at := expr.Bind("at", offset(x, expr.Int(ir.Int32, 128)), c.Tensor("lut").Sizes[0])
				return c.Load("lut", at.Expr())
			}),
		},
	}
}

// combine gives the element of a result, as int32, of those of the operands as
// int32.
type combine func(a, b *expr.Expr) *expr.Expr

// pairwise is an operator of self and other, both of one of dtypes. f reads the
// other arguments of a call.
//
//go:noinline
func pairwise(schema string, dtypes []ir.DType, f func(c *Call) combine) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			a, b := c.Tensor("self"), c.Tensor("other")
			c.errorIf(a.DType != b.DType || !slices.Contains(dtypes, a.DType),
				"not defined on %s and %s", a.DType, b.DType)
			t, ok := pointwiseType(a.DType, a, b)
			c.errorIf(!ok, "%s do not broadcast", sizesOf{a, b})
			return []ir.Type{t}
		},
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			g := f(c)
			out := c.Outs[0]
			load := func(name string) *expr.Expr {
				return expr.Cast(ir.Int32, c.Load(name, broadcastCoords(c.Tensor(name), out.Sizes,
					coords)...))
			}
			return g(load("self"), load("other"))
		}),
	}
}

// awayFromZero rounds to the nearest integer, ties away from zero.
func awayFromZero(x *expr.Expr) *expr.Expr {
	t := expr.Trunc(x)
	step := expr.Select(expr.Lt(x, like(x, 0)), like(x, -1), like(x, 1))
	return expr.Select(expr.Ge(expr.Abs(expr.Sub(x, t)), like(x, 0.5)), expr.Add(t, step), t)
}

// cortexMMoves move elements.
func cortexMMoves() []entry {
	return []entry{
		// int8Transpose permutes the dimensions and makes the result row-major.
		{
			Schema: cm + "transpose(Tensor input, int[] perm) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.int8Input("input", 0)
				perm := c.permutation("perm", t.Rank())
				sizes := seq.Map(perm, func(d int64) sym.Expr { return t.Sizes[d] })
				return []ir.Type{ir.TensorOf(t.DType, sizes...)}
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				return []*ir.Value{b.aten("permute_copy", c.Arg("input"), c.Arg("perm"))}
			},
		}, int8Pad()}
}

// permutation returns an int[] argument that names every dimension once.
func (c *Call) permutation(name string, rank int) []int64 {
	perm := must(c.Ints(name))
	sorted := slices.Sorted(slices.Values(perm))
	for i, d := range sorted {
		c.errorIf(d != int64(i) || len(perm) != rank, "%v is no permutation of %d dimensions", perm,
			rank)
	}
	c.errorIf(len(perm) != rank, "%v is no permutation of %d dimensions", perm, rank)
	return perm
}

// storedChannelsLast is how cortex_m::pad reads a tensor: as channels last if it
// is so, or might be for all that sizes of 1 tell.
func storedChannelsLast(t ir.Type) bool {
	return t.Rank() == 4 && (t.Sizes[1].Is(1) || t.Sizes[2].Is(1) && t.Sizes[3].Is(1) ||
		suggestsChannelsLast(t))
}

// int8Pad adds pre_pad before and post_pad behind the elements of each
// dimension. Both have four numbers, in the order of dimensions in memory, for
// the last dimensions.
func int8Pad() entry {
	sides := func(c *Call) (pre, post []int64) {
		t := c.int8Input("input", 0)
		c.errorIf(t.Rank() == 0 || t.Rank() > 4, "an input with %d dimensions", t.Rank())
		var lists [2][]int64
		for i, name := range []string{"pre_pad", "post_pad"} {
			list := must(c.Ints(name))
			c.errorIf(len(list) != 4 || slices.Min(list) < 0, "%s is %v, not four sizes", name,
				list)
			if storedChannelsLast(t) {
				list = []int64{list[0], list[3], list[1], list[2]}
			}
			absent := 4 - t.Rank()
			c.errorIf(slices.ContainsFunc(list[:absent], func(n int64) bool {
				return n > 0
			}), "%s is %v for %d dimensions", name, list, t.Rank())
			lists[i] = list[absent:]
		}
		return lists[0], lists[1]
	}
	return entry{
		Schema: cm + "pad(Tensor input, int[] pre_pad, int[] post_pad, int pad_value) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			pre, post := sides(c)
			t := c.Tensor("input")
			sizes := slices.Clone(t.Sizes)
			for d := range sizes {
				sizes[d] = sym.Add(sizes[d], sym.Int(pre[d]+post[d]))
			}
			out := ir.TensorOf(t.DType, sizes...)
			if storedChannelsLast(t) {
				out.Strides = channelsLastStrides(sizes)
			}
			return []ir.Type{out}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			pre, post := sides(c)
			value := must(c.Int("pad_value"))
			var pad []int64
			for d := len(pre) - 1; d >= 0; d-- {
				pad = append(pad, pre[d], post[d])
			}
			return []*ir.Value{b.aten("constant_pad_nd", c.Arg("input"), pad, int64(int8(value)))}
		},
	}
}

// sumBits is how far exponentials of 31 fractional bits are shifted down, for
// their sum to fit.
const sumBits = 12

// fixedRow is the row of the input that an element of the result belongs to.
type fixedRow struct {
	c                           *Call
	multiplier, shift, diffMin  *expr.Expr
	max, inverse, headroom, low *expr.Expr
}

func newFixedRow(c *Call, at []sym.Expr, multiplier, shift, diffMin *expr.Expr) *fixedRow {
	row := &fixedRow{c: c, multiplier: multiplier, shift: shift, diffMin: diffMin,
		low: expr.Int(ir.Int32, -128)}
	along := func(name string) ([]*sym.Symbol, []sym.Expr) {
		last := len(at) - 1
		s := sym.NewVar(name, c.Tensor("input").Sizes[last])
		in := append([]sym.Expr(nil), at...)
		in[last] = s.Expr()
		return []*sym.Symbol{s}, in
	}
	over, in := along("r")
	row.max = expr.MaxOf(over, expr.Cast(ir.Int32, c.Load("input", in...)))
	over, in = along("s")
	diff := row.diff(in)
	part := fixed.RoundShift(row.exp(diff), expr.Int(ir.Int32, sumBits))
	sum := expr.Sum(over, expr.Select(expr.Ge(diff, diffMin), part, expr.Int(ir.Int32, 0)))
	// The sum is m·2^(sumBits-headroom) with m in [1, 2): of m the leading one
	// goes, which leaves 31 fractional bits.
	row.headroom = fixed.LeadingZeros(sum)
	m := expr.Xor(expr.Shl(sum, row.headroom), expr.Int(ir.Int32, -1<<31))
	row.inverse = fn("inverse_fixed")(m)
	return row
}

// diff returns the element at minus the largest of the row.
func (r *fixedRow) diff(at []sym.Expr) *expr.Expr {
	return expr.Sub(expr.Cast(ir.Int32, r.c.Load("input", at...)), r.max)
}

// exp returns the exponential of diff in the scale of the input.
func (r *fixedRow) exp(diff *expr.Expr) *expr.Expr {
	return fn("exp_fixed")(fixed.HighMul(expr.Shl(diff, r.shift), r.multiplier))
}

// probability returns the element at of the result.
func (r *fixedRow) probability(at []sym.Expr) *expr.Expr {
	diff := r.diff(at)
	// More than 31 would take a row of over 511 elements that are nearly equal;
	// CMSIS-NN's shift is undefined then.
	by := expr.Min(expr.Sub(expr.Int(ir.Int32, sumBits+23), r.headroom), expr.Int(ir.Int32, 31))
	p := fixed.RoundShift(fixed.HighMul(r.inverse, r.exp(diff)), by)
	lo, hi := int8Limits()
	return expr.Select(expr.Ge(diff, r.diffMin), between(expr.Add(p, r.low), lo, hi), r.low)
}
