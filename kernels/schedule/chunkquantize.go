package schedule

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Quantized networks round, limit and convert each result, which takes more time than what is
// rounded if each step is a pass. So there are primitives for all steps at once. They compute
// integers of 8 bits as the floats that these are.

// quantized lowers an integer of 8 bits that is made of floats or of a sum of such integers: the
// integer, or the float that it is taken on as, with a number subtracted or added.
func (b *chunker) quantized(e *expr.Expr) loop.Operand {
	less := 0.0
	switch n := e; {
	case (e.Op == expr.OpSub || e.Op == expr.OpAdd) && e.DType == ir.Float32:
		if n = e.Args[0]; e.Args[1].Op != expr.OpConst || n.Op != expr.OpCast || known(b.memo[n]) {
			return none
		}
		if less = e.Args[1].Float; e.Op == expr.OpAdd {
			less = -less
		}
		return b.integer(n.Args[0], less)
	case e.Op == expr.OpCast && e.DType == ir.Float32:
		return b.integer(e.Args[0], 0)
	case e.Op == expr.OpCast:
		return b.op("Truncate", e.DType, b.integer(e, 0))
	}
	return none
}

// integer lowers an integer of 8 bits that is limited and cast, to a float less a number.
func (b *chunker) integer(n *expr.Expr, less float64) loop.Operand {
	if throughs[n.DType] == "" || n.Op != expr.OpCast || known(b.memo[n]) || b.guarded {
		return none
	}
	hi := n.Args[0]
	if hi.Op != expr.OpMin || hi.Args[1].Op != expr.OpMax {
		return none
	}
	x, low, high := hi.Args[1].Args[1], hi.Args[1].Args[0], hi.Args[0]
	least, most := expr.IntRange(n.DType)
	if !whole(low, least, most) || !whole(high, least, most) {
		return none
	}
	rest := []loop.Operand{scalar(low), scalar(high), scalar(expr.Float(ir.Float32, less))}
	switch x.DType {
	case ir.Float32:
		return b.rounded(x, rest)
	case ir.Int32:
		return b.mixed(x, rest)
	}
	return none
}

// rounded lowers x, a rounded number and a zero point, with limits and what is subtracted.
func (b *chunker) rounded(x *expr.Expr, rest []loop.Operand) loop.Operand {
	zero := expr.Float(ir.Float32, 0)
	if x.Op == expr.OpAdd && whole(x.Args[1], -margin, margin) {
		zero = expr.Float(ir.Float32, x.Args[1].Float+0) // no result is -0
		x = x.Args[0]
	}
	if x.Op != expr.OpRound {
		return none
	}
	rest = append([]loop.Operand{scalar(zero)}, rest...)
	product := x.Args[0]
	if product.Op == expr.OpMul && product.Args[0].Op == expr.OpAdd && !known(b.memo[product]) &&
		!known(b.memo[product.Args[0]]) {
		sum := product.Args[0]
		of := []*expr.Expr{sum.Args[0], sum.Args[1], product.Args[1]}
		if b.varies(of[0]) && b.varies(of[1]) && b.varies(of[2]) {
			args := b.exprs(of)
			if args == nil {
				return none
			}
			return b.op("Rescale", ir.Float32, append(args, rest...)...)
		}
	}
	return b.op("Quantize", ir.Float32, append([]loop.Operand{b.expr(product)}, rest...)...)
}

// mixed lowers a shifted sum of one or two integers of 8 bits times constants, with limits and
// what is subtracted.
func (b *chunker) mixed(x *expr.Expr, rest []loop.Operand) loop.Operand {
	num := func(n int64) loop.Operand { return scalar(expr.Int(ir.Int32, n)) }
	if x.Op != expr.OpShr || x.Args[1].Op != expr.OpConst || !b.varies(x.Args[0]) {
		return none
	}
	var of []*expr.Expr
	var factors []loop.Operand
	plus, ok := int64(0), true
	var terms func(x *expr.Expr)
	terms = func(x *expr.Expr) {
		switch {
		case x.Op == expr.OpAdd:
			terms(x.Args[0])
			terms(x.Args[1])
		case x.Op == expr.OpConst:
			plus += x.Int
		case x.Op == expr.OpMul && x.Args[1].Op == expr.OpConst && x.Args[0].Op == expr.OpCast &&
			throughs[x.Args[0].Args[0].DType] != "" && b.varies(x.Args[0]):
			of, factors = append(of, x.Args[0].Args[0]), append(factors, num(x.Args[1].Int))
		default:
			ok = false
		}
	}
	terms(x.Args[0])
	if !ok || len(of) > 2 {
		return none
	}
	if len(of) == 1 {
		of, factors = append(of, of[0]), append(factors, num(0))
	}
	var args []loop.Operand
	for i, n := range of {
		if i > 0 && n == of[0] {
			args = append(args, args[0])
			continue
		}
		args = append(args, b.expr(expr.Cast(ir.Float32, n)))
	}
	args = append(args, factors...)
	args = append(args, num(expr.Wrap(ir.Int32, plus)), num(x.Args[1].Int))
	return b.op("Mix", ir.Float32, append(args, rest...)...)
}

