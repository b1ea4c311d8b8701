package ops

import (
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
func quantOps() []Op {
	const ns = quantNS
	return []Op{
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
		dequantize(ns+"dequantize_per_tensor(Tensor input, float scale, int zero_point, "+dequantRange+") -> Tensor", "out_dtype"),
		dequantize(ns+"dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, "+dequantRange+") -> Tensor", "out_dtype"),
		dequantize(ns+"dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, "+dequantRange+") -> Tensor", "out_dtype"),
		dequantize(ns+"dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "+quantRange+", ScalarType output_dtype) -> Tensor", "output_dtype"),
		dequantize(ns+"dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, "+quantRange+", int group_size, ScalarType output_dtype) -> Tensor", "output_dtype"),
		chooseQParams(ns +
			"choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"),
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
		mixedMM(),
		mixedLinear(),
		quantAdd(),
	}
}

// qparams tells where in a tensor of scales that of an element of the input
// is: per channel, per token (all of the last dimension) or per group of
// columns of a row. It is nil where there is one for all.
func (c *Call) qparams() (func(coords []sym.Expr) []sym.Expr, error) {
	has := func(name string) bool { return c.Op.sch.Index(name) >= 0 }
	if !has("scales") {
		for _, name := range []string{"scale", "zero_point"} {
			if k := c.Operand(name); k >= 0 {
				c.need(c.operands[k].Type.Numel())
			}
		}
		return nil, nil
	}
	t, s := c.Tensor("input"), c.Tensor("scales")
	misfit := func(how string) error {
		return c.Errorf("%s do not fit %s", describeSizes([]ir.Type{t, s}), how)
	}
	if k := c.Operand("zero_points"); k >= 0 && !c.operands[k].Type.Numel().Equal(s.Numel()) {
		return nil, c.Errorf("%s of scales and zero points differ",
			describeSizes([]ir.Type{s, c.operands[k].Type}))
	}
	switch {
	case t.Rank() == 0:
		return nil, misfit("without dimensions")
	case has("axis"):
		axis, err := c.dim("axis", t.Rank())
		if err != nil {
			return nil, err
		}
		if s.Rank() != 1 || differ(s.Sizes[0], t.Sizes[axis]) {
			return nil, misfit("along dimension " + itoa(axis))
		}
		return func(coords []sym.Expr) []sym.Expr { return coords[axis : axis+1] }, nil
	case has("group_size"):
		size, err := c.SymInt("group_size")
		if err != nil {
			return nil, err
		}
		if t.Rank() != 2 || s.Rank() != 2 || !sym.Less(sym.Int(0), size) ||
			differ(s.Sizes[0], t.Sizes[0]) || differ(sym.Mul(s.Sizes[1], size), t.Sizes[1]) {
			return nil, misfit("by groups of " + size.String())
		}
		return func(at []sym.Expr) []sym.Expr {
			return []sym.Expr{at[0], sym.FloorDiv(at[1], size)}
		}, nil
	}
	tokens := t.Sizes[:t.Rank()-1]
	if differ(s.Numel(), sym.Mul(tokens...)) {
		return nil, misfit("by token")
	}
	return func(at []sym.Expr) []sym.Expr {
		return unflatten(sym.RowMajor(tokens, at[:len(tokens)]), s.Sizes)
	}, nil
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

func quantize(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("input")
			if !t.DType.IsFloat() {
				return nil, c.Errorf("the input is %s, not a float", t.DType)
			}
			_, err := c.qparams()
			d := c.DType("dtype", ir.InvalidDType)
			if err == nil && !d.IsInt() {
				err = c.Errorf("the result would be %s, not an integer", d)
			}
			return []ir.Type{likeType(t, d)}, err
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			at := must(c.qparams())
			out := c.Outs[0]
			vars, coords := indexVars(out.Sizes)
			scale, zero := c.qnames()
			x := expr.Cast(opmath(c.Tensor("input").DType), c.Load("input", coords...))
			q := quantized(x, c.qparam(scale, at, coords, ir.Float32), c.qparam(zero, at, coords,
				ir.Float32),
				c.Arg("quant_min"), c.Arg("quant_max"), out.DType, c)
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: q}}, nil
		},
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
func dequantize(schema, result string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			_, err := c.qparams()
			d := c.DType(result, ir.Float32)
			switch in := c.Tensor("input").DType; {
			case err != nil:
			case !in.IsInt():
				err = c.Errorf("the input is %s, not an integer", in)
			case !d.IsFloat():
				err = c.Errorf("the result would be %s, not a float", d)
			}
			return []ir.Type{likeType(c.Tensor("input"), d)}, err
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			at := must(c.qparams())
			out := c.Outs[0]
			vars, coords := indexVars(out.Sizes)
			scale, zero := c.qnames()
			zd := ir.Int64
			if k := c.Operand(zero); k >= 0 && c.operands[k].Type.DType.IsFloat() {
				zd = ir.Float32
			}
			x := dequantized(c.Load("input", coords...), c.qparam(zero, at, coords, zd),
				c.qparam(scale, at, coords, ir.Float32))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, x)}}, nil
		},
	}
}
