package expr

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// The constructors check their operands and panic if dtypes do not fit: that is
// a defect of an operator's entry, which the table's tests bring to light. They
// fold constants with the dtype's exact arithmetic and apply only identities
// that hold for every value, NaN and signed zeros included.

// Int returns a constant of integer or Bool dtype d, wrapped to its range.
func Int(d ir.DType, n int64) *Expr {
	if !d.IsInt() && d != ir.Bool {
		panic(fmt.Sprintf("expr: integer constant of dtype %s", d))
	}
	return &Expr{Op: OpConst, DType: d, Int: Wrap(d, n)}
}

// Float returns a constant of float dtype d, rounded to it.
func Float(d ir.DType, x float64) *Expr {
	if !d.IsFloat() {
		panic(fmt.Sprintf("expr: float constant of dtype %s", d))
	}
	return &Expr{Op: OpConst, DType: d, Float: RoundTo(d, x)}
}

// Num returns the number x as a constant of whatever dtype d.
func Num(d ir.DType, x float64) *Expr {
	if d.IsFloat() {
		return Float(d, x)
	}
	return Const(d, Convert(Value{F: x}, ir.Float64, d))
}

// Bool returns a Bool constant.
func Bool(b bool) *Expr { return Const(ir.Bool, boolValue(b)) }

// Const returns the value v of d as a constant.
func Const(d ir.DType, v Value) *Expr {
	if d.IsFloat() {
		return &Expr{Op: OpConst, DType: d, Float: v.F}
	}
	return &Expr{Op: OpConst, DType: d, Int: v.I}
}

// Idx returns index expression e as a value of dtype d.
func Idx(d ir.DType, e sym.Expr) *Expr {
	if n, ok := e.Const(); ok {
		return Cast(d, Int(ir.Int64, n))
	}
	if d == ir.Int32 || d == ir.Int64 {
		return &Expr{Op: OpIndex, DType: d, Idx: e}
	}
	return Cast(d, &Expr{Op: OpIndex, DType: ir.Int64, Idx: e})
}

// At returns the element of operand k, of dtype d, at coords.
func At(k int, d ir.DType, coords ...sym.Expr) *Expr {
	return &Expr{Op: OpLoad, DType: d, Buf: k, Coords: coords}
}

// Get returns the value of local v.
func Get(v *Var) *Expr { return &Expr{Op: OpLocal, DType: v.DType, Var: v} }

// GetAt returns element i of array local v.
func GetAt(v *Var, i sym.Expr) *Expr {
	return &Expr{Op: OpLocal, DType: v.DType, Var: v, Coords: []sym.Expr{i}}
}

// ScalarRef returns run-time scalar i.
func ScalarRef(i int, d ir.DType) *Expr { return &Expr{Op: OpScalar, DType: d, Buf: i} }

// Add returns a + b.
func Add(a, b *Expr) *Expr { return binary(OpAdd, a, b) }

// Sub returns a - b.
func Sub(a, b *Expr) *Expr { return binary(OpSub, a, b) }

// Mul returns a * b.
func Mul(a, b *Expr) *Expr { return binary(OpMul, a, b) }

// Div returns a / b: truncating on integers, whose divisor must not be zero.
func Div(a, b *Expr) *Expr { return binary(OpDiv, a, b) }

// Rem returns the remainder with the sign of a: fmod on floats.
func Rem(a, b *Expr) *Expr { return binary(OpRem, a, b) }

// Min returns a < b ? a : b; on Bool it is And.
func Min(a, b *Expr) *Expr { return binary(OpMin, a, b) }

// Max returns a > b ? a : b; on Bool it is Or.
func Max(a, b *Expr) *Expr { return binary(OpMax, a, b) }

// And returns the bitwise, on Bool logical, conjunction.
func And(a, b *Expr) *Expr { return binary(OpAnd, a, b) }

// Or returns the bitwise, on Bool logical, disjunction.
func Or(a, b *Expr) *Expr { return binary(OpOr, a, b) }

// Xor returns the bitwise, on Bool logical, exclusive disjunction.
func Xor(a, b *Expr) *Expr { return binary(OpXor, a, b) }

// Shl returns a << b, 0 ≤ b < bits.
func Shl(a, b *Expr) *Expr { return binary(OpShl, a, b) }

// Shr returns a >> b, 0 ≤ b < bits.
func Shr(a, b *Expr) *Expr { return binary(OpShr, a, b) }

// Neg returns -a.
func Neg(a *Expr) *Expr { return unary(OpNeg, a) }

// Abs returns |a|; the smallest integer stays.
func Abs(a *Expr) *Expr { return unary(OpAbs, a) }

// Sqrt returns the correctly rounded square root.
func Sqrt(a *Expr) *Expr { return unary(OpSqrt, a) }

// Floor rounds down.
func Floor(a *Expr) *Expr { return unary(OpFloor, a) }

