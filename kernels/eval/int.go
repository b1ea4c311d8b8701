package eval

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
)

// apply is expr.Apply that stops the run on an error.
func apply(op expr.Op, d, from ir.DType, args ...Value) Value {
	return must.Get(expr.Apply(op, d, from, args...))
}

// value compiles an expression of any dtype.
func (c *compiler) value(e *expr.Expr) func(*frame) Value {
	switch kindOf(e.DType) {
	case f32Kind:
		x := c.f32(e)
		return func(fr *frame) Value { return Value{F: float64(x(fr))} }
	case f64Kind:
		x := c.f64(e)
		return func(fr *frame) Value { return Value{F: x(fr)} }
	}
	x := c.int(e)
	return func(fr *frame) Value { return Value{I: x(fr)} }
}

func (c *compiler) scalar(e *expr.Expr) int {
	if e.Buf < 0 || e.Buf >= len(c.p.f.Scalars) || c.p.f.Scalars[e.Buf].DType != e.DType {
		must.Fail("no scalar %d of %s", e.Buf, e.DType)
	}
	return e.Buf
}

// int compiles an expression of an integer dtype or Bool.
func (c *compiler) int(e *expr.Expr) intFn {
	d := e.DType
	if kindOf(d) != intKind {
		must.Fail("%s where an integer is needed", d)
	}
	switch e.Op {
	case expr.OpConst:
		n := e.Int
		return func(*frame) int64 { return n }
	case expr.OpIndex:
		return c.wrapped(d, c.index(e.Idx))
	case expr.OpLoad:
		return c.loadInt(e)
	case expr.OpLocal:
		slot := c.known(e.Var)
		if e.Var.Len > 0 {
			at := c.element(e.Var, e.Coords[0])
			return func(fr *frame) int64 { return fr.ints[int64(slot)+at(fr)] }
		}
		return func(fr *frame) int64 { return fr.ints[slot] }
	case expr.OpScalar:
		k := c.scalar(e)
		return func(fr *frame) int64 { return fr.scalars[k].I }
	case expr.OpSelect:
		return either(c.bool(e.Args[0]), c.int(e.Args[1]), c.int(e.Args[2]))
	case expr.OpCall:
		result, run := c.call(e)
		y := c.int(result)
		return func(fr *frame) int64 { run(fr); return y(fr) }
	case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		cond := c.compare(e)
		return func(fr *frame) int64 {
			if cond(fr) {
				return 1
			}
			return 0
		}
	case expr.OpCast:
		from := e.Args[0].DType
		if kindOf(from) == intKind {
			return c.wrapped(d, c.int(e.Args[0]))
		}
		x := c.value(e.Args[0])
		return func(fr *frame) int64 { return expr.Convert(x(fr), from, d).I }
	case expr.OpBitcast:
		x, from := c.value(e.Args[0]), e.Args[0].DType
		if from == ir.Float32 {
			s := c.f32(e.Args[0])
			return c.wrapped(d, func(fr *frame) int64 { return int64(math.Float32bits(s(fr))) })
		}
		return func(fr *frame) int64 { return apply(expr.OpBitcast, d, from, x(fr)).I }
	}
	return c.intOp(e)
}

func (c *compiler) intOp(e *expr.Expr) intFn {
	d, op := e.DType, e.Op
	args := make([]intFn, len(e.Args))
	for i, a := range e.Args {
		args[i] = c.int(a)
	}
	switch {
	case len(args) == 1:
		a := args[0]
		return func(fr *frame) int64 { return apply(op, d, d, Value{I: a(fr)}).I }
	case len(args) != 2:
		must.Fail("%s of %s", op, d)
	}
	a, b := args[0], args[1]
	if d != ir.Bool {
		switch op {
		case expr.OpAdd:
			return c.wrapped(d, func(fr *frame) int64 { return a(fr) + b(fr) })
		case expr.OpSub:
			return c.wrapped(d, func(fr *frame) int64 { return a(fr) - b(fr) })
		case expr.OpMul:
			return c.wrapped(d, func(fr *frame) int64 { return a(fr) * b(fr) })
		case expr.OpAnd:
			return func(fr *frame) int64 { return a(fr) & b(fr) }
		}
	}
	return func(fr *frame) int64 { return apply(op, d, d, Value{I: a(fr)}, Value{I: b(fr)}).I }
}

// wrapped reduces f to the range of d.
func (c *compiler) wrapped(d ir.DType, f intFn) intFn {
	switch d {
	case ir.Int64, ir.Uint64:
		return f
	case ir.Int32:
		return func(fr *frame) int64 { return int64(int32(f(fr))) }
	}
	return func(fr *frame) int64 { return expr.Wrap(d, f(fr)) }
}

func (c *compiler) loadInt(e *expr.Expr) intFn {
	at, k, d := c.loadAt(e), e.Buf, e.DType
	switch d {
	case ir.Int64, ir.Uint64:
		return func(fr *frame) int64 {
			return int64(binary.LittleEndian.Uint64(fr.bufs[k][8*at(fr):]))
		}
	case ir.Int32:
		return func(fr *frame) int64 {
			return int64(int32(binary.LittleEndian.Uint32(fr.bufs[k][4*at(fr):])))
		}
	case ir.Int8:
		return func(fr *frame) int64 { return int64(int8(fr.bufs[k][at(fr)])) }
	case ir.Uint8:
		return func(fr *frame) int64 { return int64(fr.bufs[k][at(fr)]) }
	}
	return func(fr *frame) int64 { return Get(d, fr.bufs[k], at(fr)).I }
}
