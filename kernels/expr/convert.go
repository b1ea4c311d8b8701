package expr

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/half"
)

// Convert converts v from one dtype to another.
func Convert(v Value, from, to ir.DType) Value {
	switch {
	case from.IsFloat() && to.IsFloat():
		return Value{F: RoundTo(to, v.F)}
	case from.IsFloat() && to == ir.Bool:
		return boolValue(v.F != 0)
	case from.IsFloat():
		return Value{I: Wrap(to, floatToInt(v.F, to))}
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

// floatToInt truncates x for a conversion to d. What does not fit, and NaN,
// gives what x86 gives and PyTorch on it: the smallest int32 for types of up to
// 32 bits but uint32, which keep its low bits; the smallest int64 for uint32
// and int64; and for uint64 too, above whose range of int64 it is exact.
func floatToInt(x float64, d ir.DType) int64 {
	switch d {
	case ir.Uint32, ir.Int64:
		if x >= -0x1p63 && x < 0x1p63 {
			return int64(x)
		}
		return math.MinInt64
	case ir.Uint64:
		switch {
		case x >= -0x1p63 && x < 0x1p63:
			return int64(x)
		case x >= 0x1p63 && x < 0x1p64:
			return int64(uint64(x))
		}
		return math.MinInt64
	}
	if x > -0x1p31-1 && x < 0x1p31 {
		return int64(x)
	}
	return math.MinInt32
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
	unused := 64 - 8*uint(d.Size())
	switch {
	case d == ir.Bool:
		return boolValue(n != 0).I
	case d.IsUnsigned():
		return int64(uint64(n) << unused >> unused)
	}
	return n << unused >> unused
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

func bitcast(v Value, from, to ir.DType) Value { return FromBits(to, Bits(from, v)) }

// Bits returns the bits by which memory holds v, a value of d: the low ones.
func Bits(d ir.DType, v Value) uint64 {
	switch {
	case d == ir.Float64:
		return math.Float64bits(v.F)
	case d == ir.Float32:
		return uint64(math.Float32bits(float32(v.F)))
	case IsNarrow(d):
		return uint64(half.FromFloat32(d, float32(v.F)))
	}
	return uint64(v.I)
}

// FromBits returns the value of d that memory holds by b.
func FromBits(d ir.DType, b uint64) Value {
	switch {
	case d == ir.Float64:
		return Value{F: math.Float64frombits(b)}
	case d == ir.Float32:
		return Value{F: float64(math.Float32frombits(uint32(b)))}
	case IsNarrow(d):
		return Value{F: float64(half.ToFloat32(d, uint16(b)))}
	}
	return Value{I: Wrap(d, int64(b))}
}

// IsNarrow reports whether d is a float narrower than float32. Values of such
// types are only loaded, stored, chosen between and converted from and to
// Float32; the constructors spell arithmetic on them as arithmetic on Float32
// rounded back, which is what eager PyTorch computes.
func IsNarrow(d ir.DType) bool { return half.Is(d) }

// RoundTo rounds x to float dtype d: to narrow types by way of float32.
func RoundTo(d ir.DType, x float64) float64 {
	switch {
	case d == ir.Float32:
		return float64(float32(x))
	case half.Is(d):
		return float64(half.ToFloat32(d, half.FromFloat32(d, float32(x))))
	}
	return x
}

// InRange returns lo <= idx < hi, as a constant if that can be told.
func InRange(idx, lo, hi sym.Expr) *Expr { return And(IdxLe(lo, idx), IdxLt(idx, hi)) }

// IdxLt returns a < b of index expressions, as a constant if that can be told.
func IdxLt(a, b sym.Expr) *Expr { return idxCompare(OpLt, a, b, 1) }

// IdxLe returns a <= b of index expressions, as a constant if that can be told.
func IdxLe(a, b sym.Expr) *Expr { return idxCompare(OpLe, a, b, 0) }

// idxCompare returns a op b, which means b - a >= gap.
func idxCompare(op Op, a, b sym.Expr, gap int64) *Expr {
	switch {
	case gap == 1 && sym.Less(a, b), gap == 0 && sym.LessEq(a, b):
		return Bool(true)
	case gap == 1 && sym.LessEq(b, a), gap == 0 && sym.Less(b, a):
		return Bool(false)
	}
	d := ir.Int64
	if fitsInt32(a) && fitsInt32(b) {
		d = ir.Int32
	}
	return comparison(op, Idx(d, a), Idx(d, b))
}

func fitsInt32(e sym.Expr) bool {
	return sym.NonNegative(sym.Sub(sym.Int(math.MaxInt32), e)) &&
		sym.NonNegative(sym.Sub(e, sym.Int(math.MinInt32)))
}
