package c

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

var arithmetic = map[expr.Op]string{
	expr.OpAdd: "+", expr.OpSub: "-", expr.OpMul: "*",
	expr.OpAnd: "&", expr.OpOr: "|", expr.OpXor: "^",
}

// integer prints integer arithmetic. C's signed arithmetic must not overflow,
// so what may is computed in an unsigned type and converted back.
func (p *printer) integer(e *expr.Expr, t ctype) code {
	switch e.Op {
	case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpNeg:
		return p.wrapping(e, t)
	case expr.OpAnd, expr.OpOr, expr.OpXor:
		if hasBits(e) && t.bits() >= 32 {
			return convertExactly(p.modular(e), t)
		}
		x, y := p.sameType(e.Args[0], e.Args[1])
		return join(arithmetic[e.Op], x, y, promote(x.t, y.t))
	case expr.OpNot:
		x := p.expr(e.Args[0])
		c := code{s: "~" + x.at(precUnary), p: precUnary, t: promote(x.t, x.t)}
		if t.isSigned() || c.t == t {
			return c
		}
		return cast(t, c)
	case expr.OpShl:
		return convert(p.modular(e), t)
	case expr.OpShr:
		x := p.expr(e.Args[0])
		if t.bits() == 64 { // the shift may be wider than the value's range needs
			x = convertExactly(x, t)
		}
		return join(">>", x, p.expr(e.Args[1]), promote(x.t, x.t))
	case expr.OpMin, expr.OpMax:
		return p.extremum(e, t)
	case expr.OpAbs:
		return p.absolute(e, t)
	case expr.OpDiv, expr.OpRem:
		return p.quotient(e, t)
	case expr.OpFMA:
		return p.expr(expr.Add(expr.Mul(e.Args[0], e.Args[1]), e.Args[2]))
	}
	return p.unsupported(e)
}

// sameType prints two operands of one dtype so that C compares or combines them
// in a type that holds both.
func (p *printer) sameType(x, y *expr.Expr) (a, b code) {
	a, b = p.expr(x), p.expr(y)
	t := typeOf(x.DType)
	if t == tU32 || t == tU64 {
		a, b = convert(a, t), convert(b, t)
	}
	return a, b
}

// plain prints e without wrapping, if its range and those of its operands show
// that C's arithmetic is exact.
func (p *printer) plain(e *expr.Expr) (code, bool) {
	t := typeOf(e.DType)
	r, ok := p.ranges.valueRange(e)
	if !ok || !r.in(rangeOf(promote(t, t))) {
		return code{}, false
	}
	if e.Op == expr.OpNeg {
		x := p.expr(e.Args[0])
		c := negate(x)
		return c, r.in(rangeOf(c.t)) && c.t.isSigned()
	}
	ex, ey := e.Args[0], e.Args[1]
	op := arithmetic[e.Op]
	// x + -3 is x - 3.
	if e.Op == expr.OpAdd && ey.Op == expr.OpConst && ey.Int < 0 && t.isSigned() {
		op, ey = "-", expr.Int(ey.DType, -ey.Int)
		if ey.Int < 0 {
			return code{}, false
		}
	}
	if e.Op == expr.OpSub && ey.Op == expr.OpConst && ey.Int < 0 && t.isSigned() {
		op, ey = "+", expr.Int(ey.DType, -ey.Int)
		if ey.Int < 0 {
			return code{}, false
		}
	}
	x, y := p.sameType(ex, ey)
	ct := promote(x.t, y.t)
	if !r.in(rangeOf(ct)) {
		if ct = t; !r.in(rangeOf(ct)) || ct.bits() < 32 {
			return code{}, false
		}
		x = cast(ct, x)
	}
	return join(op, x, y, ct), true
}

// wrapping prints e so that it wraps around as its dtype does.
func (p *printer) wrapping(e *expr.Expr, t ctype) code {
	c, ok := p.plain(e)
	switch r, known := p.ranges.valueRange(e); {
	case ok && known && r.in(rangeOf(t)):
		return c
	case ok && t.bits() < 32:
		return cast(t, c)
	}
	return convert(p.modular(e), t)
}

