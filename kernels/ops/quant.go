package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

const (
	quantRange   = "int quant_min, int quant_max, ScalarType dtype"
	dequantRange = quantRange + ", *, ScalarType? out_dtype=None"
	quantNS      = "quantized_decomposed::"
)

// quantOps convert between floats and integers that stand for
// (q - zero_point)·scale. The arithmetic is that of ExecuTorch's kernels:
// float32 throughout, rounding half to even.
func quantOps() []entry {
	const ns = quantNS
	return []entry{
		quantize(ns + "quantize_per_tensor(Tensor input, float scale, int zero_point, " +
			quantRange + ") -> Tensor"),
		quantize(ns + "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " +
			quantRange + ") -> Tensor"),
		quantize(ns +
			"quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " +
			quantRange + ") -> Tensor"),
		quantize(ns + "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " +
			quantRange + ") -> Tensor"),
		quantize(ns +
			"quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, " +
			quantRange + ", int group_size) -> Tensor"),
		dequantize(ns+"dequantize_per_tensor(Tensor input, float scale, int zero_point, "+dequantRange+
			") -> Tensor", "out_dtype"),
		dequantize(ns+"dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, "+
			dequantRange+") -> Tensor", "out_dtype"),
		dequantize(ns+
			"dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, "+
			dequantRange+") -> Tensor", "out_dtype"),
		dequantize(ns+"dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "+quantRange+
			", ScalarType output_dtype) -> Tensor", "output_dtype"),
		dequantize(ns+"dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, "+
			quantRange+", int group_size, ScalarType output_dtype) -> Tensor",
			"output_dtype").core(dequantizeGroupsCore),
		chooseQParams(ns +
			"choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, " +
			"ScalarType dtype) -> (Tensor, Tensor)"),
		chooseQParams(ns +
			"choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"),
		quantEmbedding(ns+"embedding_byte("+quantEmbeddingArgs+") -> Tensor", 8),
		quantEmbedding(
			ns+"embedding_byte.dtype("+quantEmbeddingArgs+", *, ScalarType? dtype=None) -> Tensor",
			8),
		quantEmbedding(ns+"embedding_4bit("+quantEmbeddingArgs+") -> Tensor", 4),
		quantEmbedding(
			ns+"embedding_4bit.dtype("+quantEmbeddingArgs+", *, ScalarType? dtype=None) -> Tensor",
			4),
		quantEmbedding(ns+"embedding_2bit("+quantEmbeddingArgs+") -> Tensor", 2),
		quantEmbedding(
			ns+"embedding_2bit.dtype("+quantEmbeddingArgs+", *, ScalarType? dtype=None) -> Tensor",
			2),
		// mixedMM is a matrix product with a weight of int8, whose rows have scales.
		{
			Schema: quantNS +
				"mixed_mm(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points) -> " +
				"Tensor",
			Infer: func(c *Call) []ir.Type {
				x, w, s := c.mixedOperands(0, 0)
				c.errorIf(s.Rank() != 1, "scales of %s", sizesOf{s})
				return []ir.Type{ir.TensorOf(x.DType, x.Sizes[0], w.Sizes[1])}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				m := opmath(c.Outs[0].DType)
				k := sym.NewVar("k", c.Tensor("input").Sizes[1])
				x := expr.Mul(expr.Cast(m, c.Load("input", at[0], k.Expr())),
					expr.Cast(m, c.Load("weight", k.Expr(), at[1])))
				x = expr.Mul(x, expr.Cast(m, c.Load("weight_scales", k.Expr())))
				return expr.Sum([]*sym.Symbol{k}, x)
			}),
		},
		// mixedLinear is a product with the transpose of a weight of int8, which has
		// scales by row or by row and group of columns; the last group may be short.
		{
			Schema: quantNS +
				"mixed_linear(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, " +
				"ScalarType? dtype=None) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				x, w, s := c.mixedOperands(1, 0)
				c.errorIf(s.Rank() == 2 && !sym.Less(sym.Int(0), s.Sizes[1]), "no groups of %s",
					sizesOf{s})
				d := c.DType("dtype", x.DType)
				c.errorIf(!d.IsFloat(), "the result would be %s, not a float", d)
				return []ir.Type{ir.TensorOf(d, x.Sizes[0], w.Sizes[0])}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				out, x, s := c.Outs[0], c.Tensor("input"), c.Tensor("weight_scales")
				m := opmath(out.DType)
				n := x.Sizes[1]
				product := func(k sym.Expr) *expr.Expr {
					return expr.Mul(expr.Cast(m, c.Load("input", at[0], k)),
						expr.Cast(m, c.Load("weight", at[1], k)))
				}
				var body *expr.Expr
				if s.Rank() == 1 {
					k := sym.NewVar("k", n)
					body = expr.Mul(expr.Sum([]*sym.Symbol{k}, product(k.Expr())),
						expr.Cast(m, c.Load("weight_scales", at[1])))
				} else {
					size := sym.CeilDiv(n, s.Sizes[1])
					g, i := sym.NewVar("g", s.Sizes[1]), sym.NewVar("k", size)
					k := sym.Add(sym.Mul(g.Expr(), size), i.Expr())
					in := expr.Select(expr.IdxLt(k, n), product(k), expr.Num(m, 0))
					part := expr.Mul(expr.Sum([]*sym.Symbol{i}, in),
						expr.Cast(m, c.Load("weight_scales", at[1], g.Expr())))
					body = expr.Sum([]*sym.Symbol{g}, part)
				}
				return body
			}),
		},
		// quantAdd dequantizes both operands, adds and quantizes the sum.
		{
			Schema: quantNS +
				"add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, " +
				"float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, " +
				"int out_zero_point, int out_quant_min, int out_quant_max) -> Tensor qc",
			Infer: func(c *Call) []ir.Type {
				a, b := c.Tensor("a"), c.Tensor("b")
				c.errorIf(!a.DType.IsInt() || a.DType != b.DType || !sym.AllEqual(a.Sizes, b.Sizes),
					"operands of %s and %s and of %s", a.DType, b.DType, sizesOf{a, b})
				t, _ := pointwiseType(a.DType, a, b)
				return []ir.Type{t}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				out := c.Outs[0]
				value := func(name string) *expr.Expr {
					return dequantized(c.Load(name, at...), c.number(c.Arg(name+"_zero_point"),
						ir.Int64), c.number(c.Arg(name+"_scale"), ir.Float32))
				}
				return quantized(expr.Add(value("a"), value("b")), c.number(c.Arg("out_scale"),
					ir.Float32), c.number(c.Arg("out_zero_point"), ir.Float32),
					c.Arg("out_quant_min"), c.Arg("out_quant_max"), out.DType, c)
			}),
		},
	}
}

