package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// symIntOp defines an integer by the expression in its result's type
// (Builder.SymInt).
const symIntOp = "etgen.sym_int.default"

// scalarOps are the operators on Python numbers.
func scalarOps() []entry {
	return []entry{
		{
			Schema: "etgen::sym_int() -> SymInt",
			Infer: func(c *Call) []ir.Type {
				if t := c.node.Output(0); t != nil && t.Type.HasExpr {
					return []ir.Type{t.Type}
				}
				panic(c.Errorf("its result has no expression"))
			},
			Value: func(c *Call) sym.Expr { return c.node.Output(0).Type.Expr },
		},

		sizeOf("aten::sym_size.int(Tensor self, int dim) -> SymInt",
			func(t ir.Type, d int) sym.Expr { return t.Sizes[d] }),
		sizeOf("aten::sym_stride.int(Tensor self, int dim) -> SymInt",
			func(t ir.Type, d int) sym.Expr { return t.Strides[d] }),
		integer("aten::sym_numel(Tensor self) -> SymInt", func(c *Call) sym.Expr {
			return c.Tensor("self").Numel()
		}),
		integer("aten::sym_storage_offset(Tensor self) -> SymInt", func(c *Call) sym.Expr {
			return c.Tensor("self").Offset
		}),

		arith("_operator::add(Scalar a, Scalar b) -> Scalar", ofTwo(sym.Add), expr.Add),
		arith("_operator::sub(Scalar a, Scalar b) -> Scalar", sym.Sub, expr.Sub),
		arith("_operator::mul(Scalar a, Scalar b) -> Scalar", ofTwo(sym.Mul), expr.Mul),
		division("_operator::floordiv(Scalar a, Scalar b) -> Scalar", sym.FloorDiv, floorDivide),
		division("_operator::mod(Scalar a, Scalar b) -> Scalar", sym.Mod, floorMod),
		arith("torch::sym_max(Scalar a, Scalar b) -> Scalar", ofTwo(sym.Max), expr.Max),
		arith("torch::sym_min(Scalar a, Scalar b) -> Scalar", ofTwo(sym.Min), expr.Min),
		arith("_operator::pow(Scalar a, Scalar b) -> Scalar", func(a, b sym.Expr) sym.Expr {
			// Returns a**b for a small constant b.
			n, ok := b.Const()
			if !ok || n < 0 || n > 8 {
				return sym.FloorDiv(sym.Int(1), sym.Int(0)) // undefined: left to run time
			}
			e := sym.Int(1)
			for range n {
				e = sym.Mul(e, a)
			}
			return e
		}, power),
		bitwise("_operator::and_(Scalar a, Scalar b) -> Scalar", expr.And),
		bitwise("_operator::or_(Scalar a, Scalar b) -> Scalar", expr.Or),
		scalarUnary("_operator::neg(Scalar a) -> Scalar", ir.NoneKind, sym.Neg, expr.Neg),
		scalarUnary("torch::sym_not(Scalar a) -> bool", ir.BoolKind, nil,
			func(x *expr.Expr) *expr.Expr { return expr.Not(expr.Cast(ir.Bool, x)) }),
		scalarUnary("torch::sym_float(Scalar a) -> float", ir.FloatKind, nil,
			func(x *expr.Expr) *expr.Expr { return expr.Cast(ir.Float64, x) }),
		scalarUnary("torch::sym_int(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Trunc)),
		scalarUnary("math::trunc(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Trunc)),
		scalarUnary("math::floor(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Floor)),
		scalarUnary("math::ceil(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Ceil)),
		scalarUnary("_operator::pos(Scalar a) -> Scalar", ir.NoneKind, func(a sym.Expr) sym.Expr {
			return a
		}, func(x *expr.Expr) *expr.Expr { return x }),
		{
			Schema: "_operator::truediv(Scalar a, Scalar b) -> float",
			Infer:  scalarType(ir.FloatKind),
			ScalarOp: func(c *Call) *expr.Expr {
				return expr.Div(c.number(c.Arg("a"), ir.Float64), c.number(c.Arg("b"), ir.Float64))
			},
		},
		{
			Schema: "torch::sym_sqrt(Scalar a) -> float",
			Infer:  scalarType(ir.FloatKind),
			ScalarOp: func(c *Call) *expr.Expr {
				return expr.Sqrt(c.number(c.Arg("a"), ir.Float64))
			},
		},
		{
			Schema: "torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar",
			Infer:  func(c *Call) []ir.Type { return scalarType(c.numbers("t", "f"))(c) },
			ScalarOp: func(c *Call) *expr.Expr {
				d := ScalarDType(c.numbers("t", "f"))
				return expr.Select(expr.Cast(ir.Bool, c.number(c.Arg("b"), ir.Bool)),
					c.number(c.Arg("t"), d), c.number(c.Arg("f"), d))
			},
		},
		item("aten::item(Tensor self) -> Scalar"),
		item("aten::_local_scalar_dense(Tensor self) -> Scalar"),

		scalarCompare("_operator::eq(Scalar a, Scalar b) -> bool", expr.Eq),
		scalarCompare("_operator::ne(Scalar a, Scalar b) -> bool", expr.Ne),
		scalarCompare("_operator::lt(Scalar a, Scalar b) -> bool", expr.Lt),
		scalarCompare("_operator::le(Scalar a, Scalar b) -> bool", expr.Le),
		scalarCompare("_operator::gt(Scalar a, Scalar b) -> bool", expr.Gt),
		scalarCompare("_operator::ge(Scalar a, Scalar b) -> bool", expr.Ge),
	}
}

// integer is an operator whose result is an integer known to the compiler.
func integer(schema string, value func(*Call) sym.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			e := value(c)
			return []ir.Type{ir.SymInt(e)}
		},
		Value: value,
	}
}

// sizeOf is an operator that reads something of dimension dim of self.
func sizeOf(schema string, f func(t ir.Type, dim int) sym.Expr) entry {
	return integer(schema, func(c *Call) sym.Expr {
		d := c.dim("dim", c.Tensor("self").Rank())
		c.errorIf(c.Tensor("self").Rank() == 0, "the tensor has no dimensions")
		return f(c.Tensor("self"), d)
	})
}

// numbers returns the common kind of number arguments in Python's arithmetic:
// int if all are int (or bool), else float.
func (c *Call) numbers(names ...string) ir.Kind {
	kind := ir.BoolKind
	for _, name := range names {
		switch d := numberDType(c.Arg(name)); {
		case d.IsFloat():
			return ir.FloatKind
		case d.IsInt():
			kind = ir.IntKind
		}
	}
	return kind
}

// arithmeticKind is numbers for arithmetic, in which a bool is an int.
func (c *Call) arithmeticKind(names ...string) ir.Kind {
	if k := c.numbers(names...); k != ir.BoolKind {
		return k
	}
	return ir.IntKind
}

// known returns the integer arguments as expressions if all are known to the
// compiler.
func (c *Call) known(names ...string) ([]sym.Expr, bool) {
	var es []sym.Expr
	for _, name := range names {
		if c.numbers(name) == ir.FloatKind {
			return nil, false
		}
		e, err := c.SymInt(name)
		if err != nil {
			return nil, false
		}
		es = append(es, e)
	}
	return es, true
}

// scalarType infers one scalar of a kind: what the graph says of it, which may
// be a symbol that only this node defines, else just the kind.
func scalarType(kind ir.Kind) func(*Call) []ir.Type {
	return func(c *Call) []ir.Type {
		if v := c.node.Output(0); v != nil && v.Type.Kind == kind {
			return []ir.Type{v.Type}
		}
		return []ir.Type{{Kind: kind}}
	}
}

// arith is an operator on two numbers that gives a number of their kind. value
// is nil if it has no form on index expressions.
//
//go:noinline
func arith(schema string, value func(a, b sym.Expr) sym.Expr,
	f func(a, b *expr.Expr) *expr.Expr) entry {
	op := entry{Schema: schema}
	op.Infer = func(c *Call) []ir.Type {
		if es, ok := c.known("a", "b"); ok && value != nil {
			if e := value(es[0], es[1]); !e.Undefined() {
				return []ir.Type{ir.SymInt(e)}
			}
		}
		return scalarType(c.arithmeticKind("a", "b"))(c)
	}
	if value != nil {
		op.Value = func(c *Call) sym.Expr {
			es, ok := c.known("a", "b")
			c.errorIf(!ok, "its operands are no integers known to the compiler")
			return value(es[0], es[1])
		}
	}
	op.ScalarOp = func(c *Call) *expr.Expr {
		d := ScalarDType(c.arithmeticKind("a", "b"))
		return f(c.number(c.Arg("a"), d), c.number(c.Arg("b"), d))
	}
	return op
}

// division is arith whose second operand must not be 0.
func division(schema string, value func(a, b sym.Expr) sym.Expr,
	f func(a, b *expr.Expr) *expr.Expr) entry {
	op := arith(schema, value, f)
	infer := op.Infer
	op.Infer = func(c *Call) []ir.Type {
		if es, ok := c.known("b"); ok {
			c.need(sym.Max(es[0], sym.Neg(es[0])))
		}
		return infer(c)
	}
	return op
}

// ofTwo takes two operands where f takes any number.
func ofTwo(f func(...sym.Expr) sym.Expr) func(a, b sym.Expr) sym.Expr {
	return func(a, b sym.Expr) sym.Expr { return f(a, b) }
}

// bitwise is an operator on two ints or two bools.
func bitwise(schema string, f func(a, b *expr.Expr) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			k := c.numbers("a", "b")
			c.errorIf(k == ir.FloatKind, "not defined on float")
			return scalarType(k)(c)
		},
		ScalarOp: func(c *Call) *expr.Expr {
			d := ScalarDType(c.numbers("a", "b"))
			return f(c.number(c.Arg("a"), d), c.number(c.Arg("b"), d))
		},
	}
}

