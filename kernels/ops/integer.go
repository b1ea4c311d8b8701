package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// The names of the integer products.
const (
	IntegerConvolution = "etgen.integer_convolution.default"
	IntegerMatmul      = "etgen.integer_matmul.default"
)

// The names of the elementwise operators of integers.
const (
	IntegerLinear = "etgen.integer_linear.default"
	IntegerMul    = "etgen.integer_mul.default"
	UnpackInt4    = "etgen.unpack_int4.default"
	FixedRescale  = "etgen.fixed_rescale.default"
	IntegerPReLU  = "etgen.integer_prelu.default"
	IntegerSpline = "etgen.integer_spline.default"
)

// integerElementwise are elementwise operators of integers of a quantized network, which
// broadcast.
func integerElementwise() []entry {
	return []entry{
		{
			// (Σ factor·tensor + added) >> shift, in int32, limited. The shift rounds down. Where
			// near more and near less give two integers, it is that of other, which is computed
			// only there.
			Schema: "etgen::integer_linear(Tensor[] tensors, int[] factors, int added, int shift, " +
				"int quant_min, int quant_max, ScalarType dtype, Tensor? other=None, int near=0) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				ts, d := c.Tensors("tensors"), c.DType("dtype", ir.InvalidDType)
				factors, shift := must(c.Ints("factors")), must(c.Int("shift"))
				c.errorIf(len(ts) == 0 || len(factors) != len(ts), "%d tensors and %d factors",
					len(ts), len(factors))
				for _, t := range ts {
					c.errorIf(!quantizedType(t.DType), "a tensor of %s", t.DType)
				}
				c.limitsFor(d)
				c.errorIf(shift < 0 || shift > 31, "a shift by %d", shift)
				for _, n := range append(factors, must(c.Int("added"))) {
					c.errorIf(n != int64(int32(n)), "%d is not an int32", n)
				}
				t, ok := pointwiseType(d, ts...)
				c.errorIf(!ok, "%s do not broadcast", sizesOf(ts))
				return c.otherwise(t)
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				num := func(n int64) *expr.Expr { return expr.Int(ir.Int32, n) }
				sum := num(must(c.Int("added")))
				for k, f := range must(c.Ints("factors")) {
					t := c.operands[k].Type
					x := c.LoadAt(k, broadcastCoords(t, c.Outs[0].Sizes, at)...)
					sum = expr.Add(expr.Mul(expr.Cast(ir.Int32, x), num(f)), sum)
				}
				return c.agreed(sum, c.near(), at, c.shifted)
			}),
		},
		{
			// Integers of 4 bits, two of which lie in a byte along the last dimension, the first
			// one in the lower half.
			Schema: "etgen::unpack_int4(Tensor packed) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("packed")
				c.errorIf(t.DType != ir.Uint8 || t.Rank() == 0, "integers in %s of %s", t.DType,
					sizesOf{t})
				sizes := slices.Clone(t.Sizes)
				sizes[len(sizes)-1] = sym.Mul(sizes[len(sizes)-1], sym.Int(2))
				return one(ir.TensorOf(ir.Int8, sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				last, two := len(at)-1, sym.Int(2)
				in := append(slices.Clone(at[:last]), sym.FloorDiv(at[last], two))
				x, four := c.Load("packed", in...), expr.Int(ir.Int32, 4)
				low := expr.Cast(ir.Int32, expr.Cast(ir.Int8, expr.Shl(expr.Cast(ir.Int32, x), four)))
				return expr.Shr(expr.Select(expr.IdxLt(sym.Mod(at[last], two), sym.Int(1)), low,
					expr.Cast(ir.Int32, expr.Cast(ir.Int8, x))), four)
			}),
		},
		{
			// The product of both less their zero points, exact in int32 where that holds it. The
			// result is int32, or, rounded, float32.
			Schema: "etgen::integer_mul(Tensor self, Tensor other, int self_zero_point, " +
				"int other_zero_point, ScalarType dtype) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.integerSum("self", "other")
				x, y := c.Tensor("self"), c.Tensor("other")
				t, ok := pointwiseType(c.DType("dtype", ir.InvalidDType), x, y)
				c.errorIf(!ok, "%s do not broadcast", sizesOf{x, y})
				return one(t)
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				m := c.integerSum("self", "other")
				less := func(name string) *expr.Expr {
					return expr.Cast(m, c.lessZero(name, broadcastCoords(c.Tensor(name), c.Outs[0].Sizes, at)))
				}
				return expr.Mul(less("self"), less("other"))
			}),
		},
		{
			// Integers, rescaled in fixed point: (Σ high(tensor << up, multiplier) + added) >>
			// shift, limited, where high is the upper half of a product, and both shifts round
			// down. What the last shift takes nothing from is a half, as added has one; ties says
			// what becomes of it. Other and near are those of integer_linear.
			Schema: "etgen::fixed_rescale(Tensor[] tensors, Tensor[] multipliers, Tensor added, int[] up, " +
				"int shift, int ties, int quant_min, int quant_max, ScalarType dtype, Tensor? other=None, " +
				"int near=0) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				ts, by, up := c.Tensors("tensors"), c.Tensors("multipliers"), must(c.Ints("up"))
				c.fixedScale()
				c.errorIf(len(ts) == 0 || len(by) != len(ts) || len(up) != len(ts),
					"%d tensors, %d multipliers, %d shifts", len(ts), len(by), len(up))
				d := c.DType("dtype", ir.InvalidDType)
				t, ok := pointwiseType(d, ts...)
				c.errorIf(!ok, "%s do not broadcast", sizesOf(ts))
				for k, x := range ts {
					c.errorIf(x.DType != ir.Int32 && !quantizedType(x.DType), "a tensor of %s", x.DType)
					c.errorIf(up[k] < 0 || up[k] > 30, "a shift by %d", up[k])
				}
				for _, p := range append(by, c.Tensor("added")) {
					c.fitsRescaled(p, t)
				}
				c.limitsFor(d)
				return c.otherwise(t)
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				load := func(k int) *expr.Expr {
					return c.LoadAt(k, broadcastCoords(c.operands[k].Type, c.Outs[0].Sizes, at)...)
				}
				up := must(c.Ints("up"))
				sum := c.broadcast("added", at)
				for k, n := range up {
					x := expr.Shl(expr.Cast(ir.Int32, load(k)), expr.Int(ir.Int32, n))
					sum = expr.Add(fixed.HighHalf(x, load(len(up)+k)), sum)
				}
				return c.agreed(sum, c.near(), at, c.fixedScale().of)
			}),
		},
		{
			// A function of int16, of which the table has a parabola for each 2^bits integers and
			// how far off it may be; see spline. Other is that of integer_linear.
			Schema: "etgen::integer_spline(Tensor self, Tensor table, int bits, int shift, int quant_min, " +
				"int quant_max, ScalarType dtype, Tensor? other=None) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t, bits := c.Tensor("table"), must(c.Int("bits"))
				c.errorIf(bits < 1 || bits > 15, "bits is %d; it lies in [1, 15]", bits)
				c.errorIf(t.DType != ir.Int32 || t.Rank() != 2 || !t.Sizes[0].Is(1<<(16-bits)) ||
					!t.Sizes[1].Is(4), "a table %s of %s", t.DType, sizesOf{t})
				c.shiftArg("shift", 30)
				return c.otherwise(c.rescaledType("self", ir.Int16))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				x, near := c.spline(at)
				return c.agreed(x, near, at, c.shifted)
			}),
		},
		{
			// What is above the zero point times output_multiplier, what is below times
			// multipliers, in int32, plus added and shifted, which rounds down. Other and near are
			// those of integer_linear.
			Schema: "etgen::integer_prelu(Tensor self, Tensor multipliers, int self_zero_point, " +
				"int output_multiplier, int added, int shift, int quant_min, int quant_max, " +
				"ScalarType dtype, Tensor? other=None, int near=0) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.zeroPoint("self")
				c.int32Args("output_multiplier", "added")
				c.shiftArg("shift", 31)
				return c.otherwise(c.rescaledType("self", ir.Int8, "multipliers"))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				n, x := c.int32Args("output_multiplier", "added"), c.lessZero("self", at)
				by := expr.Select(expr.Lt(x, expr.Int(ir.Int32, 0)), c.broadcast("multipliers", at), n[0])
				return c.agreed(expr.Add(expr.Mul(x, by), n[1]), c.near(), at, c.shifted)
			}),
		},
	}
}

