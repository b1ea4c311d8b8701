package eval

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	functions "github.com/etgen/etgen/kernels/math"
)

// f32 compiles an expression of Float32 or a narrower float.
func (c *compiler) f32(e *expr.Expr) f32Fn {
	if kindOf(e.DType) != f32Kind {
		must.Fail("%s where a float32 is needed", e.DType)
	}
	switch e.Op {
	case expr.OpConst:
		x := float32(e.Float)
		return func(*frame) float32 { return x }
	case expr.OpLoad:
		at, k, d := c.loadAt(e), e.Buf, e.DType
		switch {
		case d == ir.Float32:
			return func(fr *frame) float32 {
				return math.Float32frombits(binary.LittleEndian.Uint32(fr.bufs[k][4*at(fr):]))
			}
		case d.Size() == 2:
			return func(fr *frame) float32 {
				return half.ToFloat32(d, binary.LittleEndian.Uint16(fr.bufs[k][2*at(fr):]))
			}
		}
		return func(fr *frame) float32 { return half.ToFloat32(d, uint16(fr.bufs[k][at(fr)])) }
	case expr.OpLocal:
		slot := c.known(e.Var)
		if e.Var.Len > 0 {
			at := c.element(e.Var, e.Coords[0])
			return func(fr *frame) float32 { return fr.f32s[int64(slot)+at(fr)] }
		}
		return func(fr *frame) float32 { return fr.f32s[slot] }
	case expr.OpScalar:
		k := c.scalar(e)
		return func(fr *frame) float32 { return float32(fr.scalars[k].F) }
	case expr.OpSelect:
		return either(c.bool(e.Args[0]), c.f32(e.Args[1]), c.f32(e.Args[2]))
	case expr.OpCall:
		if f := functions.Native(e.Fn); f != nil {
			x := c.f32(e.Args[0])
			return func(fr *frame) float32 { return f(x(fr)) }
		}
		result, run := c.call(e)
		y := c.f32(result)
		return func(fr *frame) float32 { run(fr); return y(fr) }
	case expr.OpCast:
		return c.castTo32(e)
	case expr.OpBitcast:
		x, from, to := c.value(e.Args[0]), e.Args[0].DType, e.DType
		if from == ir.Int32 || from == ir.Uint32 {
			i := c.int(e.Args[0])
			return func(fr *frame) float32 { return math.Float32frombits(uint32(i(fr))) }
		}
		return func(fr *frame) float32 { return float32(apply(expr.OpBitcast, to, from, x(fr)).F) }
	}
	if e.DType != ir.Float32 {
		must.Fail("%s of %s", e.Op, e.DType)
	}
	return floatOp(e, c.f32, expr.FMA32)
}

func (c *compiler) castTo32(e *expr.Expr) f32Fn {
	from, to := e.Args[0].DType, e.DType
	switch {
	case kindOf(from) == f32Kind && to == ir.Float32:
		return c.f32(e.Args[0])
	case kindOf(from) == f32Kind:
		x := c.f32(e.Args[0])
		return func(fr *frame) float32 { return half.ToFloat32(to, half.FromFloat32(to, x(fr))) }
	case kindOf(from) == f64Kind && to == ir.Float32:
		x := c.f64(e.Args[0])
		return func(fr *frame) float32 { return float32(x(fr)) }
	case from != ir.Uint64 && to == ir.Float32 && from.IsInt():
		x := c.int(e.Args[0])
		return func(fr *frame) float32 { return float32(x(fr)) }
	}
	x := c.value(e.Args[0])
	return func(fr *frame) float32 { return float32(expr.Convert(x(fr), from, to).F) }
}

