package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// forms are the primitives of a binary operation, by which operand is the same
// in all iterations; "" if there is none.
type forms struct{ vectors, second, first string }

var binaries = map[expr.Op]forms{
	expr.OpAdd: {"Add", "AddScalar", "AddScalar"}, // the operands may be swapped
	expr.OpMul: {"Mul", "MulScalar", "MulScalar"},
	expr.OpSub: {"Sub", "SubScalar", "ScalarSub"},
	expr.OpDiv: {"Div", "DivScalar", "ScalarDiv"},
	expr.OpMax: {"Max", "MaxScalar", "ScalarMax"},
	expr.OpMin: {"Min", "MinScalar", "ScalarMin"},
	expr.OpRem: {"Mod", "ModScalar", ""},
}

// bitwise are operations on integers.
var bitwise = map[expr.Op]forms{
	expr.OpAnd: {"BitAnd", "BitAndScalar", "BitAndScalar"},
	expr.OpOr:  {"BitOr", "BitOrScalar", "BitOrScalar"},
	expr.OpXor: {"BitXor", "BitXorScalar", "BitXorScalar"},
	expr.OpShl: {"Shl", "ShlScalar", ""},
	expr.OpShr: {"Shr", "ShrScalar", ""},
}

var floatUnaries = map[expr.Op]string{
	expr.OpNeg: "Neg", expr.OpAbs: "AbsFloat", expr.OpSqrt: "Sqrt", expr.OpFloor: "Floor",
	expr.OpCeil: "Ceil", expr.OpTrunc: "Trunc", expr.OpRound: "Round",
}

var intUnaries = map[expr.Op]string{expr.OpNeg: "Neg", expr.OpAbs: "AbsInt"}

// arith lowers arithmetic, at least one operand of which varies.
func (b *builder) arith(e *expr.Expr, args []value) (value, bool) {
	d := e.DType
	if len(args) == 1 {
		prims := floatUnaries
		if d.IsInt() {
			prims = intUnaries
		}
		prim := prims[e.Op]
		return b.op(prim, d, args...), prim != ""
	}
	if e.Op == expr.OpFMA && d.IsFloat() {
		for i, a := range args {
			args[i] = b.vector(a)
		}
		if d == ir.Float32 {
			return b.op("FMAF32", d, args...), true
		}
		return b.op("FMAF64", d, args...), true
	}
	f, ok := binaries[e.Op]
	if d.IsInt() && !ok {
		f, ok = bitwise[e.Op]
	}
	if !ok || (e.Op == expr.OpDiv || e.Op == expr.OpRem) && d.IsInt() {
		return value{}, false
	}
	switch x, y := args[0], args[1]; {
	case y.Invariant():
		return b.op(f.second, d, x, y), true
	case x.Invariant() && f.first == f.second:
		return b.op(f.first, d, y, x), true
	case x.Invariant() && f.first == "":
		return b.op(f.vectors, d, b.vector(x), y), true
	case x.Invariant():
		return b.op(f.first, d, x, y), true
	default:
		return b.op(f.vectors, d, x, y), true
	}
}

// op adds the call of a primitive; without a name it does nothing.
func (b *builder) op(prim string, d ir.DType, args ...value) value {
	if prim == "" {
		return value{}
	}
	return b.call(Call{Prim: prim, Args: args}, d)
}

// vector returns x with an element for every iteration.
func (b *builder) vector(x value) value {
	if x.Invariant() {
		return b.call(Call{Prim: "Fill", Args: []Operand{x}}, x.DType)
	}
	return x
}

// comparisons of two vectors, of a vector with a scalar, and the operation
// with the operands swapped.
var comparisons = map[expr.Op]struct {
	vectors, second string
	swapped         expr.Op
}{
	expr.OpEq: {"Eq", "EqScalar", expr.OpEq},
	expr.OpNe: {"Ne", "NeScalar", expr.OpNe},
	expr.OpLt: {"Lt", "LtScalar", expr.OpGt},
	expr.OpLe: {"Le", "LeScalar", expr.OpGe},
	expr.OpGt: {"", "GtScalar", expr.OpLt},
	expr.OpGe: {"", "GeScalar", expr.OpLe},
}

func (b *builder) compare(op expr.Op, args []value) (value, bool) {
	x, y := args[0], args[1]
	if !numeric(x.DType) {
		return value{}, false
	}
	if x.Invariant() || !y.Invariant() && comparisons[op].vectors == "" {
		x, y, op = y, x, comparisons[op].swapped
	}
	if y.Invariant() {
		return b.op(comparisons[op].second, ir.Bool, x, y), true
	}
	return b.op(comparisons[op].vectors, ir.Bool, x, y), true
}

func (b *builder) boolean(e *expr.Expr, args []value) (value, bool) {
	prim := map[expr.Op]string{expr.OpAnd: "And", expr.OpOr: "Or", expr.OpXor: "Xor",
		expr.OpNot: "Not"}[e.Op]
	if prim == "" {
		return value{}, false
	}
	for i, a := range args {
		args[i] = b.vector(a)
	}
	return b.op(prim, ir.Bool, args...), true
}