// qparams tells where in a tensor of scales that of an element of the input
// is: per channel, where one stands for all, per token (all of the last dimension)
// or per group of columns of a row. It is nil where the arguments are of a tensor.
func (c *Call) qparams() func(coords []sym.Expr) []sym.Expr {
	has := func(name string) bool { return c.Op.sch.Index(name) >= 0 }
	if !has("scales") {
		for _, name := range []string{"scale", "zero_point"} {
			if k := c.Operand(name); k >= 0 {
				c.need(c.operands[k].Type.Numel())
			}
		}
		return nil
	}
	t, s := c.Tensor("input"), c.Tensor("scales")
	misfit := func(how string) { panic(c.Errorf("%s do not fit %s", sizesOf{t, s}, how)) }
	if k := c.Operand("zero_points"); k >= 0 && !c.operands[k].Type.Numel().Equal(s.Numel()) {
		panic(c.Errorf("%s of scales and zero points differ", sizesOf{s, c.operands[k].Type}))
	}
	switch {
	case t.Rank() == 0:
		misfit("without dimensions")
		return nil
	case has("axis"):
		axis := c.dim("axis", t.Rank())
		if s.Rank() == 1 && s.Sizes[0].Is(1) {
			return func([]sym.Expr) []sym.Expr { return zeros(1) }
		}
		if s.Rank() != 1 || differ(s.Sizes[0], t.Sizes[axis]) {
			misfit("along dimension " + itoa(axis))
			return nil
		}
		return func(coords []sym.Expr) []sym.Expr { return coords[axis : axis+1] }
	case has("group_size"):
		size := must(c.SymInt("group_size"))
		if t.Rank() != 2 || s.Rank() != 2 || !sym.Less(sym.Int(0), size) ||
			differ(s.Sizes[0], t.Sizes[0]) || differ(sym.Mul(s.Sizes[1], size), t.Sizes[1]) {
			misfit("by groups of " + size.String())
			return nil
		}
		return func(at []sym.Expr) []sym.Expr {
			return []sym.Expr{at[0], sym.FloorDiv(at[1], size)}
		}
	}
	tokens := t.Sizes[:t.Rank()-1]
	if differ(s.Numel(), sym.Mul(tokens...)) {
		misfit("by token")
		return nil
	}
	return func(at []sym.Expr) []sym.Expr {
		return unflatten(sym.RowMajor(tokens, at[:len(tokens)]), s.Sizes)
	}
}

