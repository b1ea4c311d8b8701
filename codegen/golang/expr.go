package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
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
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = p.arg(a)
		}
		return text{p.unit.function(e.Fn) + "(" + strings.Join(args, ", ") + ")", precUnary}
	case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return p.binary(compareOps[e.Op], precCompare, e)
	}
	switch d := e.DType; {
	case d == ir.Bool:
		return p.boolean(e)
	case d == ir.Float32 || d == ir.Float64:
		return p.float(e)
	case d.IsInt():
		return p.integer(e)
	}
	fail("Go output has no operation %s on %s", e.Op, e.DType)
	return text{}
}

var compareOps = map[expr.Op]string{
	expr.OpEq: "==", expr.OpNe: "!=", expr.OpLt: "<", expr.OpLe: "<=", expr.OpGt: ">",
	expr.OpGe: ">=",
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
	fail("Go output has no operation %s on bool", e.Op)
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
		fail("Go output has no operation %s on %s", e.Op, e.DType)
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
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.arg(a)
	}
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
	fail("Go output has no operation %s on %s", e.Op, e.DType)
	return text{}
}
