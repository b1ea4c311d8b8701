package golang

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

// text is Go text with the precedence of its outermost operator.
type text struct {
	s    string
	prec int
}

func (t text) at(prec int) string { return paren(t.s, t.prec, prec) }

// value returns e as an operand where precedence prec is needed. What Go has no
// expression for (a choice) is written as statements before.
func (p *printer) value(e *expr.Expr, prec int) string {
	t := p.expr(e)
	if prec > precAny && len(t.s) >= maxText && e.DType.IsFloat() && e.Op >= expr.OpAdd &&
		e.Op <= expr.OpDiv {
		t = p.name(t)
	}
	return t.at(prec)
}

// maxText is the length of an operand that gets a name of its own.
const maxText = 70

// name gives an expression a name, before the statement it is part of.
func (p *printer) name(t text) text {
	name := p.scope.Take("s")
	p.line("%s := %s", name, t.s)
	return text{name, precUnary}
}

// arg returns e where any expression may stand.
func (p *printer) arg(e *expr.Expr) string { return p.value(e, precAny) }

func (p *printer) expr(e *expr.Expr) text {
	switch e.Op {
	case expr.OpConst:
		s, _ := literal(e)
		if strings.HasPrefix(s, "-") {
			return text{s, precUnary - 1}
		}
		return text{s, precUnary}
	case expr.OpIndex:
		return text{goType(e.DType) + "(" + p.index(e.Idx, precAny) + ")", precUnary}
	case expr.OpLoad:
		return text{p.element(e), precUnary}
	case expr.OpLocal:
		s := p.varName(e.Var)
		if e.Var.Len > 0 {
			s += "[" + p.index(e.Coords[0], precAny) + "]"
		}
		return text{s, precUnary}
	case expr.OpScalar:
		return text{p.scalar(e), precUnary}
	case expr.OpSelect:
		return text{p.choice(e), precUnary}
	case expr.OpCast:
		return p.cast(e)
	case expr.OpBitcast:
		return p.bitcast(e)
	case expr.OpCall:
		args := seq.Map(e.Args, p.arg)
		return text{p.unit.function(e.Fn) + "(" + strings.Join(args, ", ") + ")", precUnary}
	case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return p.binary(codegen.Comparisons[e.Op], precCompare, e)
	}
	switch d := e.DType; {
	case d == ir.Bool:
		return p.boolean(e)
	case d == ir.Float32 || d == ir.Float64:
		return p.float(e)
	case d.IsInt():
		return p.integer(e)
	}
	must.Fail("Go output has no operation %s on %s", e.Op, e.DType)
	return text{}
}

// binary writes a left-associative operation; a comparison is not an operand
// of another.
func (p *printer) binary(op string, prec int, e *expr.Expr) text {
	left := prec
	if prec == precCompare {
		left++
	}
	a := p.value(e.Args[0], left)
	return text{a + " " + op + " " + p.value(e.Args[1], prec+1), prec}
}

func (p *printer) boolean(e *expr.Expr) text {
	switch e.Op {
	case expr.OpAnd:
		return p.binary("&&", precAnd, e)
	case expr.OpOr:
		return p.binary("||", precOr, e)
	case expr.OpXor:
		return p.binary("!=", precCompare, e)
	case expr.OpNot:
		return text{"!" + p.value(e.Args[0], precUnary), precUnary}
	}
	must.Fail("Go output has no operation %s on bool", e.Op)
	return text{}
}

