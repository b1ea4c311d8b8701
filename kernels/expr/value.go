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

// Convert gives v of dtype from as dtype to. Floats outside the range of an
// integer type give some value of it.
func Convert(v Value, from, to ir.DType) Value {
	switch {
	case from.IsFloat() && to.IsFloat():
		return Value{F: RoundTo(to, v.F)}
	case from.IsFloat() && to == ir.Bool:
		return boolValue(v.F != 0)
	case from.IsFloat():
		return Value{I: Wrap(to, floatToInt(v.F))}
	case to.IsFloat() && from == ir.Uint64:
		return Value{F: intToFloat(to, uint64(v.I), false)}
	case to.IsFloat() && v.I < 0:
		return Value{F: intToFloat(to, -uint64(v.I), true)}
	case to.IsFloat():
		return Value{F: intToFloat(to, uint64(v.I), false)}
	case to == ir.Bool:
		return boolValue(v.I != 0)
	}
	return Value{I: Wrap(to, v.I)}
}

// floatToInt truncates; outside of ±2^63 it gives bits of a uint64 or the
// smallest integer, as x86 does.
func floatToInt(x float64) int64 {
	switch {
	case x >= -0x1p63 && x < 0x1p63:
		return int64(x)
	case x >= 0x1p63 && x < 0x1p64:
		return int64(uint64(x))
	}
	return math.MinInt64
}

// intToFloat rounds once, also to float32.
func intToFloat(d ir.DType, mag uint64, neg bool) float64 {
	var f float64
	if d == ir.Float64 {
		f = float64(mag)
	} else {
		f = RoundTo(d, float64(float32(mag)))
	}
	if neg {
		f = -f
	}
	return f
}

// Wrap reduces n to the range of integer dtype d, two's complement. Bool is
// n != 0.
func Wrap(d ir.DType, n int64) int64 {
	switch d {
	case ir.Bool:
		if n != 0 {
			return 1
		}
		return 0
	case ir.Int8:
		return int64(int8(n))
	case ir.Uint8:
		return int64(uint8(n))
	case ir.Int16:
		return int64(int16(n))
	case ir.Uint16:
		return int64(uint16(n))
	case ir.Int32:
		return int64(int32(n))
	case ir.Uint32:
		return int64(uint32(n))
	}
	return n
}

// IntRange returns the smallest and the largest value of integer dtype d as
// Const holds them.
func IntRange(d ir.DType) (lowest, highest int64) {
	bits := uint(8 * d.Size())
	switch {
	case d == ir.Uint64:
		return 0, -1
	case d.IsUnsigned():
		return 0, 1<<bits - 1
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

func boolValue(b bool) Value {
	if b {
		return Value{I: 1}
	}
	return Value{}
}

func bitcast(v Value, from, to ir.DType) Value {
	return fromBits(to, toBits(from, v))
}

func toBits(d ir.DType, v Value) uint64 {
	switch {
	case d == ir.Float64:
		return math.Float64bits(v.F)
	case d == ir.Float32:
		return uint64(math.Float32bits(float32(v.F)))
	case IsNarrow(d):
		return uint64(narrowBits(d, v.F))
	}
	return uint64(v.I)
}

func fromBits(d ir.DType, b uint64) Value {
	switch {
	case d == ir.Float64:
		return Value{F: math.Float64frombits(b)}
	case d == ir.Float32:
		return Value{F: float64(math.Float32frombits(uint32(b)))}
	case IsNarrow(d):
		return Value{F: narrowValue(d, uint16(b))}
	}
	return Value{I: Wrap(d, int64(b))}
}

func compare(op Op, d ir.DType, a, b Value) bool {
	var lt, eq bool
	switch {
	case d.IsFloat():
		lt, eq = a.F < b.F, a.F == b.F
		if a.F != a.F || b.F != b.F {
			return op == OpNe
		}
	case d == ir.Uint64:
		lt, eq = uint64(a.I) < uint64(b.I), a.I == b.I
	default:
		lt, eq = a.I < b.I, a.I == b.I
	}
	switch op {
	case OpEq:
		return eq
	case OpNe:
		return !eq
	case OpLt:
		return lt
	case OpLe:
		return lt || eq
	case OpGt:
		return !lt && !eq
	}
	return !lt
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