// f64 compiles an expression of Float64.
func (c *compiler) f64(e *expr.Expr) f64Fn {
	if e.DType != ir.Float64 {
		must.Fail("%s where a float64 is needed", e.DType)
	}
	switch e.Op {
	case expr.OpConst:
		x := e.Float
		return func(*frame) float64 { return x }
	case expr.OpLoad:
		at, k := c.loadAt(e), e.Buf
		return func(fr *frame) float64 {
			return math.Float64frombits(binary.LittleEndian.Uint64(fr.bufs[k][8*at(fr):]))
		}
	case expr.OpLocal:
		slot := c.known(e.Var)
		if e.Var.Len > 0 {
			at := c.element(e.Var, e.Coords[0])
			return func(fr *frame) float64 { return fr.f64s[int64(slot)+at(fr)] }
		}
		return func(fr *frame) float64 { return fr.f64s[slot] }
	case expr.OpScalar:
		k := c.scalar(e)
		return func(fr *frame) float64 { return fr.scalars[k].F }
	case expr.OpSelect:
		return either(c.bool(e.Args[0]), c.f64(e.Args[1]), c.f64(e.Args[2]))
	case expr.OpCall:
		result, run := c.call(e)
		y := c.f64(result)
		return func(fr *frame) float64 { run(fr); return y(fr) }
	case expr.OpCast:
		from := e.Args[0].DType
		if kindOf(from) == f32Kind {
			x := c.f32(e.Args[0])
			return func(fr *frame) float64 { return float64(x(fr)) }
		}
		x := c.value(e.Args[0])
		return func(fr *frame) float64 { return expr.Convert(x(fr), from, ir.Float64).F }
	case expr.OpBitcast:
		x, from := c.value(e.Args[0]), e.Args[0].DType
		return func(fr *frame) float64 { return apply(expr.OpBitcast, ir.Float64, from, x(fr)).F }
	}
	return floatOp(e, c.f64, func(a, b, c float64) float64 { return math.FMA(a, b, c) })
}

// floatOp compiles arithmetic. Results of T's own operators are rounded once;
// the explicit conversions keep Go from fusing them with what follows.
func floatOp[T float32 | float64](e *expr.Expr, compile func(*expr.Expr) func(*frame) T,
	fma func(a, b, c float64) float64) func(*frame) T {
	a := compile(e.Args[0])
	switch e.Op {
	case expr.OpNeg:
		return func(fr *frame) T { return -a(fr) }
	case expr.OpAbs:
		return func(fr *frame) T { return T(math.Abs(float64(a(fr)))) }
	case expr.OpSqrt:
		return func(fr *frame) T { return T(math.Sqrt(float64(a(fr)))) }
	case expr.OpFloor:
		return func(fr *frame) T { return T(math.Floor(float64(a(fr)))) }
	case expr.OpCeil:
		return func(fr *frame) T { return T(math.Ceil(float64(a(fr)))) }
	case expr.OpTrunc:
		return func(fr *frame) T { return T(math.Trunc(float64(a(fr)))) }
	case expr.OpRound:
		return func(fr *frame) T { return T(math.RoundToEven(float64(a(fr)))) }
	}
	if len(e.Args) < 2 {
		must.Fail("%s of %s", e.Op, e.DType)
	}
	b := compile(e.Args[1])
	switch e.Op {
	case expr.OpAdd:
		return func(fr *frame) T { return T(a(fr) + b(fr)) }
	case expr.OpSub:
		return func(fr *frame) T { return T(a(fr) - b(fr)) }
	case expr.OpMul:
		return func(fr *frame) T { return T(a(fr) * b(fr)) }
	case expr.OpDiv:
		return func(fr *frame) T { return T(a(fr) / b(fr)) }
	case expr.OpRem:
		return func(fr *frame) T { return T(math.Mod(float64(a(fr)), float64(b(fr)))) }
	case expr.OpMin:
		return func(fr *frame) T {
			x, y := a(fr), b(fr)
			if x < y {
				return x
			}
			return y
		}
	case expr.OpMax:
		return func(fr *frame) T {
			x, y := a(fr), b(fr)
			if x > y {
				return x
			}
			return y
		}
	case expr.OpFMA:
		c := compile(e.Args[2])
		return func(fr *frame) T { return T(fma(float64(a(fr)), float64(b(fr)), float64(c(fr)))) }
	}
	must.Fail("%s of %s", e.Op, e.DType)
	return nil
}