// float writes arithmetic on floats. The result of a product is converted to
// its own type wherever an addition could follow: without that Go may fuse
// the two, as arm64 does, and round only once.
func (p *printer) float(e *expr.Expr) text {
	t := goType(e.DType)
	switch e.Op {
	case expr.OpAdd:
		if y := e.Args[1]; y.Op == expr.OpConst && y.Float < 0 {
			return text{p.value(e.Args[0], precAdd) + " - " + p.value(expr.Neg(y), precAdd+1),
				precAdd}
		}
		return p.binary("+", precAdd, e)
	case expr.OpSub:
		return p.binary("-", precAdd, e)
	case expr.OpMul:
		m := p.product(e)
		if p.fusible {
			return text{t + "(" + m.s + ")", precUnary}
		}
		return m
	case expr.OpDiv:
		return p.product(e)
	case expr.OpNeg:
		return text{"-" + p.value(e.Args[0], precUnary), precUnary}
	case expr.OpMin, expr.OpMax:
		name := "Lesser"
		if e.Op == expr.OpMax {
			name = "Greater"
		}
		return p.call(p.helper(name), e)
	case expr.OpFMA:
		if e.DType == ir.Float32 {
			return p.call(p.helper("FMA32"), e)
		}
		return p.call(p.math("FMA"), e)
	}
	name := mathFuncs[e.Op]
	if name == "" {
		must.Fail("Go output has no operation %s on %s", e.Op, e.DType)
	}
	if e.DType == ir.Float64 {
		return p.call(p.math(name), e)
	}
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		s := p.arg(a)
		if a.Op == expr.OpConst { // an untyped constant would not be rounded to float32
			s = typedLiteral(a)
		}
		args[i] = "float64(" + s + ")"
	}
	return text{"float32(" + p.math(name) + "(" + strings.Join(args, ", ") + "))", precUnary}
}

// product writes a product or quotient; products in it are rounded by being
// factors.
func (p *printer) product(e *expr.Expr) text {
	op := "*"
	if e.Op == expr.OpDiv {
		op = "/"
	}
	factor := func(x *expr.Expr, prec int) string {
		if x.Op == expr.OpMul && x.DType.IsFloat() {
			return p.product(x).at(prec)
		}
		return p.value(x, prec)
	}
	a := factor(e.Args[0], precMul)
	return text{a + " " + op + " " + factor(e.Args[1], precMul+1), precMul}
}

// mathFuncs are the functions of package math that are exact, for float32 too:
// rounding their float64 results once more changes nothing.
var mathFuncs = map[expr.Op]string{
	expr.OpSqrt: "Sqrt", expr.OpFloor: "Floor", expr.OpCeil: "Ceil", expr.OpTrunc: "Trunc",
	expr.OpRound: "RoundToEven", expr.OpAbs: "Abs", expr.OpRem: "Mod",
}

func (p *printer) call(fn string, e *expr.Expr) text {
	args := seq.Map(e.Args, p.arg)
	return text{fn + "(" + strings.Join(args, ", ") + ")", precUnary}
}

var intOps = map[expr.Op]struct {
	op   string
	prec int
}{
	expr.OpAdd: {"+", precAdd}, expr.OpSub: {"-", precAdd}, expr.OpMul: {"*", precMul},
	expr.OpDiv: {"/", precMul}, expr.OpRem: {"%", precMul},
	expr.OpAnd: {"&", precMul}, expr.OpOr: {"|", precAdd}, expr.OpXor: {"^", precAdd},
}

// integer writes arithmetic on integers, which in Go wraps around and shifts
// as it should.
func (p *printer) integer(e *expr.Expr) text {
	if o, ok := intOps[e.Op]; ok {
		return p.binary(o.op, o.prec, e)
	}
	a := e.Args[0]
	switch e.Op {
	case expr.OpNeg, expr.OpNot:
		op := "-"
		if e.Op == expr.OpNot {
			op = "^"
		}
		return text{op + p.value(a, precUnary), precUnary}
	case expr.OpAbs:
		if e.DType.IsUnsigned() {
			return p.expr(a)
		}
		return p.call(p.helper("Abs"), e)
	case expr.OpMin:
		return p.call("min", e)
	case expr.OpMax:
		return p.call("max", e)
	case expr.OpShl, expr.OpShr:
		op := "<<"
		if e.Op == expr.OpShr {
			op = ">>"
		}
		left := p.value(a, precMul)
		if a.Op == expr.OpConst {
			left = typedLiteral(a)
		}
		n := e.Args[1]
		if n.Op != expr.OpConst && !n.DType.IsUnsigned() {
			return text{fmt.Sprintf("%s %s uint(%s)", left, op, p.arg(n)), precMul}
		}
		return text{fmt.Sprintf("%s %s %s", left, op, p.value(n, precMul+1)), precMul}
	case expr.OpFMA:
		return text{p.value(a, precMul) + "*" + p.value(e.Args[1], precMul+1) + " + " +
			p.value(e.Args[2], precMul), precAdd}
	}
	must.Fail("Go output has no operation %s on %s", e.Op, e.DType)
	return text{}
}

