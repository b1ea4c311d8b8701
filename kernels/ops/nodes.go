package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// asNodes is the Core form of an elementwise operator that its expression gives: a node of
// Core ATen for each operation. An operator has another form where one node of Core ATen does
// what several operations do, and where its expression looks at bits.
func asNodes(b *Builder, c *Call) *ir.Value {
	n := &nodes{b: b, c: c, made: map[*expr.Expr]any{}}
	body := must(c.Op.Compute(c))[0].Body
	v, ok := n.value(body).(*ir.Value)
	out := c.Outs[0]
	if !ok || v.Type.Kind != ir.TensorKind {
		return b.aten("full", out.Sizes, n.value(body), Kw("dtype", out.DType))
	}
	if !sym.AllEqual(v.Type.Sizes, out.Sizes) { // an operand is not used
		v = b.aten("expand", v, out.Sizes)
	}
	return v
}

// nodes makes nodes of expressions over the operands of a call, one for each expression.
type nodes struct {
	b    *Builder
	c    *Call
	made map[*expr.Expr]any
}

// value returns e as a tensor that broadcasts to the result, or as a number.
func (n *nodes) value(e *expr.Expr) any {
	v, ok := n.made[e]
	if !ok {
		v = n.make(e)
		n.made[e] = v
	}
	return v
}

// tensor returns e as a tensor.
func (n *nodes) tensor(e *expr.Expr) *ir.Value {
	v := n.value(e)
	if t, ok := v.(*ir.Value); ok && t.Type.Kind == ir.TensorKind {
		return t
	}
	return n.b.scalar(v, e.DType)
}

// isTensor reports whether e is more than a number.
func (n *nodes) isTensor(e *expr.Expr) bool {
	v, ok := n.value(e).(*ir.Value)
	return ok && v.Type.Kind == ir.TensorKind
}

// nodeNames are the operators of operations with the operands' dtype, on bool and on others.
var nodeNames = map[expr.Op][2]string{
	expr.OpAdd: {"", "add.Tensor"}, expr.OpSub: {"", "sub.Tensor"},
	expr.OpMul: {"", "mul.Tensor"}, expr.OpDiv: {"", "div.Tensor"},
	expr.OpNeg: {"", "neg"}, expr.OpAbs: {"", "abs"}, expr.OpSqrt: {"", "sqrt"},
	expr.OpFloor: {"", "floor"}, expr.OpCeil: {"", "ceil"}, expr.OpTrunc: {"", "trunc"},
	expr.OpRound: {"", "round"}, expr.OpRem: {"", "fmod.Tensor"},
	expr.OpMin: {"", "minimum"}, expr.OpMax: {"", "maximum"},
	expr.OpAnd: {"logical_and", "bitwise_and.Tensor"},
	expr.OpOr:  {"logical_or", "bitwise_or.Tensor"},
	expr.OpXor: {"logical_xor", "bitwise_xor.Tensor"},
	expr.OpNot: {"logical_not", "bitwise_not"},
	expr.OpEq:  {"eq.Tensor", "eq.Tensor"}, expr.OpNe: {"ne.Tensor", "ne.Tensor"},
	expr.OpLt: {"lt.Tensor", "lt.Tensor"}, expr.OpLe: {"le.Tensor", "le.Tensor"},
	expr.OpGt: {"gt.Tensor", "gt.Tensor"}, expr.OpGe: {"ge.Tensor", "ge.Tensor"},
}

// mirrored are operations with their operands exchanged.
var mirrored = map[expr.Op]expr.Op{
	expr.OpAdd: expr.OpAdd, expr.OpMul: expr.OpMul, expr.OpEq: expr.OpEq, expr.OpNe: expr.OpNe,
	expr.OpLt: expr.OpGt, expr.OpGt: expr.OpLt, expr.OpLe: expr.OpGe, expr.OpGe: expr.OpLe,
}