// spline is a function of int16, before it is shifted, and near. A row of the table is for 2^bits
// integers: the coefficients of a parabola from their middle, in halves of their number, and near.
func (c *Call) spline(at []sym.Expr) (x, near *expr.Expr) {
	num := func(n int64) *expr.Expr { return expr.Int(ir.Int32, n) }
	bits, rows := must(c.Int("bits")), c.Tensor("table").Sizes[0]
	in, half := expr.Cast(ir.Int32, c.Load("self", at...)), num(bits-1)
	row := expr.Bind("row", offset(expr.Shr(in, num(bits)), num(1<<(15-bits))), rows)
	part := func(k int64) *expr.Expr { return c.Load("table", row.Expr(), sym.Int(k)) }
	t := expr.Sub(expr.And(in, num(1<<bits-1)), num(1<<(bits-1)))
	y := expr.Add(part(1), expr.Shr(expr.Mul(part(2), t), half))
	return expr.Add(part(0), expr.Shr(expr.Mul(y, t), half)), part(3)
}

// otherwise is the type t of integers, checked against that of the operand other.
func (c *Call) otherwise(t ir.Type) []ir.Type {
	if c.Has("other") {
		o := c.Tensor("other")
		c.errorIf(o.DType != t.DType || !sameSizes(o.Sizes, t.Sizes), "%s of %s for %s of %s", o.DType,
			sizesOf{o}, t.DType, sizesOf{t})
		if c.Op.sch.Index("near") >= 0 {
			c.shiftArg("near", math.MaxInt32/2)
		}
	}
	return one(t)
}

