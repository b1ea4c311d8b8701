package golang

import (
	"fmt"
	"math"
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

// literal returns the constant e as Go text and whether the text is an untyped
// constant, which only has e's type where the context gives it.
func literal(e *expr.Expr) (text string, untyped bool) {
	d := e.DType
	switch {
	case d == ir.Bool:
		return strconv.FormatBool(e.Int != 0), false
	case isHalf(d):
		return fmt.Sprintf("%#04x", half.FromFloat32(d, float32(e.Float))), true
	case d == ir.Uint64:
		return strconv.FormatUint(uint64(e.Int), 10), true
	case d.IsInt():
		return strconv.FormatInt(e.Int, 10), true
	}
	return floatLiteral(d, e.Float)
}

func floatLiteral(d ir.DType, x float64) (text string, untyped bool) {
	switch {
	case math.IsNaN(x):
		text = "math.NaN()"
	case math.IsInf(x, 1):
		text = "math.Inf(1)"
	case math.IsInf(x, -1):
		text = "math.Inf(-1)"
	case x == 0 && math.Signbit(x):
		text = "math.Copysign(0, -1)"
	case d == ir.Float32:
		return strconv.FormatFloat(x, 'g', -1, 32), true
	case d == ir.Float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	default:
		fail("Go output has no constants of dtype %s", d)
	}
	if d == ir.Float32 {
		text = "float32(" + text + ")"
	}
	return text, false
}

// typedLiteral is literal with a conversion where the text has no type.
func typedLiteral(e *expr.Expr) string {
	text, untyped := literal(e)
	if untyped && !(e.DType == ir.Float64 && isFloatText(text)) {
		return goType(e.DType) + "(" + text + ")"
	}
	return text
}

// isFloatText reports whether an untyped constant is a float64 by default.
func isFloatText(s string) bool {
	for _, r := range s {
		if r == '.' || r == 'e' {
			return true
		}
	}
	return false
}
