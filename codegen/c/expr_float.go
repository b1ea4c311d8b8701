package c

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// wideInt is the dtype that stands for everything C promotes to int.
const wideInt = ir.Int32

// float prints arithmetic on Float32 and Float64.
func (p *printer) float(e *expr.Expr, t ctype) code {
	args := make([]code, len(e.Args))
	for i, a := range e.Args {
		if e.Op == expr.OpAdd && i == 0 && whole(e.Args[1]) {
			args[i] = p.rounded(a)
		} else {
			args[i] = p.expr(a)
		}
	}
	p.spill(e.Args, args)
	switch e.Op {
	case expr.OpAdd:
		if y := e.Args[1]; y.Op == expr.OpConst && y.Float < 0 {
			return join("-", args[0], p.g.float(-y.Float, y.DType), t)
		}
		return join("+", args[0], args[1], t)
	case expr.OpSub:
		if y := e.Args[1]; y.Op == expr.OpConst && y.Float < 0 {
			return join("+", args[0], p.g.float(-y.Float, y.DType), t)
		}
		return join("-", args[0], args[1], t)
	case expr.OpMul:
		return join("*", args[0], args[1], t)
	case expr.OpDiv:
		return join("/", args[0], args[1], t)
	case expr.OpNeg:
		return negate(args[0])
	case expr.OpMin, expr.OpMax:
		op, word := ">", "max"
		if e.Op == expr.OpMin {
			op, word = "<", "min"
		}
		if args[0].simple() && args[1].simple() {
			return ternary(join(op, args[0], args[1], tBool), args[0], args[1], t)
		}
		return call(p.g.helper(word, e.DType), t, args...)
	}
	if word, ok := floatHelpers[e.Op]; ok {
		return call(p.g.helper(word, e.DType), t, args...)
	}
	return p.unsupported(e)
}

var floatHelpers = map[expr.Op]string{
	expr.OpRem: "rem", expr.OpAbs: "abs", expr.OpFMA: "fma", expr.OpSqrt: "sqrt",
	expr.OpFloor: "floor", expr.OpCeil: "ceil", expr.OpTrunc: "trunc", expr.OpRound: "round",
}

// cast prints a conversion between dtypes.
func (p *printer) cast(e *expr.Expr, t ctype) code {
	a := e.Args[0]
	from, ok := typeOf(a.DType)
	if !ok {
		return p.unsupported(e)
	}
	switch {
	case expr.IsNarrow(a.DType):
		wide := call(p.g.helper("widen", a.DType), tF32, p.assign(a, from))
		if e.DType == ir.Float32 {
			return wide
		}
		return p.unsupported(e)
	case expr.IsNarrow(e.DType):
		if a.DType != ir.Float32 {
			return p.unsupported(e)
		}
		return call(p.g.helper("narrow", e.DType), t, p.expr(a))
	case e.DType == ir.Bool:
		zero := intLiteral(0, tI32)
		if from == tU32 || from == tU64 {
			zero = intLiteral(0, from)
		}
		if a.DType.IsFloat() {
			zero = p.g.float(0, a.DType)
		}
		return join("!=", p.expr(a), zero, tBool)
	case throughInt(e):
		x := a.Args[0]
		from, _ := typeOf(x.DType)
		return convertExactly(call(p.g.helper("number", x.DType), from, p.expr(x)), t)
	case e.DType.IsFloat():
		return convertExactly(p.expr(a), t)
	case a.DType.IsFloat():
		return p.truncate(a, t)
	}
	return p.resize(e, a, t)
}

// resize converts between integers.
func (p *printer) resize(e, a *expr.Expr, t ctype) code {
	r, ok := p.ranges.intRange(a)
	switch {
	case t == tU32 || t == tU64:
		c := p.modularIfShort(a, t)
		if t == tU32 && (c.t == tI8 || c.t == tI16) && !c.literal {
			// gcc warns about arithmetic on what is cast from these.
			return call(p.g.helper("unsigned"), t, c)
		}
		return convertExactly(c, t)
	case ok && r.in(rangeOf(t)):
		return p.expr(a)
	case t.bits() < 64 && a.DType.IsInt():
		if c := p.modularIfShort(a, t); c.t != t {
			return cast(t, c)
		}
	}
	return convertExactly(p.expr(a), t)
}

// modularIfShort prints an integer that is about to be cut to t's bits: as it
// is unless it would first have to wrap around in its own dtype.
func (p *printer) modularIfShort(a *expr.Expr, t ctype) code {
	own, _ := typeOf(a.DType)
	if own.isInt() && t.bits() <= own.bits() && own.bits() >= 32 {
		switch a.Op {
		case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpNeg, expr.OpShl:
			return p.modular(a)
		}
	}
	return p.expr(a)
}

// truncate converts a float to an integer type, to some value of it if it does
// not fit: C leaves that undefined.
func (p *printer) truncate(a *expr.Expr, t ctype) code {
	from, _ := typeOf(a.DType)
	if r, ok := p.ranges.floatRange(a); ok && r.in(rangeOf(t)) {
		return cast(t, p.rounded(a))
	}
	if fits(a, t) {
		return cast(t, cast(tI32, call(p.g.helper("number", a.DType), from, p.rounded(a))))
	}
	to := ir.Int32
	switch t {
	case tU32, tI64:
		to = ir.Int64
	case tU64:
		to = ir.Uint64
	}
	tt, _ := typeOf(to)
	return convert(call(p.g.helper("to_int", a.DType, to), tt, p.assign(a, from)), t)
}