// whole reports whether e is a constant integer between two.
func whole(e *expr.Expr, least, most int64) bool {
	if e.Op != expr.OpConst {
		return false
	}
	n := e.Float
	if e.DType.IsInt() {
		n = float64(e.Int)
	}
	return n == math.Trunc(n) && n >= float64(least) && n <= float64(most)
}

// throughs are the primitives of a cast to a small integer and back.
var throughs = map[ir.DType]string{ir.Int8: "ThroughInt8", ir.Uint8: "ThroughUint8"}

// through lowers a cast to a small integer and back, which is what is left of a
// tensor that is quantised and taken on as floats.
func (b *chunker) through(e *expr.Expr) loop.Operand {
	n := e.Args[0]
	prim := throughs[n.DType]
	if known(b.memo[n]) || prim == "" || e.DType != ir.Float32 || n.Op != expr.OpCast ||
		n.Args[0].DType != ir.Float32 {
		return none
	}
	return b.op(prim, ir.Float32, b.expr(n.Args[0]))
}

// rescaled lowers what is left of sums that are requantised and taken on as
// floats: a product and a sum in float64 that are limited, become an int16 and, with
// an offset, a small integer, and are a float32 again. All but the first step is done
// in float32.
func (b *chunker) rescaled(e *expr.Expr) loop.Operand {
	n := e.Args[0] // the small integer
	prim := throughs[n.DType]
	if prim == "" || e.DType != ir.Float32 || n.Op != expr.OpCast {
		return none
	}
	short, offset := n.Args[0], int64(0)
	if (short.Op == expr.OpAdd || short.Op == expr.OpSub) && short.Args[1].Op == expr.OpConst {
		if offset = short.Args[1].Int; short.Op == expr.OpSub {
			offset = -offset
		}
		short = short.Args[0]
	}
	if max(offset, -offset) > margin {
		return none
	}
	if short.DType != ir.Int16 || short.Op != expr.OpCast || short.Args[0].DType != ir.Float64 {
		return none
	}
	hi, lo := short.Args[0], (*expr.Expr)(nil)
	if hi.Op == expr.OpMin && hi.Args[1].Op == expr.OpMax {
		lo = hi.Args[1]
	}
	// Cutting off a fraction before it is limited by these is the same as after.
	if lo == nil || !whole(hi.Args[0], 0, margin) || !whole(lo.Args[0], -margin, 0) {
		return none
	}
	sum := lo.Args[1]
	if sum.Op != expr.OpAdd || sum.Args[0].Op != expr.OpMul {
		return none
	}
	product := sum.Args[0]
	wide := product.Args[0]
	if wide.Op != expr.OpCast || wide.Args[0].DType != ir.Float32 {
		return none
	}
	for _, x := range []*expr.Expr{n, short, hi, lo, sum, product} {
		if known(b.memo[x]) {
			return none
		}
	}
	args := b.exprs([]*expr.Expr{wide.Args[0], product.Args[1], sum.Args[1]})
	x := b.op("TruncMulAdd", ir.Float32, b.vectors(args)...)
	num := func(v float64) loop.Operand { return scalar(expr.Float(ir.Float32, v)) }
	x = b.op("ScalarMax", ir.Float32, num(lo.Args[0].Float), x)
	x = b.op("ScalarMin", ir.Float32, num(hi.Args[0].Float), x)
	x = b.op("AddScalar", ir.Float32, x, num(float64(offset)))
	return b.op(prim, ir.Float32, x)
}

// margin bounds limits and offsets, so that an int16 holds their sums.
const margin = 1<<14 - 1
