package c

import (
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

// wideLiteral is in front of small numbers of type uint64_t.
const wideLiteral = "(uint64_t)"

// intLiteral returns n as a literal of an integer type.
func intLiteral(n int64, t ctype) code {
	lit := func(s string, t ctype) code {
		p := precPostfix
		if strings.HasPrefix(s, "-") {
			p = precUnary
		}
		return code{s: s, p: p, t: t, literal: true}
	}
	switch {
	case t == tBool && n == 0:
		return lit("false", tBool)
	case t == tBool:
		return lit("true", tBool)
	case t == tU64 && uint64(n) <= math.MaxUint32: // the number alone would be narrower
		return code{s: wideLiteral + strconv.FormatInt(n, 10), p: precUnary, t: tU64, literal: true}
	case t == tU64:
		return lit(strconv.FormatUint(uint64(n), 10)+"u", tU64)
	case t == tU32:
		return lit(strconv.FormatInt(n, 10)+"u", tU32)
	case n == math.MinInt64:
		return lit("INT64_MIN", tI64)
	case n == math.MinInt32:
		return lit("INT32_MIN", tI32)
	case n < math.MinInt32 || n > math.MaxInt32:
		return lit(strconv.FormatInt(n, 10), tI64)
	}
	return lit(strconv.FormatInt(n, 10), tI32)
}

// constant returns a Const node as C.
func (g *gen) constant(e *expr.Expr) code {
	t, _ := typeOf(e.DType)
	switch {
	case expr.IsNarrow(e.DType):
		bits := half.FromFloat32(e.DType, float32(e.Float))
		return code{s: hexLiteral(uint64(bits), e.DType.Size()), p: precPostfix, t: t,
			literal: true}
	case e.DType.IsFloat():
		return g.float(e.Float, e.DType)
	}
	return intLiteral(e.Int, t)
}

func hexLiteral(bits uint64, bytes int) string {
	s := strconv.FormatUint(bits, 16)
	return "0x" + strings.Repeat("0", 2*bytes-len(s)) + s
}

// float returns a float constant, exact: the shortest decimal that reads back
// as the same value.
func (g *gen) float(x float64, d ir.DType) code {
	t, _ := typeOf(d)
	switch {
	case x != x:
		return name(g.macro("NAN", t), t)
	case math.IsInf(x, 1):
		return name(g.macro("INF", t), t)
	case math.IsInf(x, -1):
		return negate(name(g.macro("INF", t), t))
	}
	s := floatText(x, t)
	p := precPostfix
	if strings.HasPrefix(s, "-") {
		p = precUnary
	}
	return code{s: s, p: p, t: t, literal: true}
}

// floatText returns a finite number as a C literal of type tF32 or tF64.
func floatText(x float64, t ctype) string {
	bits, suffix := 64, ""
	if t == tF32 {
		bits, suffix = 32, "f"
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if a := math.Abs(x); a == 0 || a >= 1e-3 && a < 1e7 {
		s = strconv.FormatFloat(x, 'f', -1, bits)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s + suffix
}