// InDoubt returns the operand that is read only where integers are not sure, nil if there is none.
func (c *Call) InDoubt() *ir.Value {
	switch c.Op.Name() {
	case IntegerLinear, FixedRescale, IntegerSpline, IntegerPReLU:
		return c.Value("other")
	}
	return nil
}

// near is argument near.
func (c *Call) near() *expr.Expr { return c.int32Args("near")[0] }

// shifted is x shifted to the right and limited.
func (c *Call) shifted(x *expr.Expr) *expr.Expr {
	n := c.int32Args("shift", "quant_min", "quant_max")
	return between(expr.Shr(x, n[0]), n[1], n[2])
}

// agreed is the integer that of makes of x, which it shifts to the right, or the operand other
// where the shift makes two integers of what is near to x.
func (c *Call) agreed(x, near *expr.Expr, at []sym.Expr,
	of func(*expr.Expr) *expr.Expr) *expr.Expr {
	if !c.Has("other") {
		return of(x)
	}
	up := expr.Add(x, near)
	rest := expr.And(up, expr.Int(ir.Int32, 1<<must(c.Int("shift"))-1))
	y := of(up)
	y = expr.Select(expr.Ge(rest, expr.Add(near, near)), y,
		expr.Cast(y.DType, c.Load("other", at...)))
	y.Likely = y.Op == expr.OpSelect
	return y
}

// What becomes of a number exactly in the middle of two integers, argument ties of FixedRescale:
// the larger one, the even one, or the odd one.
const (
	TiesUp = iota
	TiesToEven
	TiesToOdd
)

// fixedScale is what fixed-point arithmetic does to a sum with fractional bits.
type fixedScale struct {
	shift, lo, hi *expr.Expr
	ties          int64
}

// fixedScale reads that of a call.
func (c *Call) fixedScale() fixedScale {
	n, ties := c.int32Args("quant_min", "quant_max"), must(c.Int("ties"))
	c.errorIf(ties < TiesUp || ties > TiesToOdd, "ties is %d", ties)
	return fixedScale{c.shiftArg("shift", 30), n[0], n[1], ties}
}

func (f fixedScale) of(x *expr.Expr) *expr.Expr {
	y := expr.Shr(x, f.shift)
	if f.ties != TiesUp {
		one, zero := expr.Int(ir.Int32, 1), expr.Int(ir.Int32, 0)
		rest, other := expr.And(x, expr.Int(ir.Int32, 1<<f.shift.Int-1)), y
		if f.ties == TiesToOdd {
			other = expr.Add(y, one)
		}
		y = expr.Sub(y, expr.Select(expr.Eq(rest, zero), expr.And(other, one), zero))
	}
	return between(y, f.lo, f.hi)
}

// shiftArg is an argument from 0 to most.
func (c *Call) shiftArg(name string, most int64) *expr.Expr {
	n := must(c.Int(name))
	c.errorIf(n < 0 || n > most, "%s is %d; it lies in [0, %d]", name, n, most)
	return expr.Int(ir.Int32, n)
}