// qparam returns a scale or zero_point argument, a number, a tensor with one
// element or, where at is given, one of several, for the element at coords as
// a value of dtype d; nil if it is None.
func (c *Call) qparam(name string, at func([]sym.Expr) []sym.Expr, coords []sym.Expr,
	d ir.DType) *expr.Expr {
	k := c.Operand(name)
	switch {
	case !c.Has(name):
		return nil
	case k < 0:
		return c.number(c.Arg(name), d)
	case at == nil:
		return expr.Cast(d, c.LoadAt(k, zeros(c.operands[k].Type.Rank())...))
	}
	at0 := at(coords)
	if t, s := c.operands[k].Type, c.Tensor("scales"); t.Rank() != s.Rank() {
		at0 = unflatten(sym.RowMajor(s.Sizes, at0), t.Sizes)
	}
	return expr.Cast(d, c.LoadAt(k, at0...))
}

// names of the scale and zero point arguments.
func (c *Call) qnames() (scale, zero string) {
	if c.Op.sch.Index("scales") >= 0 {
		return "scales", "zero_points"
	}
	return "scale", "zero_point"
}

//go:noinline
func quantize(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("input")
			c.errorIf(!t.DType.IsFloat(), "the input is %s, not a float", t.DType)
			c.qparams()
			d := c.DType("dtype", ir.InvalidDType)
			c.errorIf(!d.IsInt(), "the result would be %s, not an integer", d)
			return []ir.Type{likeType(t, d)}
		},
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			at := c.qparams()
			scale, zero := c.qnames()
			x := expr.Cast(opmath(c.Tensor("input").DType), c.Load("input", coords...))
			return quantized(x, c.qparam(scale, at, coords, ir.Float32), c.qparam(zero, at, coords,
				ir.Float32), c.Arg("quant_min"), c.Arg("quant_max"), c.Outs[0].DType, c)
		}),
	}
}

// quantized is the integer of dtype d nearest to x/scale + zero, kept between
// lo and hi. x is Float32 or Float64, scale and zero are Float32.
func quantized(x, scale, zero *expr.Expr, lo, hi ir.Arg, d ir.DType, c *Call) *expr.Expr {
	inv := expr.Div(like(scale, 1), scale)
	q := expr.Round(expr.Cast(ir.Float32, expr.Mul(x, expr.Cast(x.DType, inv))))
	q = expr.Add(q, zero)
	if d.Size() > 2 { // float32 does not hold the bounds
		q = expr.Cast(ir.Int64, q)
	}
	return expr.Cast(d, between(q, c.number(lo, q.DType), c.number(hi, q.DType)))
}

// dequantized is (q - zero)·scale as Float32; zero may be nil.
func dequantized(q, zero *expr.Expr, scale *expr.Expr) *expr.Expr {
	d := ir.Int64
	if q.DType.Size() <= 2 { // float32 holds the difference
		d = ir.Float32
	}
	x := expr.Cast(d, q)
	if zero != nil {
		x = expr.Sub(x, expr.Cast(d, zero))
	}
	return expr.Mul(expr.Cast(ir.Float32, x), scale)
}

// dequantize has the dtype of its result in the argument called result.
//
//go:noinline
func dequantize(schema, result string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			c.qparams()
			d := c.DType(result, ir.Float32)
			in := c.Tensor("input").DType
			c.errorIf(!in.IsInt(), "the input is %s, not an integer", in)
			c.errorIf(!d.IsFloat(), "the result would be %s, not a float", d)
			return []ir.Type{likeType(c.Tensor("input"), d)}
		},
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			at := c.qparams()
			scale, zero := c.qnames()
			zd := ir.Int64
			if k := c.Operand(zero); k >= 0 && c.operands[k].Type.DType.IsFloat() {
				zd = ir.Float32
			}
			return dequantized(c.Load("input", coords...), c.qparam(zero, at, coords, zd),
				c.qparam(scale, at, coords, ir.Float32))
		}),
	}
}

