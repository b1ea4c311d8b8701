package golang

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// cast writes a conversion.
func (p *printer) cast(e *expr.Expr) text {
	x := e.Args[0]
	from, to := x.DType, e.DType
	if from == to {
		return p.expr(x)
	}
	if isHalf(from) { // all but float32 by way of it
		return text{convertText(p, ir.Float32, to, p.helper(halfName(from)+"ToF32")+"("+p.arg(
			x)+")"), precUnary}
	}
	if x.Op == expr.OpIndex && to != ir.Bool && !isHalf(to) {
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
	case isHalf(to):
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
	if to != e.DType && !isHalf(e.DType) {
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