// broadcast is the element of an operand for that at of the result.
func (c *Call) broadcast(name string, at []sym.Expr) *expr.Expr {
	return c.Load(name, broadcastCoords(c.Tensor(name), c.Outs[0].Sizes, at)...)
}

// rescaledType is the type of integers that quant_min and quant_max limit, made of an operand of d
// and parameters of int32.
func (c *Call) rescaledType(operand string, d ir.DType, params ...string) ir.Type {
	t, to := c.Tensor(operand), c.DType("dtype", ir.InvalidDType)
	c.errorIf(t.DType != d, "not defined on %s", t.DType)
	for _, name := range params {
		c.fitsRescaled(c.Tensor(name), t)
	}
	c.limitsFor(to)
	return ir.TensorOf(to, t.Sizes...)
}

// fitsRescaled checks parameter p of results t.
func (c *Call) fitsRescaled(p, t ir.Type) {
	sizes, ok := Broadcast(p, t)
	c.errorIf(p.DType != ir.Int32 || !ok || !sameSizes(sizes, t.Sizes), "a parameter %s of %s",
		p.DType, sizesOf{p})
}

// limitsFor checks quant_min and quant_max of integers of d.
func (c *Call) limitsFor(d ir.DType) {
	lo, hi := must(c.Int("quant_min")), must(c.Int("quant_max"))
	least, most := expr.IntRange(d)
	c.errorIf(!quantizedType(d) || lo < least || hi > most || lo > hi, "limits of %d and %d for %s",
		lo, hi, d)
}

// quantizedType reports whether tensors of a quantized network may be of d.
func quantizedType(d ir.DType) bool { return d == ir.Int8 || d == ir.Uint8 || d == ir.Int16 }

// integerProducts are the sums of products in a quantized network: of integers less their zero
// points, exact in int32, with a bias in int32. What lies outside of an image counts as its
// zero point. The first operand may be floats that are the integers of 8 bits less their zero
// point. The result is the sum as int32, or, rounded, as float32; what scales it is an
// elementwise node behind it, which becomes a kernel's epilogue. A sum that is asked for as int64
// is one in int64.
func integerProducts() []entry {
	return []entry{
		{
			Schema: "etgen::integer_convolution(Tensor input, Tensor weight, Tensor? bias, " +
				"SymInt[] stride, SymInt[] before, SymInt[] after, SymInt[] dilation, bool transposed, " +
				"SymInt[] output_padding, SymInt groups, int input_zero_point, int weight_zero_point, " +
				"ScalarType dtype) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := convOf(c).outType(c)
				t.DType = c.DType("dtype", ir.InvalidDType)
				return one(t)
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				return convOf(c).compute(c, at)
			}),
		},
		{
			// Row i of self times column j of mat2, or, transposed, row j. Mat2 has two
			// dimensions, for all products, or those of self. With scales of float32,
			// [column][group], a result has a sum for each group of k. Each is exact in int32, of
			// mat2 less its zero point, is rounded to float32 and multiplied by its scale. These
			// are added in order.
			Schema: "etgen::integer_matmul(Tensor self, Tensor mat2, Tensor? bias, bool transposed, " +
				"int self_zero_point, int mat2_zero_point, ScalarType dtype, Tensor? scales=None, " +
				"Tensor? mat2_zero_points=None) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				x, w := c.Tensor("self"), c.Tensor("mat2")
				r := w.Rank()
				c.errorIf(x.Rank() < 1 || r < 2 || r > 2 && r != x.Rank(),
					"operands with %d and %d dimensions", x.Rank(), r)
				k, n := r-2, r-1
				if c.Bool("transposed") {
					k, n = n, k
				}
				lead := x.Sizes[:x.Rank()-1]
				c.errorIf(differ(x.Sizes[len(lead)], w.Sizes[k]) ||
					r > 2 && !sameSizes(w.Sizes[:r-2], lead[:r-2]), "%s do not multiply",
					sizesOf{x, w})
				c.param("bias", w.Sizes[n])
				c.integerSum("self", "mat2")
				c.groupScales(w.Sizes[n], w.Sizes[k])
				return one(ir.TensorOf(c.DType("dtype", ir.InvalidDType),
					append(slices.Clone(lead), w.Sizes[n])...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				last := len(at) - 1
				lead := at[:max(c.Tensor("mat2").Rank()-2, 0)]
				size, d := c.Tensor("self").Sizes[last], c.integerSum()
				sum := func(size, from sym.Expr, zero *expr.Expr) *expr.Expr {
					k := sym.NewVar("k", size)
					at, row := sym.Add(from, k.Expr()), at
					w := append(slices.Clone(lead), at, row[last])
					if c.Bool("transposed") {
						w = append(slices.Clone(lead), row[last], at)
					}
					x := expr.Cast(d, c.lessZero("self", append(slices.Clone(row[:last]), at)))
					y := expr.Cast(d, c.lessZero("mat2", w))
					if zero != nil {
						y = expr.Sub(y, zero)
					}
					return expr.Sum([]*sym.Symbol{k}, expr.Mul(x, y))
				}
				if !c.Has("scales") {
					return affine(sum(size, sym.Int(0), nil), nil, c.paramAt("bias", d, at[last]))
				}
				groups := c.Tensor("scales").Sizes[1]
				g := sym.NewVar("g", groups)
				var zero *expr.Expr
				if c.Has("mat2_zero_points") {
					zero = c.Load("mat2_zero_points", at[last], g.Expr())
				}
				size = sym.FloorDiv(size, groups)
				part := sum(size, sym.Mul(g.Expr(), size), zero)
				return expr.Sum([]*sym.Symbol{g}, expr.Mul(expr.Cast(ir.Float32, part),
					c.Load("scales", at[last], g.Expr())))
			}),
		},
	}
}

