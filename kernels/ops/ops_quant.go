package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

const (
	quantRange   = "int quant_min, int quant_max, ScalarType dtype"
	dequantRange = quantRange + ", *, ScalarType? out_dtype=None"
)

// quantOps convert between floats and integers that stand for
// (q - zero_point)·scale.
func quantOps() []Op {
	const ns = "quantized_decomposed::"
	return []Op{
		quantize(ns + "quantize_per_tensor(Tensor input, float scale, int zero_point, " + quantRange + ") -> Tensor"),
		quantize(ns + "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " + quantRange + ") -> Tensor"),
		quantize(ns + "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " + quantRange + ") -> Tensor"),
		dequantize(ns + "dequantize_per_tensor(Tensor input, float scale, int zero_point, " + dequantRange + ") -> Tensor"),
		dequantize(ns + "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " + dequantRange + ") -> Tensor"),
		dequantize(ns + "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, " + dequantRange + ") -> Tensor"),
		chooseQParams(ns + "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"),
	}
}

// qparam returns a scale or zero_point argument, a number, a tensor with one
// element or one with an element per channel, for the element at coords as a
// value of dtype d; nil if it is None.
func (c *Call) qparam(name string, axis int, coords []sym.Expr, d ir.DType) *expr.Expr {
	k := c.Operand(name)
	switch {
	case !c.Has(name):
		return nil
	case k < 0:
		return c.number(c.Arg(name), d)
	case axis >= 0:
		return expr.Cast(d, c.LoadAt(k, coords[axis]))
	}
	return expr.Cast(d, c.LoadAt(k, zeros(c.operands[k].Type.Rank())...))
}

// channelAxis returns the axis argument, -1 where there is none.
func (c *Call) channelAxis() (int, error) {
	if c.Op.sch.Index("axis") < 0 {
		return -1, nil
	}
	t := c.Tensor("input")
	axis, err := c.dim("axis", t.Rank())
	if err != nil {
		return 0, err
	}
	s := c.Tensor("scales")
	if t.Rank() == 0 || s.Rank() != 1 || !s.Sizes[0].Equal(t.Sizes[axis]) {
		return 0, c.Errorf("%s do not fit along dimension %d", describeSizes([]ir.Type{t, s}), axis)
	}
	return axis, nil
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
			_, err := c.channelAxis()
			d := c.DType("dtype", ir.InvalidDType)
			if err == nil && !d.IsInt() {
				err = c.Errorf("the result would be %s, not an integer", d)
			}
			return []ir.Type{likeType(t, d)}, err
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			axis, err := c.channelAxis()
			if err != nil {
				return nil, err
			}
			out := c.Outs[0]
			vars, coords := indexVars(out.Sizes)
			scale, zero := c.qnames()
			dt := opmath(c.Tensor("input").DType)
			// A reciprocal of a number is taken in double precision, as Python
			// does, that of a tensor in its own.
			sd := ir.Float64
			if axis >= 0 {
				sd = dt
			}
			s := c.qparam(scale, axis, coords, sd)
			inv := expr.Cast(dt, expr.Div(like(s, 1), s))
			q := expr.Round(expr.Mul(expr.Cast(dt, c.Load("input", coords...)), inv))
			q = expr.Add(q, c.qparam(zero, axis, coords, dt))
			q = between(q, c.number(c.Arg("quant_min"), dt), c.number(c.Arg("quant_max"), dt))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, q)}}, nil
		},
		Samples: bySchema(schema, sampleQuant),
	}
}

func dequantize(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			_, err := c.channelAxis()
			d := c.DType("out_dtype", ir.Float32)
			if err == nil && !d.IsFloat() {
				err = c.Errorf("the result would be %s, not a float", d)
			}
			return []ir.Type{likeType(c.Tensor("input"), d)}, err
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			axis, err := c.channelAxis()
			if err != nil {
				return nil, err
			}
			out := c.Outs[0]
			vars, coords := indexVars(out.Sizes)
			scale, zero := c.qnames()
			dt := opmath(out.DType)
			x := expr.Cast(dt, c.Load("input", coords...))
			if z := c.qparam(zero, axis, coords, dt); z != nil {
				x = expr.Sub(x, z)
			}
			x = expr.Mul(x, c.qparam(scale, axis, coords, dt))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, x)}}, nil
		},
		Samples: bySchema(schema, sampleQuant),
	}
}

