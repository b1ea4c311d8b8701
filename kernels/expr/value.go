package expr

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
)

// Value is a scalar at run time. Of integer and Bool dtypes I is meaningful
// (Uint64 by its bits, Bool 0 or 1), of floats F, which always is a value that
// the dtype can represent.
type Value struct {
	I int64
	F float64
}

// Apply computes one operation: the definition of the arithmetic that every
// reader of expressions follows. d is the node's dtype, from that of its
// operands. It covers every operation from OpAdd to OpCast; Select evaluates
// its condition only on values it was given.
func Apply(op Op, d, from ir.DType, args ...Value) (Value, error) {
	switch {
	case op == OpSelect:
		if args[0].I != 0 {
			return args[1], nil
		}
		return args[2], nil
	case op == OpCast:
		return Convert(args[0], from, d), nil
	case op == OpBitcast:
		return bitcast(args[0], from, d), nil
	case op >= OpEq && op <= OpGe:
		return boolValue(compare(op, from, args[0], args[1])), nil
	case d.IsFloat():
		return applyFloat(op, d, args)
	case d == ir.Bool:
		return applyBool(op, args)
	case d.IsInt():
		return applyInt(op, d, args)
	}
	return Value{}, fmt.Errorf("no operation %s on %s", op, d)
}

// How two numbers may stand to each other. Unordered are those of which one is NaN.
const (
	less = 1 << iota
	equal
	greater
	unordered
)

// holds are the relations in which a comparison is true.
var holds = [...]uint8{OpEq: equal, OpNe: less | greater | unordered, OpLt: less,
	OpLe: less | equal, OpGt: greater, OpGe: greater | equal}

func compare(op Op, d ir.DType, a, b Value) bool {
	switch {
	case d.IsFloat():
		return holds[op]&relation(a.F, b.F) != 0
	case d == ir.Uint64:
		return holds[op]&relation(uint64(a.I), uint64(b.I)) != 0
	}
	return holds[op]&relation(a.I, b.I) != 0
}

func relation[T float64 | int64 | uint64](a, b T) uint8 {
	switch {
	case a < b:
		return less
	case a == b:
		return equal
	case a > b:
		return greater
	}
	return unordered
}

func applyBool(op Op, args []Value) (Value, error) {
	a := args[0].I
	switch op {
	case OpNot:
		return Value{I: a ^ 1}, nil
	case OpAnd:
		return Value{I: a & args[1].I}, nil
	case OpOr:
		return Value{I: a | args[1].I}, nil
	case OpXor:
		return Value{I: a ^ args[1].I}, nil
	}
	return Value{}, fmt.Errorf("no operation %s on bool", op)
}

func applyInt(op Op, d ir.DType, args []Value) (Value, error) {
	a := args[0].I
	var b int64
	if len(args) > 1 {
		b = args[1].I
	}
	var r int64
	switch op {
	case OpAdd:
		r = a + b
	case OpSub:
		r = a - b
	case OpMul:
		r = a * b
	case OpDiv, OpRem:
		if b == 0 {
			return Value{}, fmt.Errorf("integer division by zero")
		}
		switch {
		case d == ir.Uint64 && op == OpDiv:
			r = int64(uint64(a) / uint64(b))
		case d == ir.Uint64:
			r = int64(uint64(a) % uint64(b))
		case op == OpDiv:
			r = a / b
		default:
			r = a % b
		}
	case OpNeg:
		r = -a
	case OpAbs:
		r = a
		if a < 0 && !d.IsUnsigned() {
			r = -a
		}
	case OpMin, OpMax:
		less := a < b
		if d == ir.Uint64 {
			less = uint64(a) < uint64(b)
		}
		r = b
		if less == (op == OpMin) {
			r = a
		}
	case OpAnd:
		r = a & b
	case OpOr:
		r = a | b
	case OpXor:
		r = a ^ b
	case OpNot:
		r = ^a
	case OpShl, OpShr:
		if b < 0 || b >= int64(8*d.Size()) {
			return Value{}, fmt.Errorf("shift of %s by %d bits", d, b)
		}
		switch {
		case op == OpShl:
			r = a << uint(b)
		case d == ir.Uint64:
			r = int64(uint64(a) >> uint(b))
		default:
			r = a >> uint(b)
		}
	default:
		return Value{}, fmt.Errorf("no operation %s on %s", op, d)
	}
	return Value{I: Wrap(d, r)}, nil
}

// applyFloat computes in float64 and rounds to d, which equals rounding the
// exact result once: 53 bits are at least twice float32's 24 plus two. FMA is
// the exception and takes care itself.
func applyFloat(op Op, d ir.DType, args []Value) (Value, error) {
	a := args[0].F
	var b float64
	if len(args) > 1 {
		b = args[1].F
	}
	var r float64
	switch op {
	case OpAdd:
		r = a + b
	case OpSub:
		r = a - b
	case OpMul:
		r = a * b
	case OpDiv:
		r = a / b
	case OpRem:
		r = math.Mod(a, b)
	case OpNeg:
		r = -a
	case OpAbs:
		r = math.Abs(a)
	case OpMin:
		r = b
		if a < b {
			r = a
		}
	case OpMax:
		r = b
		if a > b {
			r = a
		}
	case OpFMA:
		if d == ir.Float64 {
			r = math.FMA(a, b, args[2].F)
		} else {
			r = FMA32(a, b, args[2].F)
		}
	case OpSqrt:
		r = math.Sqrt(a)
	case OpFloor:
		r = math.Floor(a)
	case OpCeil:
		r = math.Ceil(a)
	case OpTrunc:
		r = math.Trunc(a)
	case OpRound:
		r = math.RoundToEven(a)
	default:
		return Value{}, fmt.Errorf("no operation %s on %s", op, d)
	}
	return Value{F: RoundTo(d, r)}, nil
}

// FMA32 returns a*b+c for float32 values rounded to float64 such that rounding
// on to float32 gives the once-rounded result: it rounds to odd.
func FMA32(a, b, c float64) float64 {
	p := a * b // exact: 48 bits
	s := p + c
	t := s - p
	e := (p - (s - t)) + (c - t) // the exact error of s
	if e == 0 || math.IsNaN(e) || math.IsInf(s, 0) {
		return s
	}
	if bits := math.Float64bits(s); bits&1 == 0 {
		if (e > 0) == (s > 0) {
			return math.Float64frombits(bits + 1)
		}
		return math.Float64frombits(bits - 1)
	}
	return s
}