// cast writes a conversion.
func (p *printer) cast(e *expr.Expr) text {
	x := e.Args[0]
	from, to := x.DType, e.DType
	if from == to {
		return p.expr(x)
	}
	if from.IsHalf() { // all but float32 by way of it
		return text{convertText(p, ir.Float32, to, p.helper(halfName(from)+"ToF32")+"("+p.arg(
			x)+")"), precUnary}
	}
	if x.Op == expr.OpIndex && to != ir.Bool && !to.IsHalf() {
		return text{goType(to) + "(" + p.index(x.Idx, precAny) + ")", precUnary}
	}
	if to == ir.Bool {
		return text{p.value(x, precCompare+1) + " != 0", precCompare}
	}
	s := p.arg(x)
	if x.Op == expr.OpConst {
		s = typedLiteral(x)
	}
	return text{convertText(p, from, to, s), precUnary}
}

// convertText converts the expression s from one dtype, not half, to another.
func convertText(p *printer, from, to ir.DType, s string) string {
	if from == to {
		return s
	}
	t := goType(to)
	switch {
	case to.IsHalf():
		return p.helper("F32To"+halfName(to)) + "(" + convertText(p, from, ir.Float32, s) + ")"
	case from == ir.Bool:
		return p.helper("FromBool") + "[" + t + "](" + s + ")"
	case to == ir.Bool:
		return s + " != 0"
	case from.IsFloat() && to.IsInt():
		if from == ir.Float32 {
			s = "float64(" + s + ")"
		}
		through := ir.Int32
		switch to {
		case ir.Uint64:
			through = ir.Uint64
		case ir.Uint32, ir.Int64:
			through = ir.Int64
		}
		s = p.helper("To"+strings.ToUpper(goType(through)[:1])+goType(through)[1:]) + "(" + s + ")"
		if to == through {
			return s
		}
	}
	return t + "(" + s + ")"
}

func halfName(d ir.DType) string {
	if d == ir.BFloat16 {
		return "BF16"
	}
	return "F16"
}

// bitcast writes a change of type that keeps the bits.
func (p *printer) bitcast(e *expr.Expr) text {
	x := e.Args[0]
	s, from := p.arg(x), x.DType
	if x.Op == expr.OpConst {
		s = typedLiteral(x)
	}
	switch {
	case goType(from) == goType(e.DType):
		return p.expr(x)
	case from == ir.Bool:
		return text{p.helper("FromBool") + "[" + goType(e.DType) + "](" + s + ")", precUnary}
	case e.DType == ir.Bool:
		return text{p.value(x, precCompare+1) + " != 0", precCompare}
	}
	if from == ir.Float32 || from == ir.Float64 {
		s, from = p.math(bitsName(from)+"bits")+"("+s+")", unsignedOf(from)
	}
	to := e.DType
	if to == ir.Float32 || to == ir.Float64 {
		to = unsignedOf(to)
	}
	if from != to {
		s = goType(to) + "(" + s + ")"
	}
	if to != e.DType && !e.DType.IsHalf() {
		s = p.math(bitsName(e.DType)+"frombits") + "(" + s + ")"
	}
	return text{s, precUnary}
}

func bitsName(d ir.DType) string {
	if d == ir.Float64 {
		return "Float64"
	}
	return "Float32"
}

func unsignedOf(d ir.DType) ir.DType {
	if d == ir.Float64 {
		return ir.Uint64
	}
	return ir.Uint32
}

// literal returns the constant e as Go text and whether the text is an untyped
// constant, which only has e's type where the context gives it.
func literal(e *expr.Expr) (text string, untyped bool) {
	d := e.DType
	switch {
	case d == ir.Bool:
		return strconv.FormatBool(e.Int != 0), false
	case d.IsHalf():
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
		must.Fail("Go output has no constants of dtype %s", d)
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