// scalarUnary is an operator on one number; its result is of the kind given,
// for NoneKind of the operand's.
//
//go:noinline
func scalarUnary(schema string, kind ir.Kind, value func(sym.Expr) sym.Expr,
	f func(*expr.Expr) *expr.Expr) entry {
	op := entry{Schema: schema}
	op.Infer = func(c *Call) []ir.Type {
		if es, ok := c.known("a"); ok && value != nil {
			return []ir.Type{ir.SymInt(value(es[0]))}
		}
		if kind == ir.NoneKind {
			return scalarType(c.arithmeticKind("a"))(c)
		}
		return scalarType(kind)(c)
	}
	if value != nil {
		op.Value = func(c *Call) sym.Expr { return value(must(c.SymInt("a"))) }
	}
	op.ScalarOp = func(c *Call) *expr.Expr {
		return f(c.number(c.Arg("a"), ScalarDType(c.arithmeticKind("a"))))
	}
	return op
}

// scalarCompare is a comparison of two numbers.
func scalarCompare(schema string, f func(a, b *expr.Expr) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer:  scalarType(ir.BoolKind),
		ScalarOp: func(c *Call) *expr.Expr {
			d := ScalarDType(c.arithmeticKind("a", "b"))
			return f(c.number(c.Arg("a"), d), c.number(c.Arg("b"), d))
		},
	}
}