// dequantizeGroupsCore is by operators that ExecuTorch has.
func dequantizeGroupsCore(b *Builder, c *Call) *ir.Value {
	t := c.Tensor("scales")
	each := append(slices.Clone(t.Sizes), sym.Int(1))
	x := b.aten("view", c.Value("input"), []sym.Expr{t.Sizes[0], t.Sizes[1],
		must(c.SymInt("group_size"))})
	x = b.cast(x, ir.Float32)
	if c.Has("zero_points") {
		x = b.sub(x, b.cast(b.aten("view", c.Value("zero_points"), each), ir.Float32))
	}
	x = b.mul(x, b.cast(b.aten("view", c.Value("scales"), each), ir.Float32))
	return b.cast(b.aten("view", x, c.Tensor("input").Sizes), c.Outs[0].DType)
}

// smallestScale is the least scale that choose_qparams gives.
var smallestScale = float64(float32(6.1e-5))

// chooseQParams takes scale and zero point from the range of the input, of the
// whole of it or of each token (all of the last dimension), as ExecuTorch's
// kernels do.
func chooseQParams(schema string) entry {
	perToken := func(c *Call) bool { return c.Op.sch.Index("quant_min") < 0 }
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("input")
			c.errorIf(!t.DType.IsFloat() || t.DType == ir.Float64,
				"the input is %s, not float32 or of 16 bits", t.DType)
			sizes := []sym.Expr{sym.Int(1)}
			if perToken(c) {
				c.errorIf(t.Rank() == 0, "an input without dimensions has no tokens")
				sizes = append(append([]sym.Expr(nil), t.Sizes[:t.Rank()-1]...), sym.Int(1))
			}
			return []ir.Type{ir.TensorOf(ir.Float64, sizes...), ir.TensorOf(ir.Int64, sizes...)}
		},
		Compute: func(c *Call) []expr.Tensor {
			qmin, qmax := int64(math.MinInt8), int64(math.MaxInt8)
			if !perToken(c) {
				qmin = must(c.Int("quant_min"))
				qmax = must(c.Int("quant_max"))
				c.errorIf(qmin >= qmax || qmin < math.MinInt32 || qmax > math.MaxInt32,
					"a range from %d to %d", qmin, qmax)
			}
			t := c.Tensor("input")
			return c.elements(func(i int, coords []sym.Expr) *expr.Expr {
				extreme := func(kind expr.ReduceKind) *expr.Expr {
					red, at := reductionVars(t.Sizes)
					if perToken(c) {
						n := t.Rank() - 1
						copy(at, coords[:n])
						red = red[n:]
					}
					return expr.Reduction(kind, red, c.Load("input", at...))
				}
				scale, zero := qparamsOf(extreme(expr.ReduceMin), extreme(expr.ReduceMax),
					qmin, qmax)
				return [...]*expr.Expr{scale, zero}[i]
			})
		},
		variant: func(c *Call) *entry {
			if c.Tensor("input").DType == ir.Float32 {
				return nil
			}
			return &entry{Schema: schema, Infer: c.Op.entry.Infer, Decompose: chooseNarrow}
		},
	}
}

