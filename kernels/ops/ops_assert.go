package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// assertionOps are kept for what they check, or dropped because the compiler
// has checked it.
func assertionOps() []Op {
	none := func(*Call) ([]ir.Type, error) { return nil, nil }
	truth := func(c *Call) (*expr.Expr, error) { return c.number(c.Arg("self"), ir.Bool), nil }
	return []Op{
		// The ScalarOp and Compute of an Effect is the condition that must hold.
		{Schema: "aten::_assert_scalar(Scalar self, str assert_msg) -> ()", Infer: none,
			ScalarOp: truth, Effect: true},
		{Schema: "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", Infer: inferTruth,
			ScalarOp: elementTruth, Effect: true},
		{Schema: "aten::_assert_async(Tensor self) -> ()", Infer: inferTruth,
			ScalarOp: elementTruth, Effect: true},
		{Schema: assertIndexSchema, Infer: inferTruth, ScalarOp: elementTruth, Effect: true},
		{
			Schema: "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
			Infer:  none, ScalarOp: withinRange, Effect: true,
		},
		{
			Schema: "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
			Infer:  none, ScalarOp: withinRange, Effect: true,
		},
		{
			Schema: "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
			Infer:  inferAssertMetadata,
			// Types are static: what Infer accepts holds.
			ScalarOp: func(*Call) (*expr.Expr, error) { return expr.Bool(true), nil },
			Effect:   true,
		},
	}
}

func inferTruth(c *Call) ([]ir.Type, error) { return nil, c.oneElement("self") }

func elementTruth(c *Call) (*expr.Expr, error) {
	return expr.Cast(ir.Bool, c.Load("self", zeros(c.Tensor("self").Rank())...)), nil
}

func withinRange(c *Call) (*expr.Expr, error) {
	x := c.number(c.Arg("size"), ir.Int64)
	ok := expr.Bool(true)
	if c.Has("min") {
		ok = expr.And(ok, expr.Ge(x, c.number(c.Arg("min"), ir.Int64)))
	}
	if c.Has("max") {
		ok = expr.And(ok, expr.Le(x, c.number(c.Arg("max"), ir.Int64)))
	}
	return ok, nil
}

func inferAssertMetadata(c *Call) ([]ir.Type, error) {
	t := c.Tensor("a")
	if d := c.DType("dtype", t.DType); d != t.DType {
		return nil, c.Errorf("the program was exported for a %s tensor here, this one is %s",
			d, t.DType)
	}
	if c.Has("size") {
		sizes := must(c.SymInts("size"))
		if len(sizes) != t.Rank() {
			return nil,
				c.Errorf(
					"the program was exported for a tensor with %d dimensions here, this one has %d", len(sizes), t.Rank())
		}
	}
	return nil, nil
}
