package c

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// roundable is up to where adding and subtracting 1.5·2^23 rounds a float32:
// beyond, the sum is not between 2^23 and 2^24. The same of float64 has room.
const roundable = 1 << 22

// rounding brings the limits of what is rounded before the rounding, where they
// let it be two sums, which compilers make vectors of. It returns nil if e is
// nothing of that kind.
func rounding(e *expr.Expr) *expr.Expr {
	switch {
	case e.Op == expr.OpMin || e.Op == expr.OpMax:
		// The sum of a rounded number and a constant is never -0.
		c, sum := e.Args[0], e.Args[1]
		if c.Op != expr.OpConst {
			c, sum = sum, c
		}
		if e.DType != ir.Float32 || sum.Op != expr.OpAdd || sum.Args[0].Op != expr.OpRound ||
			!whole(c) || !whole(sum.Args[1]) {
			return nil
		}
		return expr.Add(expr.Round(limited(e, c, sum.Args[0].Args[0], c.Float-sum.Args[1].Float)),
			sum.Args[1])
	case e.Op == expr.OpCast && e.DType.IsInt() && e.Args[0].DType == ir.Float32:
		if x := limitsFirst(e.Args[0]); x != nil {
			return expr.Cast(e.DType, x)
		}
	}
	return nil
}

// limitsFirst turns min(max(round(x), lo), hi) into round(min(max(x, lo), hi)),
// which may be -0 where it was 0. It returns nil if e is not rounded, or already
// so.
func limitsFirst(e *expr.Expr) *expr.Expr {
	if e.Op != expr.OpMin && e.Op != expr.OpMax {
		return nil
	}
	c, x := e.Args[0], e.Args[1]
	if c.Op != expr.OpConst {
		c, x = x, c
	}
	if in := limitsFirst(x); in != nil {
		x = in
	}
	if x.Op != expr.OpRound || !whole(c) {
		return nil
	}
	return expr.Round(limited(e, c, x.Args[0], c.Float))
}

// limited is e, a Min or Max with constant c, of x and limit.
func limited(e, c, x *expr.Expr, limit float64) *expr.Expr {
	a, b := expr.Float(x.DType, limit), x
	if e.Args[0] != c {
		a, b = b, a
	}
	if e.Op == expr.OpMin {
		return expr.Min(a, b)
	}
	return expr.Max(a, b)
}

// whole reports whether e is a constant that is an integer and small.
func whole(e *expr.Expr) bool {
	return e.Op == expr.OpConst && e.DType.IsFloat() && e.Float == math.Trunc(e.Float) &&
		math.Abs(e.Float) <= roundable/2 &&
		(e.Float != 0 || !math.Signbit(e.Float))
}

// numberBounds returns what float e lies between unless it is NaN.
func numberBounds(e *expr.Expr) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	switch e.Op {
	case expr.OpConst:
		if e.Float == e.Float {
			return e.Float, e.Float
		}
	case expr.OpRound:
		lo, hi = numberBounds(e.Args[0])
		return math.Floor(lo), math.Ceil(hi)
	case expr.OpAdd:
		if c := e.Args[1]; whole(c) {
			if l, h := numberBounds(e.Args[0]); l >= -roundable && h <= roundable {
				return l + c.Float, h + c.Float
			}
		}
	case expr.OpMin, expr.OpMax:
		c, x := e.Args[0], e.Args[1]
		if c.Op != expr.OpConst {
			c, x = x, c
		}
		if c.Op != expr.OpConst || c.Float != c.Float {
			return lo, hi
		}
		lo, hi = numberBounds(x)
		if e.Op == expr.OpMin {
			lo, hi = min(lo, c.Float), min(hi, c.Float)
		} else {
			lo, hi = max(lo, c.Float), max(hi, c.Float)
		}
		if c != e.Args[0] { // which NaN gives
			lo, hi = min(lo, c.Float), max(hi, c.Float)
		}
	}
	return lo, hi
}

// roundsSmall reports whether x is a rounding of what two sums round: its
// result is +0 then where it should be -0.
func roundsSmall(x *expr.Expr) bool {
	if x.Op != expr.OpRound || x.DType != ir.Float32 && x.DType != ir.Float64 {
		return false
	}
	lo, hi := numberBounds(x.Args[0])
	return lo >= -roundable && hi <= roundable
}

// fits reports whether x is NaN or a number in the range of the small integer
// type t, to which NaN converts as 0.
func fits(x *expr.Expr, t ctype) bool {
	if x.DType != ir.Float32 && x.DType != ir.Float64 || !t.isInt() || t.bits() > 16 {
		return false
	}
	r := rangeOf(t)
	lo, hi := numberBounds(x)
	return lo >= float64(r.lo) && hi <= float64(r.hi)
}

// throughInt reports whether e converts a float that is an integer in the range
// of a small dtype, never -0, or NaN, to that dtype and back.
func throughInt(e *expr.Expr) bool {
	if e.DType != ir.Float32 || e.Args[0].Op != expr.OpCast {
		return false
	}
	t, _ := typeOf(e.Args[0].DType)
	x := e.Args[0].Args[0]
	return x.Op == expr.OpAdd && x.Args[0].Op == expr.OpRound && whole(x.Args[1]) && fits(x, t)
}

// rounded prints a float operand whose zero may have either sign.
func (p *printer) rounded(x *expr.Expr) code {
	if roundsSmall(x) {
		p.g.rounds = true
		t, _ := typeOf(x.DType)
		return call(p.g.helper("round_small", x.DType), t, p.expr(x.Args[0]))
	}
	return p.expr(x)
}