// modular prints code of an unsigned type whose value is that of e modulo two
// to the power of e's bits: for what is about to be cut off anyway.
func (p *printer) modular(e *expr.Expr) code {
	u := unsigned(e.DType)
	if c, ok := p.spilled[e]; ok {
		return convertExactly(c, u)
	}
	switch e.Op {
	case expr.OpConst:
		if e.Int >= 0 {
			return intLiteral(e.Int, u)
		}
	case expr.OpAdd, expr.OpSub, expr.OpMul:
		if c, ok := p.plain(e); ok && c.t != u {
			return cast(u, c)
		}
		op, y := arithmetic[e.Op], e.Args[1]
		if e.Op == expr.OpAdd && y.Op == expr.OpConst && y.Int < 0 && -y.Int > 0 &&
			e.DType.Size() < 8 {
			return join("-", p.modular(e.Args[0]), intLiteral(-y.Int, u), u)
		}
		return join(op, p.modular(e.Args[0]), p.modular(y), u)
	case expr.OpNeg:
		if c, ok := p.plain(e); ok {
			return cast(u, c)
		}
		return join("-", intLiteral(0, u), p.modular(e.Args[0]), u)
	case expr.OpShl:
		return join("<<", p.modular(e.Args[0]), p.expr(e.Args[1]), u)
	case expr.OpAnd, expr.OpOr, expr.OpXor:
		if e.DType.IsInt() {
			return join(arithmetic[e.Op], p.mask(e.Args[0]), p.mask(e.Args[1]), u)
		}
	case expr.OpBitcast:
		a := e.Args[0]
		if a.DType == ir.Float32 || a.DType == ir.Float64 {
			return p.bits(a)
		}
		if a.DType.IsInt() && a.DType.Size() >= 4 {
			return p.modular(a)
		}
	}
	return convertExactly(p.expr(e), u)
}

// mask prints an operand of a bit operation: constants in hexadecimal.
func (p *printer) mask(e *expr.Expr) code {
	if e.Op != expr.OpConst || e.Int >= 0 && e.Int < 10 {
		return p.modular(e)
	}
	u := unsigned(e.DType)
	bits := uint64(e.Int)
	if u == tU32 {
		bits = uint64(uint32(e.Int))
	}
	return code{s: hexLiteral(bits, u.bits()/8) + "u", p: precPostfix, t: u, literal: true}
}

// hasBits reports whether the bits of a float are looked at in e.
func hasBits(e *expr.Expr) bool {
	switch e.Op {
	case expr.OpBitcast:
		return e.Args[0].DType.IsFloat()
	case expr.OpAnd, expr.OpOr, expr.OpXor, expr.OpAdd, expr.OpSub, expr.OpShl:
		return hasBits(e.Args[0]) || hasBits(e.Args[1])
	}
	return false
}

// convertExactly converts to an unsigned type with a cast unless c has it.
func convertExactly(c code, u ctype) code {
	if c.t == u {
		return c
	}
	return cast(u, c)
}

func (p *printer) extremum(e *expr.Expr, t ctype) code {
	op, word := ">", "max"
	if e.Op == expr.OpMin {
		op, word = "<", "min"
	}
	if x := p.saturated(e); x != nil {
		return call(p.g.helper("saturate"), tI32, p.expr(x))
	}
	x, y := p.sameType(e.Args[0], e.Args[1])
	if x.s == y.s {
		return x
	}
	if x.simple() && y.simple() {
		return ternary(join(op, x, y, tBool), x, y, promote(x.t, y.t))
	}
	d := e.DType
	if d.Size() < 4 { // one helper for all that int holds
		d, t = wideInt, tI32
	}
	return call(p.g.helper(word, d), t, convert(x, t), convert(y, t))
}

// saturated returns what e limits to those of int8, on machines that have an instruction for it,
// nil if it is nothing of that kind.
func (p *printer) saturated(e *expr.Expr) *expr.Expr {
	if m := p.g.opt.Machine; m == nil || !m.DSP || e.DType != ir.Int32 {
		return nil
	}
	found := map[expr.Op]int64{}
	for range 2 {
		c, x := e.Args[0], e.Args[1]
		if c.Op != expr.OpConst {
			c, x = x, c
		}
		if c.Op != expr.OpConst {
			return nil
		}
		if found[e.Op], e = c.Int, x; len(found) == 1 && e.Op != expr.OpMin && e.Op != expr.OpMax {
			return nil
		}
	}
	if least, ok := found[expr.OpMax]; !ok || least != math.MinInt8 {
		return nil
	}
	if most, ok := found[expr.OpMin]; !ok || most != math.MaxInt8 {
		return nil
	}
	return e
}

func (p *printer) absolute(e *expr.Expr, t ctype) code {
	x := p.expr(e.Args[0])
	if !t.isSigned() {
		return x
	}
	if r, ok := p.ranges.intRange(e.Args[0]); x.simple() && ok && r.lo > rangeOf(t).lo {
		return ternary(join("<", x, intLiteral(0, tI32), tBool), negate(x), x, promote(x.t, x.t))
	}
	return call(p.g.helper("abs", e.DType), t, convert(x, t))
}