// Ceil rounds up.
func Ceil(a *Expr) *Expr { return unary(OpCeil, a) }

// Trunc rounds towards zero.
func Trunc(a *Expr) *Expr { return unary(OpTrunc, a) }

// Round rounds to the nearest integer, ties to even.
func Round(a *Expr) *Expr { return unary(OpRound, a) }

// Not returns the bitwise, on Bool logical, complement.
func Not(a *Expr) *Expr { return unary(OpNot, a) }

// FMA returns a*b + c rounded once; Float32 and Float64 only.
func FMA(a, b, c *Expr) *Expr {
	if a.DType != b.DType || a.DType != c.DType || a.DType != ir.Float32 && a.DType != ir.Float64 {
		panic(fmt.Sprintf("expr: fma of %s, %s and %s", a.DType, b.DType, c.DType))
	}
	return fold(&Expr{Op: OpFMA, DType: a.DType, Args: []*Expr{a, b, c}})
}

// Eq returns a == b.
func Eq(a, b *Expr) *Expr { return comparison(OpEq, a, b) }

// Ne returns a != b.
func Ne(a, b *Expr) *Expr { return comparison(OpNe, a, b) }

// Lt returns a < b.
func Lt(a, b *Expr) *Expr { return comparison(OpLt, a, b) }

// Le returns a <= b.
func Le(a, b *Expr) *Expr { return comparison(OpLe, a, b) }

// Gt returns a > b.
func Gt(a, b *Expr) *Expr { return comparison(OpGt, a, b) }

// Ge returns a >= b.
func Ge(a, b *Expr) *Expr { return comparison(OpGe, a, b) }

// IsNaN reports whether a is NaN; on other dtypes it is false.
func IsNaN(a *Expr) *Expr {
	if !a.DType.IsFloat() {
		return Bool(false)
	}
	return Ne(a, a)
}

// Select returns cond ? a : b and evaluates only the one chosen.
func Select(cond, a, b *Expr) *Expr {
	if cond.DType != ir.Bool || a.DType != b.DType {
		panic(fmt.Sprintf("expr: select on %s between %s and %s", cond.DType, a.DType, b.DType))
	}
	switch {
	case cond.Op == OpConst && cond.Int != 0:
		return a
	case cond.Op == OpConst:
		return b
	case a == b:
		return a
	case cond.Op == OpNot:
		return Select(cond.Args[0], b, a)
	}
	return &Expr{Op: OpSelect, DType: a.DType, Args: []*Expr{cond, a, b}}
}

// Cast converts a to d.
func Cast(d ir.DType, a *Expr) *Expr {
	from := a.DType
	switch {
	case from == d:
		return a
	case a.Op == OpConst:
		return Const(d, Convert(Value{I: a.Int, F: a.Float}, from, d))
	case d == ir.Bool && IsNarrow(from):
		return Cast(d, Cast(ir.Float32, a))
	case d == ir.Bool && from.IsFloat():
		return Ne(a, Float(from, 0))
	case d == ir.Bool:
		return Ne(a, Int(from, 0))
	case IsNarrow(d) && from != ir.Float32, IsNarrow(from) && d != ir.Float32:
		return Cast(d, Cast(ir.Float32, a))
	case d == ir.Int32 && a.Op == OpIndex && fitsInt32(a.Idx):
		return &Expr{Op: OpIndex, DType: d, Idx: a.Idx}
	case d == ir.Int64 && a.Op == OpIndex && fitsInt32(a.Idx):
		return &Expr{Op: OpIndex, DType: d, Idx: a.Idx}
	case a.Op == OpCast && viaNothing(d, from, a.Args[0].DType):
		return Cast(d, a.Args[0])
	}
	if !castable(from) || !castable(d) {
		panic(fmt.Sprintf("expr: cast from %s to %s", from, d))
	}
	return &Expr{Op: OpCast, DType: d, Args: []*Expr{a}}
}

func castable(d ir.DType) bool { return d == ir.Bool || d.IsInt() || d.IsFloat() }

// viaNothing reports whether converting from src to mid and on to d is the same
// as converting at once.
func viaNothing(d, mid, src ir.DType) bool {
	switch {
	case d == src && exactInto(src, mid):
		return true
	case IsNarrow(d) || IsNarrow(src): // Float32 is their only door
		return false
	case src.IsInt() && mid.IsInt() && d.IsInt() && d.Size() <= mid.Size():
		return true
	}
	return exactInto(src, mid)
}

// exactInto reports whether every value of from is a value of to.
func exactInto(from, to ir.DType) bool {
	switch {
	case from == to:
		return true
	case from == ir.Bool:
		return true
	case from.IsInt() && to.IsInt():
		if from.IsUnsigned() == to.IsUnsigned() {
			return from.Size() <= to.Size()
		}
		return from.IsUnsigned() && from.Size() < to.Size()
	case from.IsInt() && to == ir.Float32:
		return from.Size() <= 2
	case from.IsInt() && to == ir.Float64:
		return from.Size() <= 4
	case IsNarrow(from):
		return to == ir.Float32 || to == ir.Float64
	case from == ir.Float32:
		return to == ir.Float64
	}
	return false
}

