package record

import (
	"fmt"
	"math/rand/v2"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/lower/quantize"
)

// Random draws inputs of a model's method, of which "" is the first; dynamic sizes are at their
// smallest. They take no more than limit bytes, or way.DefaultMemory if it is 0.
func Random(open Opener, method string, seed uint64, limit int64) (*Given, error) {
	values, specs, at, err := signature(open, method)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	given, budget := &Given{Method: at}, newBudget(limit)
	for i, v := range values {
		value := tensor.Value{Scalar: specs[i].Fixed}
		if specs[i].Kind == ir.UserInput {
			if value, err = draw(r, v.Type, budget); err != nil {
				return nil, fmt.Errorf("input %s: %w", v.Name, err)
			}
		}
		given.Values = append(given.Values, value)
	}
	return given, nil
}

// RandomSample draws a sample of a method's inputs, for what does not depend on their ranges.
func RandomSample(m *ir.Method, seed uint64) quantize.Samples {
	return quantize.Samples{Count: 1, Get: func(int) (values []interp.Value, err error) {
		r, budget := rand.New(rand.NewPCG(seed, 0)), newBudget(0)
		for i, v := range m.Graph.Inputs {
			if m.Inputs[i].Kind != ir.UserInput {
				continue
			}
			x, err := draw(r, v.Type, budget)
			if err != nil {
				return nil, fmt.Errorf("input %s: %w", v.Name, err)
			}
			value := interp.Value{}
			if x.Tensor != nil {
				value = interp.Tensor(x.Tensor.DType, x.Tensor.Shape, x.Tensor.Data)
			} else if value, err = interp.New(nil).Arg(x.Scalar); err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	}}
}

// smallest gives every symbol its lower bound.
func smallest(s *sym.Symbol) (int64, bool) {
	lo, _ := s.Expr().Bounds()
	return max(lo, 0), true
}

func draw(r *rand.Rand, t ir.Type, budget *budget) (tensor.Value, error) {
	switch t.Kind {
	case ir.IntKind:
		n := int64(r.IntN(4))
		if t.HasExpr {
			var err error
			if n, err = t.Expr.Eval(smallest); err != nil {
				return tensor.Value{}, err
			}
		}
		return tensor.Value{Scalar: ir.Int(n)}, nil
	case ir.FloatKind:
		return tensor.Value{Scalar: ir.Float(r.Float64())}, nil
	case ir.BoolKind:
		return tensor.Value{Scalar: ir.BoolArg(r.IntN(2) == 0)}, nil
	case ir.TensorKind:
	default:
		return tensor.Value{}, fmt.Errorf("%v cannot be drawn", t)
	}
	t = t.RealParts()
	shape := make([]int64, len(t.Sizes))
	for i, s := range t.Sizes {
		var err error
		if shape[i], err = s.Eval(smallest); err != nil {
			return tensor.Value{}, err
		}
	}
	out := &tensor.Tensor{DType: t.DType, Shape: shape}
	bytes, err := tensor.Bytes(t.DType, shape)
	if err == nil {
		err = budget.take(bytes)
	}
	if err != nil {
		return tensor.Value{}, err
	}
	out.Data = make([]byte, 0, bytes)
	for range out.Len() {
		x := float64(r.IntN(2)) // integers are often indexes: small ones are valid
		if t.DType.IsFloat() {
			x = r.NormFloat64()
		}
		out.Data = tensor.Append(out.Data, t.DType, x)
	}
	return tensor.Value{Tensor: out}, nil
}
