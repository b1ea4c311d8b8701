package c

import (
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

// prec is the precedence of a C operator, higher binding tighter.
type prec uint8

const (
	precTernary prec = iota + 1
	precOrElse
	precAndAlso
	precOr
	precXor
	precAnd
	precEqual
	precCompare
	precShift
	precAdd
	precMul
	precUnary
	precPostfix
)

// code is the text of a C expression.
type code struct {
	s string
	p prec
	t ctype
	// literal: a number whose value is known to the compiler, which then does
	// not warn about narrowing it.
	literal bool
	named   bool // a name, or what names are negated
}

// at returns the text in parentheses unless it binds at least as tightly as p.
func (c code) at(p prec) string {
	if c.p < p {
		return "(" + c.s + ")"
	}
	return c.s
}

// simple reports whether the text may stand twice: a name or a number.
func (c code) simple() bool {
	return c.literal || c.named
}

// opPrec are the binary operators.
var opPrec = map[string]prec{
	"*": precMul, "/": precMul, "%": precMul, "+": precAdd, "-": precAdd,
	"<<": precShift, ">>": precShift,
	"<": precCompare, "<=": precCompare, ">": precCompare, ">=": precCompare,
	"==": precEqual, "!=": precEqual,
	"&": precAnd, "^": precXor, "|": precOr, "&&": precAndAlso, "||": precOrElse,
}

// join returns a op b of type t. Arithmetic binds tighter than all else, as in
// mathematics; where other operators meet there are parentheses, needed or not. A chain of
// one operator has none, but for comparisons and shifts.
func join(op string, a, b code, t ctype) code {
	p := opPrec[op]
	if p != precShift {
		a, b = shortLiteral(a, b), shortLiteral(b, a)
	}
	left, right := precUnary, precUnary
	switch p {
	case precMul, precAdd:
		left, right = p, p+1
	case precCompare, precEqual:
		left, right = precAdd, precAdd
		if strings.HasPrefix(a.s, "!") { // compilers warn
			left = precPostfix
		}
	case precAnd, precXor, precOr, precAndAlso, precOrElse:
		if a.p == p {
			left = p
		}
	}
	return code{s: a.at(left) + " " + op + " " + b.at(right), p: p, t: t}
}

// anyOf returns the test that one of several holds; without any, an empty text.
func anyOf(tests []code) code {
	var all code
	for i, test := range tests {
		if i == 0 {
			all = test
		} else {
			all = join("||", all, test, tBool)
		}
	}
	return all
}

// shortLiteral writes a small number without its cast if what it meets makes C
// widen it anyway.
func shortLiteral(c, other code) code {
	if n, wide := strings.CutPrefix(c.s, wideLiteral); wide && c.literal && !other.literal &&
		other.t == tU64 {
		c.s, c.p = n+"u", precPostfix
	}
	return c
}

// cast returns (t)c.
func cast(t ctype, c code) code {
	return code{s: "(" + t.String() + ")" + c.at(precUnary), p: precUnary, t: t}
}

// call returns name(args).
func call(name string, t ctype, args ...code) code {
	list := seq.Map(args, func(a code) string { return a.s })
	return code{s: name + "(" + strings.Join(list, ", ") + ")", p: precPostfix, t: t}
}

// ternary returns c ? a : b.
func ternary(c, a, b code, t ctype) code {
	last := precAdd
	if b.p == precTernary { // one after the other
		last = precTernary
	}
	return code{s: c.at(precUnary) + " ? " + a.at(precAdd) + " : " + b.at(last),
		p: precTernary, t: t}
}

// negate returns -c.
func negate(c code) code {
	s := c.at(precUnary)
	if strings.HasPrefix(s, "-") {
		s = "(" + s + ")"
	}
	return code{s: "-" + s, p: precUnary, t: promote(c.t, c.t), literal: c.literal, named: c.named}
}

// name returns a name as code.
func name(s string, t ctype) code { return code{s: s, p: precPostfix, t: t, named: true} }

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
	t := typeOf(e.DType)
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
	t := typeOf(d)
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

// ctypes are the types of values. Narrow floats are their bits.
var ctypes = map[ir.DType]ctype{
	ir.Bool: tBool, ir.Int8: tI8, ir.Uint8: tU8, ir.Int16: tI16, ir.Uint16: tU16,
	ir.Int32: tI32, ir.Uint32: tU32, ir.Int64: tI64, ir.Uint64: tU64,
	ir.Float32: tF32, ir.Float64: tF64, ir.Float16: tU16, ir.BFloat16: tU16,
}

// typeOf returns the type of values of dtype d.
func typeOf(d ir.DType) ctype {
	t, ok := ctypes[d]
	if !ok && expr.IsNarrow(d) {
		return tU8
	}
	if !ok {
		must.Fail("C output has no dtype %s", d)
	}
	return t
}

// storageOf returns the type of elements in memory. A bool takes one byte, 0 or
// 1: C's own bool may be wider and must not hold anything else, so bytes from
// outside could not be looked at.
func storageOf(d ir.DType) ctype {
	if d == ir.Bool {
		return tU8
	}
	return typeOf(d)
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