// quotient prints a division or remainder. The divisors 0 and, of the smallest
// number, -1 have no result in C.
func (p *printer) quotient(e *expr.Expr, t ctype) code {
	op, word := "/", "div"
	if e.Op == expr.OpRem {
		op, word = "%", "rem"
	}
	x, y := p.sameType(e.Args[0], e.Args[1])
	a, aok := p.ranges.intRange(e.Args[0])
	b, bok := p.ranges.intRange(e.Args[1])
	nonzero := bok && (b.lo > 0 || b.hi < 0)
	fits := !t.isSigned() || aok && a.lo > rangeOf(t).lo || bok && (b.lo > -1 || b.hi < -1)
	if nonzero && fits {
		return join(op, x, y, promote(x.t, y.t))
	}
	if t.bits() < 32 {
		return convert(call(p.g.helper(word, wideInt), tI32, x, y), t)
	}
	return call(p.g.helper(word, e.DType), t, convert(x, t), convert(y, t))
}

// wideInt is the dtype that stands for everything C promotes to int.
const wideInt = ir.Int32

// float prints arithmetic on Float32 and Float64.
func (p *printer) float(e *expr.Expr, t ctype) code {
	if y, ok := p.addedInt(e); ok {
		return cast(t, y)
	}
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
			return p.difference(args[0], p.g.float(-y.Float, y.DType), e.DType)
		}
		return join("+", args[0], args[1], t)
	case expr.OpSub:
		if y := e.Args[1]; y.Op == expr.OpConst && y.Float < 0 {
			return join("+", args[0], p.g.float(-y.Float, y.DType), t)
		}
		return p.difference(args[0], args[1], e.DType)
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

// difference prints x - y: a sum where that makes a function of the compiler's library needless.
// It prints x + -c, too: gcc makes a difference of that.
func (p *printer) difference(x, y code, d ir.DType) code {
	t := typeOf(d)
	if p.g.opt.Machine.Differs() {
		return call(p.g.helper("minus", d), t, x, y)
	}
	return join("-", x, y, t)
}

var floatHelpers = map[expr.Op]string{
	expr.OpRem: "rem", expr.OpAbs: "abs", expr.OpFMA: "fma", expr.OpSqrt: "sqrt",
	expr.OpFloor: "floor", expr.OpCeil: "ceil", expr.OpTrunc: "trunc", expr.OpRound: "round",
}

// cast prints a conversion between dtypes.
func (p *printer) cast(e *expr.Expr, t ctype) code {
	a := e.Args[0]
	from := typeOf(a.DType)
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
	case p.ranges.throughInt(e):
		x := a.Args[0]
		if c, ok := p.throughBits(x, typeOf(a.DType)); ok {
			return convertExactly(c, t)
		}
		from := typeOf(x.DType)
		return convertExactly(call(p.g.helper("number", x.DType), from, p.expr(x)), t)
	case e.DType.IsFloat():
		return convertExactly(p.expr(a), t)
	case a.DType.IsFloat():
		return p.truncate(a, t)
	}
	return p.resize(a, t)
}

// addedInt prints what e adds to a float that is an integer of at most 16 bits as a sum of
// integers, where floats in software would take longer.
func (p *printer) addedInt(e *expr.Expr) (c code, ok bool) {
	m := p.g.opt.Machine
	if m == nil || m.Floats || !m.Microcontroller || e.Op != expr.OpAdd && e.Op != expr.OpSub ||
		!whole(e.Args[1]) || e.Args[0].Op != expr.OpCast {
		return code{}, false
	}
	x, by := e.Args[0].Args[0], int64(e.Args[1].Float)
	if e.Op == expr.OpSub {
		by = -by
	}
	if !x.DType.IsInt() || x.DType.Size() > 2 {
		return code{}, false
	}
	if by < 0 {
		return join("-", convert(p.expr(x), tI32), intLiteral(-by, tI32), tI32), true
	}
	return join("+", convert(p.expr(x), tI32), intLiteral(by, tI32), tI32), true
}

// resize converts between integers.
func (p *printer) resize(a *expr.Expr, t ctype) code {
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
	own := typeOf(a.DType)
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
	from := typeOf(a.DType)
	if c, ok := p.nearest(a, t); ok {
		return c
	}
	if r, ok := p.ranges.floatRange(a); ok && r.in(rangeOf(t)) {
		// Conversions to 64 bits are functions of doubles on small machines.
		switch {
		case t.bits() <= 32:
			return cast(t, p.rounded(a))
		case r.in(rangeOf(tI32)):
			return convert(cast(tI32, p.rounded(a)), t)
		}
	}
	if p.ranges.fits(a, t) {
		return cast(t, cast(tI32, call(p.g.helper("number", a.DType), from, p.rounded(a))))
	}
	to := ir.Int32
	switch t {
	case tU32, tI64:
		to = ir.Int64
	case tU64:
		to = ir.Uint64
	}
	return convert(call(p.g.helper("to_int", a.DType, to), typeOf(to), p.assign(a, from)), t)
}