// chooseNarrow is chooseQParams of floats of 16 bits, which rounds where PyTorch does: ExecuTorch
// has no kernel for them.
func chooseNarrow(b *Builder, c *Call) []*ir.Value {
	x := c.Value("input")
	scaleOf := func(lo, hi *ir.Value, steps int64) *ir.Value {
		return b.div(b.sub(hi, lo), float64(steps))
	}
	typed := func(scale, zero *ir.Value) []*ir.Value {
		return []*ir.Value{b.cast(scale, ir.Float64), b.cast(zero, ir.Int64)}
	}
	if c.Op.sch.Index("quant_min") < 0 {
		last := []int64{-1}
		lo := b.aten("clamp", b.aten("amin", x, last, true), nil, 0)
		hi := b.aten("clamp", b.aten("amax", x, last, true), 0)
		scale := b.aten("clamp", scaleOf(lo, hi, 255), 0x1p-23)
		low, high := b.div(lo, scale), b.div(hi, scale)
		sum := b.add(b.add(low, -128), b.add(high, 127))
		zero := b.where(b.aten("gt.Scalar", sum, 0), b.sub(b.aten("neg", low), 128),
			b.aten("add.Tensor", b.aten("neg", high), 127), x.Type.DType)
		return typed(scale, b.aten("round", b.aten("clamp", zero, -128, 127)))
	}
	lo, hi := b.aten("clamp", b.aten("min", x), nil, 0), b.aten("clamp", b.aten("max", x), 0)
	qmin, qmax := must(c.Int("quant_min")), must(c.Int("quant_max"))
	eps, err := c.Float("eps")
	check(err)
	one := func(v *ir.Value) *ir.Value { return b.aten("view", b.cast(v, ir.Float32), []int64{1}) }
	scale := b.aten("clamp", one(scaleOf(lo, hi, qmax-qmin)), float64(float32(eps)))
	zero := b.cast(b.aten("round", b.div(one(lo), scale)), ir.Int32)
	return typed(scale, b.aten("clamp", b.add(b.aten("neg", zero), qmin), qmin, qmax))
}

// qparamsOf returns the scale, a Float64, and the zero point, an Int64, with
// which the integers from qmin to qmax cover lo to hi, Float32 values, and 0.
func qparamsOf(lo, hi *expr.Expr, qmin, qmax int64) (scale, zero *expr.Expr) {
	const d, f = ir.Float64, ir.Float32
	num := func(x float64) *expr.Expr { return expr.Float(d, x) }
	f32 := func(x float64) *expr.Expr { return expr.Float(f, x) }
	wide := func(x *expr.Expr) *expr.Expr { return expr.Cast(d, x) }
	lo, hi = expr.Min(lo, f32(0)), expr.Max(hi, f32(0))
	steps := float64(qmax - qmin)
	s := expr.Div(expr.Sub(wide(hi), wide(lo)), num(steps))
	s32 := expr.Cast(f, s)
	useless := expr.Or(expr.Eq(s32, f32(0)), isInf(expr.Div(f32(1), s32), true, true))
	s = expr.Select(useless, num(0.1), s)

	// A scale that is too small widens the range with it.
	small := expr.Lt(s, num(smallestScale))
	least := f32(smallestScale * steps)
	amplifier := expr.Div(f32(smallestScale), expr.Cast(f, s))
	noLo, noHi := expr.Eq(lo, f32(0)), expr.Eq(hi, f32(0))
	wideLo := expr.Select(noLo, lo, expr.Select(noHi, expr.Neg(least), expr.Mul(lo, amplifier)))
	wideHi := expr.Select(noLo, least, expr.Select(noHi, hi, expr.Mul(hi, amplifier)))
	lo, hi = expr.Select(small, wideLo, lo), expr.Select(small, wideHi, hi)
	s = expr.Select(small, num(smallestScale), s)

	// The zero point follows from either end; the one with the smaller terms is
	// more exact.
	atLo, atHi := expr.Div(wide(lo), s), expr.Div(wide(hi), s)
	errLo := expr.Sub(num(math.Abs(float64(qmin))), expr.Abs(atLo))
	errHi := expr.Sub(num(math.Abs(float64(qmax))), expr.Abs(atHi))
	z := expr.Select(expr.Lt(errLo, errHi), expr.Sub(num(float64(qmin)), atLo),
		expr.Sub(num(float64(qmax)), atHi))
	nearest := wide(expr.Round(expr.Cast(f, z)))
	z = expr.Select(expr.Lt(z, num(float64(qmin))), num(float64(qmin)),
		expr.Select(expr.Gt(z, num(float64(qmax))), num(float64(qmax)), nearest))
	return s, expr.Cast(ir.Int64, z)
}

// reductionVars returns variables that range over all elements of a tensor.
func reductionVars(sizes []sym.Expr) ([]*sym.Symbol, []sym.Expr) {
	vars, at := make([]*sym.Symbol, len(sizes)), make([]sym.Expr, len(sizes))
	for d, s := range sizes {
		vars[d] = sym.NewVar("r"+itoa(d), s)
		at[d] = vars[d].Expr()
	}
	return vars, at
}

