package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// primOps are ExecuTorch's primitives on numbers: Python's arithmetic under
// other names.
func primOps() []Op {
	const ns = "executorch_prim::"
	const two = ".Scalar(Scalar a, Scalar b) -> Scalar"
	const truth = ".Scalar(Scalar a, Scalar b) -> bool"
	return []Op{
		arith(ns+"add"+two, func(a, b sym.Expr) sym.Expr { return sym.Add(a, b) }, expr.Add),
		arith(ns+"sub"+two, sym.Sub, expr.Sub),
		arith(ns+"mul"+two, func(a, b sym.Expr) sym.Expr { return sym.Mul(a, b) }, expr.Mul),
		division(ns+"floordiv"+two, sym.FloorDiv, floorDivide),
		// The runtimes' mod is C's remainder: lower writes it only where no operand is
		// negative, and lower/raise reads it as C's. There the two are one.
		division(ns+"mod"+two, sym.Mod, floorMod),
		arith(ns+"sym_max"+two, func(a, b sym.Expr) sym.Expr { return sym.Max(a, b) }, expr.Max),
		arith(ns+"sym_min"+two, func(a, b sym.Expr) sym.Expr { return sym.Min(a, b) }, expr.Min),
		{
			Schema: ns + "truediv.Scalar(Scalar a, Scalar b) -> float",
			Infer:  scalarType(ir.FloatKind),
			ScalarOp: func(c *Call) (*expr.Expr, error) {
				return expr.Div(c.number(c.Arg("a"), ir.Float64), c.number(c.Arg("b"), ir.Float64)),
					nil
			},
		},
		scalarUnary(ns+"neg.Scalar(Scalar a) -> Scalar", ir.NoneKind, sym.Neg, expr.Neg),
		scalarUnary(ns+"sym_not.Scalar(Scalar a) -> bool", ir.BoolKind, nil,
			func(x *expr.Expr) *expr.Expr { return expr.Not(expr.Cast(ir.Bool, x)) }),
		scalarUnary(ns+"sym_float.Scalar(Scalar a) -> float", ir.FloatKind, nil,
			func(x *expr.Expr) *expr.Expr { return expr.Cast(ir.Float64, x) }),
		scalarUnary(ns+"sym_int.Scalar(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Trunc)),
		scalarUnary(ns+"trunc.Scalar(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Trunc)),
		scalarUnary(ns+"ceil.Scalar(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Ceil)),
		scalarUnary(ns+"round.Scalar(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Round)),
		scalarCompare(ns+"eq"+truth, expr.Eq),
		scalarCompare(ns+"lt"+truth, expr.Lt),
		scalarCompare(ns+"le"+truth, expr.Le),
		scalarCompare(ns+"gt"+truth, expr.Gt),
		scalarCompare(ns+"ge"+truth, expr.Ge),
		{
			Schema: ns + "sym_ite.Scalar(Scalar b, Scalar t, Scalar f) -> Scalar",
			Infer: func(c *Call) ([]ir.Type, error) {
				return scalarType(c.numbers("t", "f"))(c)
			},
			ScalarOp: func(c *Call) (*expr.Expr, error) {
				d := ScalarDType(c.numbers("t", "f"))
				return expr.Select(expr.Cast(ir.Bool, c.number(c.Arg("b"), ir.Bool)),
					c.number(c.Arg("t"), d), c.number(c.Arg("f"), d)), nil
			},
		},
	}
}