// toIndex rounds a float to an integer.
func toIndex(round func(*expr.Expr) *expr.Expr) func(*expr.Expr) *expr.Expr {
	return func(x *expr.Expr) *expr.Expr {
		if !x.DType.IsFloat() {
			return expr.Cast(ir.Int64, x)
		}
		return expr.Cast(ir.Int64, round(x))
	}
}

// item reads the only element of a tensor.
func item(schema string) entry {
	kind := func(c *Call) ir.Kind {
		switch d := c.Tensor("self").DType; {
		case d == ir.Bool:
			return ir.BoolKind
		case d.IsInt():
			return ir.IntKind
		}
		return ir.FloatKind
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			c.oneElement("self")
			return scalarType(kind(c))(c)
		},
		ScalarOp: func(c *Call) *expr.Expr {
			return expr.Cast(ScalarDType(kind(c)),
				c.Load("self", make([]sym.Expr, c.Tensor("self").Rank())...))
		},
	}
}

// primOps are ExecuTorch's primitives on numbers: Python's arithmetic under
// other names.
func primOps() []entry {
	const ns = "executorch_prim::"
	// The runtimes' mod is C's remainder: lower writes it only where no operand is
	// negative, and lower/raise reads it as C's. There the two are one.
	same := strings.Fields("add sub mul floordiv mod sym_max sym_min truediv neg sym_not sym_float " +
		"sym_int sym_ite trunc ceil eq lt le gt ge")
	var ops []entry
	for _, op := range scalarOps() {
		space, schema, _ := strings.Cut(op.Schema, "::")
		name, args, _ := strings.Cut(schema, "(")
		if space != "etgen" && slices.Contains(same, name) {
			op.Schema = ns + name + ".Scalar(" + args
			ops = append(ops, op)
		}
	}
	return append(ops,
		scalarUnary(ns+"round.Scalar(Scalar a) -> SymInt", ir.IntKind, nil, toIndex(expr.Round)))
}

// assertionOps are kept for what they check, or dropped because the compiler
// has checked it.
func assertionOps() []entry {
	none := func(*Call) []ir.Type { return nil }
	truth := func(c *Call) *expr.Expr { return c.number(c.Arg("self"), ir.Bool) }
	return []entry{
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
			Schema: "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, " +
				"ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("a")
				if d := c.DType("dtype", t.DType); d != t.DType {
					panic(c.Errorf("the program was exported for a %s tensor here, this one is %s", d,
						t.DType))
				}
				if c.Has("size") {
					sizes := must(c.SymInts("size"))
					c.errorIf(len(sizes) != t.Rank(),
						"the program was exported for a tensor with %d dimensions here, this one has %d", len(sizes),
						t.Rank())
				}
				return nil
			},
			// Types are static: what Infer accepts holds.
			ScalarOp: func(*Call) *expr.Expr { return expr.Bool(true) },
			Effect:   true,
		},
	}
}

func inferTruth(c *Call) []ir.Type {
	c.oneElement("self")
	return nil
}

func elementTruth(c *Call) *expr.Expr {
	return expr.Cast(ir.Bool, c.Load("self", zeros(c.Tensor("self").Rank())...))
}

func withinRange(c *Call) *expr.Expr {
	x := c.number(c.Arg("size"), ir.Int64)
	ok := expr.Bool(true)
	if c.Has("min") {
		ok = expr.And(ok, expr.Ge(x, c.number(c.Arg("min"), ir.Int64)))
	}
	if c.Has("max") {
		ok = expr.And(ok, expr.Le(x, c.number(c.Arg("max"), ir.Int64)))
	}
	return ok
}