// chooseQParams takes scale and zero point from the range of the input, which
// is widened to hold 0.
func chooseQParams(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			if d := c.Tensor("input").DType; d != ir.Float32 {
				return nil, c.Errorf("the input is %s, not float32", d)
			}
			return []ir.Type{ir.StaticTensor(ir.Float64, 1), ir.StaticTensor(ir.Int64, 1)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			qmin, err := c.Int("quant_min")
			if err != nil {
				return nil, err
			}
			qmax, err := c.Int("quant_max")
			if err != nil {
				return nil, err
			}
			extreme := func(kind expr.ReduceKind) *expr.Expr {
				red, at := reductionVars(c.Tensor("input").Sizes)
				return expr.Reduction(kind, red, c.Load("input", at...))
			}
			zero := expr.Float(ir.Float32, 0)
			lo := expr.Min(extreme(expr.ReduceMin), zero)
			hi := expr.Max(extreme(expr.ReduceMax), zero)
			scale := expr.Div(expr.Sub(hi, lo), like(lo, float64(qmax-qmin)))
			scale = expr.Max(scale, c.number(c.Arg("eps"), ir.Float32))
			z := expr.Sub(expr.Int(ir.Int32, qmin), expr.Cast(ir.Int32, expr.Round(expr.Div(lo, scale))))
			z = between(z, expr.Int(ir.Int32, qmin), expr.Int(ir.Int32, qmax))
			v0, _ := indexVars(c.Outs[0].Sizes)
			v1, _ := indexVars(c.Outs[1].Sizes)
			return []expr.Tensor{
				{DType: ir.Float64, Vars: v0, Body: expr.Cast(ir.Float64, scale)},
				{DType: ir.Int64, Vars: v1, Body: expr.Cast(ir.Int64, z)},
			}, nil
		},
		Samples: bySchema(schema, sampleQuant),
	}
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

func sampleQuant(r *Rand, s *aten.Schema) []Sample {
	var out []Sample
	for i := range 4 {
		shape := r.Shape(3)
		dtype, in := ir.Int8, ir.Float32
		lo, hi := int64(-128), int64(127)
		if i%2 == 1 {
			dtype, lo, hi = ir.Uint8, 0, 255
		}
		if s.Index("out_dtype") >= 0 {
			in = dtype
		}
		channels := shape[1]
		var args []any
		for _, p := range s.Args {
			switch p.Name {
			case "input":
				args = append(args, p.Name, Tensor(in, Values{Lo: -3, Hi: 3}.forDType(in), shape...))
			case "scale":
				if p.Type.Name == "float" {
					args = append(args, p.Name, 0.03)
				} else {
					args = append(args, p.Name, Tensor(ir.Float64, Values{Lo: 0.01, Hi: 0.1}, 1))
				}
			case "zero_point":
				if p.Type.Name == "int" {
					args = append(args, p.Name, 3)
				} else {
					args = append(args, p.Name, Tensor(ir.Int64, Values{Lo: 0, Hi: 9}, 1))
				}
			case "scales":
				args = append(args, p.Name, Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1}, channels))
			case "zero_points":
				args = append(args, p.Name, Tensor(ir.Int64, Values{Lo: 0, Hi: 9}, channels))
			case "axis":
				args = append(args, p.Name, 1)
			case "quant_min":
				args = append(args, p.Name, lo)
			case "quant_max":
				args = append(args, p.Name, hi)
			case "eps":
				args = append(args, p.Name, 0x1p-12)
			case "dtype":
				args = append(args, p.Name, dtype)
			}
		}
		out = append(out, NewSample(args...))
	}
	return out
}