// groupScales checks scales and zero points of groups, of products with n columns of k.
func (c *Call) groupScales(n, k sym.Expr) {
	if !c.Has("scales") {
		c.errorIf(c.Has("mat2_zero_points"), "zero points of groups without scales")
		return
	}
	s := c.Tensor("scales")
	c.errorIf(c.Has("bias") || c.DType("dtype", ir.InvalidDType) != ir.Float32 ||
		c.Tensor("mat2").Rank() > 2,
		"scales of groups are for results of float32, of a matrix, without a bias")
	c.errorIf(s.DType != ir.Float32 || s.Rank() != 2 || differ(s.Sizes[0], n), "scales %s of %s",
		s.DType, sizesOf{s})
	groups, ok := s.Sizes[1].Const()
	c.errorIf(!ok || groups < 1 || !sym.Mul(sym.FloorDiv(k, s.Sizes[1]), s.Sizes[1]).Equal(k),
		"%s groups of %s", s.Sizes[1], k)
	if c.Has("mat2_zero_points") {
		z := c.Tensor("mat2_zero_points")
		c.errorIf(z.DType != ir.Int32 || !sameSizes(z.Sizes, s.Sizes), "zero points %s of %s",
			z.DType, sizesOf{z, s})
	}
}

// integerSum checks operands of an integer product and returns the dtype that it is summed in.
func (c *Call) integerSum(operands ...string) ir.DType {
	for i, name := range operands {
		d := c.Tensor(name).DType
		c.errorIf(!quantizedType(d) && (i > 0 || d != ir.Float32), "%s of %s", name, d)
		c.zeroPoint(name)
	}
	if c.Op.sch.Index("bias") >= 0 && c.Has("bias") && c.Tensor("bias").DType != ir.Int32 {
		panic(c.Errorf("a bias of %s", c.Tensor("bias").DType))
	}
	d := c.DType("dtype", ir.InvalidDType)
	c.errorIf(d != ir.Int32 && d != ir.Int64 && d != ir.Float32, "a result of %s", d)
	if d == ir.Int64 {
		return d
	}
	return ir.Int32
}

// zeroPoint returns the number of NAME_zero_point, checked against the operand's dtype.
func (c *Call) zeroPoint(name string) int64 {
	zero, d := must(c.Int(name+"_zero_point")), c.Tensor(name).DType
	if d == ir.Float32 {
		d = ir.Int8
	}
	least, most := expr.IntRange(d)
	c.errorIf(zero < least || zero > most, "a zero point of %d for %s of %s", zero, name,
		c.Tensor(name).DType)
	return zero
}

// lessZero returns an element of an integer product's operand less its zero point.
func (c *Call) lessZero(name string, at []sym.Expr) *expr.Expr {
	if c.Tensor(name).DType == ir.Float32 {
		return expr.Cast(ir.Int32, c.Load(name, at...))
	}
	return offset(c.Load(name, at...), expr.Int(ir.Int32, -c.zeroPoint(name)))
}
