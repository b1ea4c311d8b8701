package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// rescaled lowers what is left of sums that are requantised and taken on as
// floats: a product and a sum in float64 that are limited, become an int16 and, with
// an offset, a small integer, and are a float32 again. All but the first step is done
// in float32.
func (b *builder) rescaled(e *expr.Expr) (value, bool) {
	n := e.Args[0] // the small integer
	prim := map[ir.DType]string{ir.Int8: "ThroughInt8", ir.Uint8: "ThroughUint8"}[n.DType]
	if prim == "" || e.DType != ir.Float32 || n.Op != expr.OpCast {
		return value{}, false
	}
	short, offset := n.Args[0], int64(0)
	if (short.Op == expr.OpAdd || short.Op == expr.OpSub) && short.Args[1].Op == expr.OpConst {
		if offset = short.Args[1].Int; short.Op == expr.OpSub {
			offset = -offset
		}
		short = short.Args[0]
	}
	if max(offset, -offset) > margin {
		return value{}, false
	}
	if short.DType != ir.Int16 || short.Op != expr.OpCast || short.Args[0].DType != ir.Float64 {
		return value{}, false
	}
	hi, lo := short.Args[0], (*expr.Expr)(nil)
	if hi.Op == expr.OpMin && hi.Args[1].Op == expr.OpMax {
		lo = hi.Args[1]
	}
	if lo == nil || !limit(hi.Args[0], 1) || !limit(lo.Args[0], -1) {
		return value{}, false
	}
	sum := lo.Args[1]
	if sum.Op != expr.OpAdd || sum.Args[0].Op != expr.OpMul {
		return value{}, false
	}
	product := sum.Args[0]
	wide := product.Args[0]
	if wide.Op != expr.OpCast || wide.Args[0].DType != ir.Float32 {
		return value{}, false
	}
	for _, x := range []*expr.Expr{n, short, hi, lo, sum, product} {
		if _, known := b.memo[x]; known {
			return value{}, false
		}
	}
	var args []value
	for _, a := range []*expr.Expr{wide.Args[0], product.Args[1], sum.Args[1]} {
		x, ok := b.expr(a)
		if !ok {
			return value{}, false
		}
		args = append(args, b.vector(x))
	}
	x := b.op("TruncMulAdd", ir.Float32, args...)
	num := func(v float64) value {
		return value{Kind: Scalar, DType: ir.Float32, Value: expr.Float(ir.Float32, v)}
	}
	x = b.op("ScalarMax", ir.Float32, num(lo.Args[0].Float), x)
	x = b.op("ScalarMin", ir.Float32, num(hi.Args[0].Float), x)
	x = b.op("AddScalar", ir.Float32, x, num(float64(offset)))
	return b.op(prim, ir.Float32, x), true
}

// margin bounds limits and offsets, so that an int16 holds their sums.
const margin = 1<<14 - 1

// limit reports whether e is a constant integer up to margin and of the given sign: cutting off a
// fraction before it
// is limited is the same as after.
func limit(e *expr.Expr, sign float64) bool {
	return e.Op == expr.OpConst && e.Float == math.Trunc(e.Float) && e.Float*sign >= 0 &&
		math.Abs(e.Float) <= margin
}
