package c

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// ctype is the type a C expression has.
type ctype uint8

// The types. Narrow floats are held by their bits, as tU16 or tU8.
const (
	tBool ctype = iota
	tI8
	tU8
	tI16
	tU16
	tI32
	tU32
	tI64
	tU64
	tF32
	tF64
)

var ctypeNames = [...]string{
	tBool: "bool", tI8: "int8_t", tU8: "uint8_t", tI16: "int16_t", tU16: "uint16_t",
	tI32: "int32_t", tU32: "uint32_t", tI64: "int64_t", tU64: "uint64_t",
	tF32: "float", tF64: "double",
}

func (t ctype) String() string { return ctypeNames[t] }

// typeOf returns the type of values of dtype d.
func typeOf(d ir.DType) (ctype, bool) {
	switch d {
	case ir.Bool:
		return tBool, true
	case ir.Int8:
		return tI8, true
	case ir.Uint8:
		return tU8, true
	case ir.Int16:
		return tI16, true
	case ir.Uint16:
		return tU16, true
	case ir.Int32:
		return tI32, true
	case ir.Uint32:
		return tU32, true
	case ir.Int64:
		return tI64, true
	case ir.Uint64:
		return tU64, true
	case ir.Float32:
		return tF32, true
	case ir.Float64:
		return tF64, true
	}
	if expr.IsNarrow(d) {
		if d.Size() == 1 {
			return tU8, true
		}
		return tU16, true
	}
	return tBool, false
}

// storageOf returns the type of elements in memory. A bool takes one byte, 0 or
// 1: C's own bool may be wider and must not hold anything else, so bytes from
// outside could not be looked at.
func storageOf(d ir.DType) (ctype, bool) {
	t, ok := typeOf(d)
	if t == tBool {
		t = tU8
	}
	return t, ok
}

func (t ctype) isInt() bool    { return t < tF32 }
func (t ctype) isSigned() bool { return t == tI8 || t == tI16 || t == tI32 || t == tI64 }

// rank orders integer types by width.
func (t ctype) bits() int {
	switch t {
	case tBool:
		return 1
	case tI8, tU8:
		return 8
	case tI16, tU16:
		return 16
	case tI32, tU32, tF32:
		return 32
	}
	return 64
}

// promote returns the type arithmetic on operands of types a and b is done in.
// The language's int has 32 bits on every machine etgen is for.
func promote(a, b ctype) ctype {
	if !a.isInt() || !b.isInt() {
		return max(a, b)
	}
	t := max(a, b)
	if t < tI32 {
		return tI32
	}
	return t
}

// unsigned returns the unsigned type in which integers of dtype d are computed
// where they may wrap around.
func unsigned(d ir.DType) ctype {
	if d.Size() == 8 {
		return tU64
	}
	return tU32
}

// rangeOf returns the values of an integer type; of tU64 only those that fit
// int64.
func rangeOf(t ctype) interval {
	switch {
	case t == tBool:
		return interval{0, 1}
	case t == tU64:
		return interval{0, math.MaxInt64}
	case t.isSigned():
		return interval{-1 << (t.bits() - 1), 1<<(t.bits()-1) - 1}
	}
	return interval{0, 1<<t.bits() - 1}
}

// holdsAll reports whether every value of u is one of t, so that C converts
// without a cast and without a warning.
func (t ctype) holdsAll(u ctype) bool {
	switch {
	case t == u || u == tBool:
		return true
	case !t.isInt() || !u.isInt() || t == tBool:
		return false
	case t.isSigned() == u.isSigned():
		return u.bits() <= t.bits()
	}
	return t.isSigned() && u.bits() < t.bits()
}
