package expr

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// Neutral returns what changes nothing when combined by k with a value of d: the
// result over no values.
func Neutral(k ReduceKind, d ir.DType) *Expr {
	switch k {
	case ReduceSum:
		return Num(d, 0)
	case ReduceProd:
		return Num(d, 1)
	}
	low := k == ReduceMax || k == ReduceArgMax
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
