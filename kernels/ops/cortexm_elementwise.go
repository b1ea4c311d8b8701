package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// cortexMElementwise are the operators whose result has an element for each of
// the operands, which broadcast.
func cortexMElementwise() []Op {
	const limits = "int activation_min=-128, int activation_max=127"
	add := cm + "quantized_add(Tensor self, int self_zero_point, int self_multiplier, int self_shift, Tensor other, int other_zero_point, int other_multiplier, int other_shift, int output_zero_point, int output_multiplier, int output_shift, " + limits + ") -> Tensor"
	mul := cm + "quantized_mul(Tensor self, int self_zero_point, Tensor other, int other_zero_point, int output_zero_point, int output_multiplier, int output_shift) -> Tensor"
	div := cm + "quantized_div(Tensor self, int self_zero_point, Tensor other, int other_zero_point, int output_zero_point, float output_scale) -> Tensor"
	int8s := []ir.DType{ir.Int8}
	return []Op{
		pairwise(add, int8s, quantizedAdd),
		pairwise(mul, int8s, quantizedMul),
		pairwise(div, []ir.DType{ir.Int8, ir.Int16}, quantizedDiv),
		pairwise(cm+"minimum(Tensor self, Tensor other) -> Tensor", int8s,
			func(c *Call) (combine, error) { return expr.Min, nil }),
		pairwise(cm+"maximum(Tensor self, Tensor other) -> Tensor", int8s,
			func(c *Call) (combine, error) { return expr.Max, nil }),
		lookUp(),
	}
}

// combine gives the element of a result, as int32, of those of the operands as
// int32.
type combine func(a, b *expr.Expr) *expr.Expr

// pairwise is an operator of self and other, both of one of dtypes. f reads the
// other arguments of a call.
func pairwise(schema string, dtypes []ir.DType, f func(c *Call) (combine, error)) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			a, b := c.Tensor("self"), c.Tensor("other")
			if a.DType != b.DType || !slices.Contains(dtypes, a.DType) {
				return nil, c.Errorf("not defined on %s and %s", a.DType, b.DType)
			}
			t, ok := pointwiseType(a.DType, a, b)
			if !ok {
				return nil, c.Errorf("%s do not broadcast", describeSizes([]ir.Type{a, b}))
			}
			return []ir.Type{t}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			g := must(f(c))
			out := c.Outs[0]
			vars, coords := indexVars(out.Sizes)
			load := func(name string) *expr.Expr {
				return expr.Cast(ir.Int32, c.Load(name, broadcastCoords(c.Tensor(name), out.Sizes,
					coords)...))
			}
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType,
				g(load("self"), load("other")))}}, nil
		},
	}
}

// quantizedAdd brings both operands, shifted up for precision, to one scale.
func quantizedAdd(c *Call) (combine, error) {
	n := must(c.int32Args("self_zero_point", "other_zero_point", "output_zero_point",
		"activation_min", "activation_max"))
	var scales [3]rescale
	for i, name := range []string{"self", "other", "output"} {
		scales[i] = must(c.rescaleArg(name))
	}
	up := expr.Int(ir.Int32, 20)
	return func(a, b *expr.Expr) *expr.Expr {
		a = scales[0].of(expr.Shl(expr.Sub(a, n[0]), up))
		b = scales[1].of(expr.Shl(expr.Sub(b, n[1]), up))
		return finish(scales[2].of(expr.Add(a, b)), n[2], n[3], n[4])
	}, nil
}

func quantizedMul(c *Call) (combine, error) {
	n := must(c.int32Args("self_zero_point", "other_zero_point", "output_zero_point"))
	scale := must(c.rescaleArg("output"))
	return func(a, b *expr.Expr) *expr.Expr {
		lo, hi := int8Limits(ir.Int32)
		return finish(scale.of(expr.Mul(expr.Sub(a, n[0]), expr.Sub(b, n[1]))), n[2], lo, hi)
	}, nil
}

// quantizedDiv divides in float32 and rounds ties away from zero. What is
// divided by zero is 0.
func quantizedDiv(c *Call) (combine, error) {
	n := must(c.int32Args("self_zero_point", "other_zero_point", "output_zero_point"))
	scale := must(c.Float("output_scale"))
	least, most := expr.IntRange(c.Tensor("self").DType)
	float := func(x *expr.Expr) *expr.Expr { return expr.Cast(ir.Float32, x) }
	return func(a, b *expr.Expr) *expr.Expr {
		a, b = expr.Sub(a, n[0]), expr.Sub(b, n[1])
		zero := expr.Float(ir.Float32, 0)
		q := expr.Select(expr.Ne(b, expr.Int(ir.Int32, 0)), expr.Div(float(a), float(b)), zero)
		q = awayFromZero(expr.Mul(q, expr.Float(ir.Float32, scale)))
		q = between(expr.Add(q, float(n[2])), expr.Float(ir.Float32, float64(least)),
			expr.Float(ir.Float32, float64(most)))
		return expr.Cast(ir.Int32, q)
	}, nil
}

// awayFromZero rounds to the nearest integer, ties away from zero.
func awayFromZero(x *expr.Expr) *expr.Expr {
	t := expr.Trunc(x)
	step := expr.Select(expr.Lt(x, like(x, 0)), like(x, -1), like(x, 1))
	return expr.Select(expr.Ge(expr.Abs(expr.Sub(x, t)), like(x, 0.5)), expr.Add(t, step), t)
}

// lookUp is any function of int8, as a table of its 256 values.
func lookUp() Op {
	return Op{
		Schema: cm + "quantized_activation(Tensor input, Tensor lut) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.int8Input("input", 0))
			lut, err := c.int8Input("lut", 1)
			if err == nil && !lut.Sizes[0].Is(256) {
				err = c.Errorf("a table of %s values", lut.Sizes[0])
			}
			return []ir.Type{likeType(t, t.DType)}, err
		},
		Compute: elementsOf("input", func(c *Call, x *expr.Expr) (*expr.Expr, error) {
			at := expr.Bind("at", offset(x, expr.Int(ir.Int32, 128)), c.Tensor("lut").Sizes[0])
			return c.Load("lut", at.Expr()), nil
		}),
	}
}