func (n *nodes) make(e *expr.Expr) any {
	switch e.Op {
	case expr.OpConst:
		switch {
		case e.DType == ir.Bool:
			return e.Int != 0
		case e.DType.IsFloat():
			return e.Float
		}
		return e.Int
	case expr.OpIndex:
		return e.Idx
	case expr.OpScalar:
		return n.c.scalars[e.Buf]
	case expr.OpLoad:
		return n.c.operands[e.Buf]
	case expr.OpCast:
		if !n.isTensor(e.Args[0]) {
			return n.value(e.Args[0])
		}
		return n.b.cast(n.tensor(e.Args[0]), e.DType)
	case expr.OpCall:
		args := seq.Map(e.Args, func(a *expr.Expr) any { return n.tensor(a) })
		name, _, _ := strings.Cut(e.Fn.Name, "_f")
		return n.b.aten(name, args...)
	case expr.OpSelect:
		return n.choice(e)
	}
	return n.operation(e)
}

// choice is a Select. One that keeps a NaN of the first operand is the operator that does.
func (n *nodes) choice(e *expr.Expr) any {
	cond, x, y := e.Args[0], e.Args[1], e.Args[2]
	switch {
	case cond.Op == expr.OpConst && cond.Int != 0:
		return n.value(x)
	case cond.Op == expr.OpConst:
		return n.value(y)
	case (y.Op == expr.OpMax || y.Op == expr.OpMin) && x == y.Args[0] && isNaNOf(cond, x):
		return n.b.aten(nodeNames[y.Op][1], n.tensor(x), n.tensor(y.Args[1]))
	}
	return n.b.where(n.tensor(cond), n.value(x), n.value(y), e.DType)
}

// isNaNOf reports whether cond asks whether x is no number.
func isNaNOf(cond, x *expr.Expr) bool {
	return cond.Op == expr.OpNe && cond.Args[0] == x && cond.Args[1] == x
}

// operation is an operation of one or two operands. A number is the second one; two numbers
// are one as far as they are known.
func (n *nodes) operation(e *expr.Expr) any {
	op, x := e.Op, e.Args[0]
	kind := 1
	if x.DType == ir.Bool {
		kind = 0
	}
	if !slices.ContainsFunc(e.Args, n.isTensor) {
		if k := expr.Simplify(e); k.Op == expr.OpConst {
			return n.value(k)
		}
	}
	if len(e.Args) == 1 {
		return n.b.aten(nodeNames[op][kind], n.tensor(x))
	}
	y := e.Args[1]
	for i, k := range []any{n.value(x), n.value(y)} {
		other := e.Args[1-i]
		switch { // what changes nothing
		case op == expr.OpAnd && k == true, op == expr.OpOr && k == false,
			op == expr.OpMul && (k == 1.0 || k == int64(1)):
			return n.value(other)
		}
	}
	switch {
	case isNaNOf(e, x):
		return n.b.aten("isnan", n.tensor(x))
	case (op == expr.OpMin || op == expr.OpMax) && x.DType.IsFloat():
		return n.extreme(e)
	case kind == 0 || e.Op == expr.OpRem:
		return n.b.aten(nodeNames[op][kind], n.tensor(x), n.tensor(y))
	}
	if other, ok := mirrored[op]; ok && !n.isTensor(x) {
		op, x, y = other, y, x
	}
	name := nodeNames[op][1]
	if e.DType == ir.Bool && !n.isTensor(y) {
		name = strings.Replace(name, ".Tensor", ".Scalar", 1)
	}
	return n.b.aten(name, n.tensor(x), n.value(y))
}

// extreme is a Min or Max, which gives its second operand where either is no number. With a
// number as the first it is a limit, two of which are one node.
func (n *nodes) extreme(e *expr.Expr) any {
	x, y := e.Args[0], e.Args[1]
	if n.isTensor(x) {
		first := "lt.Tensor"
		if e.Op == expr.OpMax {
			first = "gt.Tensor"
		}
		return n.b.where(n.b.aten(first, n.tensor(x), n.tensor(y)), n.value(x), n.value(y), e.DType)
	}
	if e.Op == expr.OpMax {
		return n.b.aten("clamp", n.tensor(y), n.value(x))
	}
	if y.Op == expr.OpMax && !n.isTensor(y.Args[0]) {
		return n.b.aten("clamp", n.tensor(y.Args[1]), n.value(y.Args[0]), n.value(x))
	}
	return n.b.aten("clamp", n.tensor(y), nil, n.value(x))
}