// mixedOperands checks the operands of a product of floats with an int8
// weight: the input is m·k, rows is the weight's dimension that meets k, and
// scales belong to its dimension scaled.
func (c *Call) mixedOperands(meets, scaled int) (x, w, s ir.Type) {
	x, w, s = c.Tensor("input"), c.Tensor("weight"), c.Tensor("weight_scales")
	switch {
	case x.Rank() != 2 || w.Rank() != 2 || s.Rank() < 1 || s.Rank() > 2 || s.Rank() == 2 &&
		scaled == meets ||
		differ(x.Sizes[1], w.Sizes[meets]) || differ(s.Sizes[0], w.Sizes[scaled]):
		panic(c.Errorf("input, weight and scales of %s", sizesOf{x, w, s}))
	case !x.DType.IsFloat() || w.DType != ir.Int8 || s.DType != x.DType:
		panic(c.Errorf("input, weight and scales of %s, %s and %s", x.DType, w.DType, s.DType))
	case c.Has("weight_zero_points"):
		panic(c.Errorf("zero points of the weight are not supported"))
	}
	return x, w, s
}

// fakeQuantOps round to what integers of a range stand for. In training they
// also tell which elements lay inside of it.
func fakeQuantOps() []entry {
	const bounds = "int quant_min, int quant_max"
	return []entry{
		fakeQuant("aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, " +
			bounds + ") -> Tensor"),
		fakeQuant("aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, " +
			"Tensor zero_point, " + bounds + ") -> Tensor"),
		fakeQuant("aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, " +
			"int zero_point, " + bounds + ") -> (Tensor output, Tensor mask)"),
		fakeQuant("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, " +
			"Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, " + bounds +
			") -> (Tensor output, Tensor mask)"),
		fakeQuant("aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, " +
			"Tensor zero_point, int axis, " + bounds + ") -> Tensor"),
		fakeQuant("aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, " +
			"Tensor zero_point, int axis, " + bounds + ") -> (Tensor output, Tensor mask)"),
	}
}

// fakeQuant computes in float32, by the reciprocal of the scale.
//
//go:noinline
func fakeQuant(schema string) entry {
	return entry{Schema: schema, Decompose: func(b *Builder, c *Call) []*ir.Value {
		x := c.Value("self")
		d := x.Type.DType
		lo := must(c.Int("quant_min"))
		hi := must(c.Int("quant_max"))
		c.errorIf(lo > hi || !d.IsFloat(), "%s, quantised to [%d, %d]", d, lo, hi)
		shape := c.qparamShape(x.Type)
		param := func(name string) *ir.Value {
			if c.Operand(name) < 0 {
				n, e := c.Float(name)
				check(e)
				return b.scalar(n, ir.Float32)
			}
			return b.aten("reshape", b.cast(c.Value(name), ir.Float32), shape)
		}
		scale, zero := param("scale"), param("zero_point")
		scaled := b.aten("round", b.mul(b.cast(x, ir.Float32), b.aten("reciprocal", scale)))
		q := b.add(scaled, zero)
		y := b.cast(b.mul(b.sub(b.aten("clamp", q, lo, hi), zero), scale), d)
		inside := b.aten("logical_and", b.aten("ge.Scalar", q, lo), b.aten("le.Scalar", q, hi))
		if k := c.Op.sch.Index("fake_quant_enabled"); k >= 0 {
			on := b.aten("reshape", b.aten("ne.Scalar", c.Value("fake_quant_enabled"), 0), []int{})
			y = b.where(on, y, x, d)
			inside = b.aten("logical_or", inside, b.aten("logical_not", on))
		}
		return []*ir.Value{y, inside}[:len(c.Op.sch.Returns)]
	}}
}

// qparamShape is the shape in which scales and zero points are broadcast over t.
func (c *Call) qparamShape(t ir.Type) []int {
	if c.Op.sch.Index("axis") < 0 {
		return []int{}
	}
	c.errorIf(t.Rank() == 0, "a tensor without dimensions has no channels")
	axis := c.dim("axis", t.Rank())
	shape := slices.Repeat([]int{1}, t.Rank())
	shape[axis] = -1
	return shape
}