// Bitcast reinterprets the bits of a as d, which must have the same size.
func Bitcast(d ir.DType, a *Expr) *Expr {
	if d == a.DType {
		return a
	}
	if d.Size() != a.DType.Size() || !castable(d) || !castable(a.DType) {
		panic(fmt.Sprintf("expr: bitcast from %s to %s", a.DType, d))
	}
	if a.Op == OpConst {
		return Const(d, bitcast(Value{I: a.Int, F: a.Float}, a.DType, d))
	}
	return &Expr{Op: OpBitcast, DType: d, Args: []*Expr{a}}
}

// CallFn returns fn of args.
func CallFn(fn *Func, args ...*Expr) *Expr {
	if len(args) != len(fn.Params) {
		panic(fmt.Sprintf("expr: %s takes %d arguments, not %d", fn.Name, len(fn.Params),
			len(args)))
	}
	for i, a := range args {
		if a.DType != fn.Params[i].DType {
			panic(fmt.Sprintf("expr: argument %d of %s is %s, not %s", i, fn.Name, a.DType,
				fn.Params[i].DType))
		}
	}
	return &Expr{Op: OpCall, DType: fn.Body.DType, Fn: fn, Args: args}
}

// IsZero reports whether e is a constant number whose bytes are all zero.
func IsZero(e *Expr) bool {
	if e.Op != OpConst {
		return false
	}
	if e.DType.IsFloat() {
		return e.Float == 0 && 1/e.Float > 0
	}
	return e.Int == 0 && e.DType != ir.Bool
}

// Sum adds body over all values of vars. Narrow floats are accumulated in
// Float32 and rounded once.
func Sum(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceSum, vars, body) }

// SumInOrder adds body over all values of vars in their order, one after the other. Other sums of
// floats may be added up in parts.
func SumInOrder(vars []*sym.Symbol, body *Expr) *Expr {
	e := Sum(vars, body)
	if e.Op == OpReduce {
		e.InOrder = true
	}
	return e
}

// Prod multiplies body over all values of vars.
func Prod(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceProd, vars, body) }

// MaxOf returns the largest body over vars, NaN if there is one; on Bool: any.
func MaxOf(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceMax, vars, body) }

// MinOf returns the smallest body over vars, NaN if there is one; on Bool: all.
func MinOf(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceMin, vars, body) }

// ArgMax returns the Int64 position of the first largest body.
func ArgMax(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceArgMax, vars, body) }

// ArgMin returns the Int64 position of the first smallest body.
func ArgMin(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceArgMin, vars, body) }

// ArgMaxLastNaN returns the Int64 position of the last NaN among body, else of
// the first largest one.
func ArgMaxLastNaN(vars []*sym.Symbol, body *Expr) *Expr {
	return Reduction(ReduceArgMaxLastNaN, vars, body)
}

// IsArg reports whether k gives a position.
func (k ReduceKind) IsArg() bool { return k >= ReduceArgMax }

// Reduction combines body over all values of vars, which it binds. Without
// vars it is body itself (0 if kind gives a position).
func Reduction(kind ReduceKind, vars []*sym.Symbol, body *Expr) *Expr {
	arg := kind.IsArg()
	d := body.DType
	switch {
	case len(vars) == 0 && arg:
		return Int(ir.Int64, 0)
	case len(vars) == 0:
		return body
	case !castable(d) || d == ir.Bool && (kind == ReduceSum || kind == ReduceProd):
		panic(fmt.Sprintf("expr: %s over %s", kind, d))
	case IsNarrow(d):
		r := Reduction(kind, vars, Cast(ir.Float32, body))
		if arg {
			return r
		}
		return Cast(d, r)
	case arg:
		if d == ir.Bool { // Bool has no order of its own
			body = Cast(ir.Uint8, body)
		}
		d = ir.Int64
	}
	return &Expr{Op: OpReduce, DType: d, Kind: kind, Vars: vars, Args: []*Expr{body}}
}

// Neutral returns what changes nothing when combined by k with a value of d: the
// result over no values.
func Neutral(k ReduceKind, d ir.DType) *Expr {
	switch k {
	case ReduceSum:
		return Num(d, 0)
	case ReduceProd:
		return Num(d, 1)
	}
	low := k != ReduceMin && k != ReduceArgMin
	switch {
	case d.IsFloat() && low:
		return Float(d, math.Inf(-1))
	case d.IsFloat():
		return Float(d, math.Inf(1))
	case d == ir.Bool:
		return Bool(!low)
	}
	lowest, highest := IntRange(d)
	if low {
		return Int(d, lowest)
	}
	return Int(d, highest)
}
