package c

import (
	"math"
	"math/bits"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
)

// interval is a range of integers, inclusive.
type interval struct{ lo, hi int64 }

func (r interval) in(s interval) bool { return s.lo <= r.lo && r.hi <= s.hi }

func (r interval) hull(s interval) interval {
	return interval{min(r.lo, s.lo), max(r.hi, s.hi)}
}

// ranges knows the ranges of expressions.
type ranges struct {
	ints   map[*expr.Expr]known
	floats map[*expr.Expr]bounds
	// largest are bounds of the absolute values of operands that are floats, if not nil
	largest []float64
	// numbers are what scalars lie between, if not nil
	numbers []tuned.Number
	acc     *expr.Var // a float of at most sum, if not nil
	sum     float64
}

// known is a range, or that none is known.
type known struct {
	interval
	ok bool
}

// bounds is what a float lies between unless it is NaN.
type bounds struct {
	lo, hi float64
	nan    bool // it may be
}

// unbounded is all that is known of most floats.
var unbounded = bounds{math.Inf(-1), math.Inf(1), true}

// intRange returns values between which an integer or Bool expression lies. It
// reports false if all that is known is that it is a uint64.
func (rs *ranges) intRange(e *expr.Expr) (interval, bool) {
	if k, ok := rs.ints[e]; ok {
		return k.interval, k.ok
	}
	if rs.ints == nil {
		rs.ints = map[*expr.Expr]known{}
	}
	var k known
	if t := typeOf(e.DType); t.isInt() {
		k = known{rangeOf(t), t != tU64}
		if r, ok := rs.valueRange(e); ok && r.in(k.interval) {
			k = known{r, true}
		}
	}
	rs.ints[e] = k
	return k.interval, k.ok
}

// valueRange is the range of e's mathematical value, before it wraps around. It
// reports false if nothing better than the dtype is known.
func (rs *ranges) valueRange(e *expr.Expr) (interval, bool) {
	switch e.Op {
	case expr.OpConst:
		return interval{e.Int, e.Int}, e.DType != ir.Uint64 || e.Int >= 0
	case expr.OpScalar:
		if e.Buf < len(rs.numbers) && e.DType.Size() <= 4 { // which float64 holds
			n := rs.numbers[e.Buf]
			return interval{int64(n.Low), int64(n.High)}, true
		}
	case expr.OpIndex:
		lo, hi := e.Idx.Bounds()
		return interval{lo, hi}, true
	case expr.OpCast:
		if a := e.Args[0]; a.DType.IsInt() || a.DType == ir.Bool {
			return rs.intRange(a)
		}
		if rs.fits(e.Args[0], typeOf(e.DType)) { // NaN gives 0
			b := rs.floatBounds(e.Args[0])
			return interval{int64(b.lo), int64(b.hi)}.hull(interval{}), true
		}
		return rs.floatRange(e.Args[0])
	case expr.OpSelect:
		a, aok := rs.intRange(e.Args[1])
		b, bok := rs.intRange(e.Args[2])
		return a.hull(b), aok && bok
	}
	if len(e.Args) == 0 || e.Op >= expr.OpEq && e.Op <= expr.OpGe || !e.Args[0].DType.IsInt() {
		return interval{}, false
	}
	a, ok := rs.intRange(e.Args[0])
	if !ok {
		return interval{}, false
	}
	b := a
	if len(e.Args) > 1 {
		if b, ok = rs.intRange(e.Args[1]); !ok {
			return interval{}, false
		}
	}
	return combine(e.Op, a, b)
}

func combine(op expr.Op, a, b interval) (interval, bool) {
	switch op {
	case expr.OpAdd:
		lo, ok1 := addOK(a.lo, b.lo)
		hi, ok2 := addOK(a.hi, b.hi)
		return interval{lo, hi}, ok1 && ok2
	case expr.OpSub:
		if b.lo == math.MinInt64 {
			return interval{}, false
		}
		return combine(expr.OpAdd, a, interval{-b.hi, -b.lo})
	case expr.OpNeg:
		return combine(expr.OpSub, interval{}, a)
	case expr.OpMul:
		out := interval{math.MaxInt64, math.MinInt64}
		for _, x := range []int64{a.lo, a.hi} {
			for _, y := range []int64{b.lo, b.hi} {
				p, ok := mulOK(x, y)
				if !ok {
					return interval{}, false
				}
				out = out.hull(interval{p, p})
			}
		}
		return out, true
	case expr.OpMin:
		return interval{min(a.lo, b.lo), min(a.hi, b.hi)}, true
	case expr.OpMax:
		return interval{max(a.lo, b.lo), max(a.hi, b.hi)}, true
	case expr.OpAbs:
		if a.lo == math.MinInt64 {
			return interval{}, false
		}
		if a.lo >= 0 {
			return a, true
		}
		return interval{max(0, -a.hi), max(a.hi, -a.lo)}, true
	case expr.OpAnd:
		if b.lo >= 0 {
			return interval{0, b.hi}, true
		}
		return interval{0, a.hi}, a.lo >= 0
	case expr.OpShr:
		if b.lo == b.hi && b.lo >= 0 && b.lo < 64 {
			return interval{a.lo >> uint(b.lo), a.hi >> uint(b.lo)}, true
		}
		if a.lo >= 0 && b.lo >= 0 && b.lo < 64 {
			return interval{0, a.hi >> uint(b.lo)}, true
		}
		return a, true
	case expr.OpDiv:
		if b.lo > 0 {
			return interval{min(a.lo, 0), max(a.hi, 0)}.hull(interval{0, 0}), true
		}
	case expr.OpRem:
		if b.lo > 0 {
			return interval{max(min(a.lo, 0), 1-b.hi), min(max(a.hi, 0), b.hi-1)}, true
		}
	}
	return interval{}, false
}

// floatRange returns integers between which the truncated value of a float
// expression lies. It reports false if it may be NaN or out of int64.
func (rs *ranges) floatRange(e *expr.Expr) (interval, bool) {
	b := rs.floatBounds(e)
	if b.nan || b.lo < -0x1p62 || b.hi > 0x1p62 {
		return interval{}, false
	}
	return interval{int64(math.Trunc(b.lo)), int64(math.Trunc(b.hi))}, true
}

// floatBounds returns what is known of a float expression.
func (rs *ranges) floatBounds(e *expr.Expr) bounds {
	if b, ok := rs.floats[e]; ok {
		return b
	}
	if rs.floats == nil {
		rs.floats = map[*expr.Expr]bounds{}
	}
	b := rs.boundsOf(e)
	rs.floats[e] = b
	return b
}

func (rs *ranges) boundsOf(e *expr.Expr) bounds {
	switch e.Op {
	case expr.OpConst:
		if e.Float == e.Float {
			return bounds{e.Float, e.Float, false}
		}
	case expr.OpRound, expr.OpFloor, expr.OpCeil, expr.OpTrunc:
		b := rs.floatBounds(e.Args[0])
		return bounds{math.Floor(b.lo), math.Ceil(b.hi), b.nan}
	case expr.OpLocal:
		if rs.acc != nil && e.Var == rs.acc {
			return bounds{-rs.sum, rs.sum, false}
		}
	case expr.OpScalar:
		if e.Buf < len(rs.numbers) && !math.IsInf(rs.numbers[e.Buf].High, 1) {
			return bounds{rs.numbers[e.Buf].Low, rs.numbers[e.Buf].High, false}
		}
	case expr.OpLoad:
		if e.Buf < len(rs.largest) && e.DType == ir.Float32 {
			if most := rs.largest[e.Buf]; !math.IsInf(most, 1) {
				return bounds{-most, most, false}
			}
		}
	case expr.OpAdd:
		b, c := rs.floatBounds(e.Args[0]), e.Args[1]
		if whole(c) && b.lo >= -roundable && b.hi <= roundable {
			return bounds{b.lo + c.Float, b.hi + c.Float, b.nan}
		}
		return float32Bounds(e, b, rs.floatBounds(c), func(x, y float64) float64 { return x + y })
	case expr.OpSub:
		return float32Bounds(e, rs.floatBounds(e.Args[0]), rs.floatBounds(e.Args[1]),
			func(x, y float64) float64 { return x - y })
	case expr.OpMul:
		return float32Bounds(e, rs.floatBounds(e.Args[0]), rs.floatBounds(e.Args[1]),
			func(x, y float64) float64 { return x * y })
	case expr.OpMin, expr.OpMax:
		a, b := rs.floatBounds(e.Args[0]), rs.floatBounds(e.Args[1])
		out := bounds{min(a.lo, b.lo), min(a.hi, b.hi), b.nan}
		if e.Op == expr.OpMax {
			out = bounds{max(a.lo, b.lo), max(a.hi, b.hi), b.nan}
		}
		if a.nan { // then it is the second
			out.lo, out.hi = min(out.lo, b.lo), max(out.hi, b.hi)
		}
		return out
	case expr.OpCast:
		a := e.Args[0]
		if a.DType.IsFloat() && !expr.IsNarrow(e.DType) && !expr.IsNarrow(a.DType) {
			b := rs.floatBounds(a)
			return bounds{expr.RoundTo(e.DType, b.lo), expr.RoundTo(e.DType, b.hi), b.nan}
		}
		if r, ok := rs.intRange(a); ok && !a.DType.IsFloat() {
			return bounds{expr.RoundTo(e.DType, float64(r.lo)),
				expr.RoundTo(e.DType, float64(r.hi)), false}
		}
	case expr.OpSelect:
		a, b := rs.floatBounds(e.Args[1]), rs.floatBounds(e.Args[2])
		return bounds{min(a.lo, b.lo), max(a.hi, b.hi), a.nan || b.nan}
	}
	return unbounded
}

// float32Bounds are those of a sum or product e of two numbers, unbounded if it may overflow.
// The ends of its operands' bounds give its own, rounded as it is.
func float32Bounds(e *expr.Expr, b, c bounds, f func(x, y float64) float64) bounds {
	if e.DType != ir.Float32 || b.nan || c.nan {
		return unbounded
	}
	out := bounds{math.Inf(1), math.Inf(-1), false}
	for _, x := range []float64{b.lo, b.hi} {
		for _, y := range []float64{c.lo, c.hi} {
			z := f(x, y)
			if !(math.Abs(z) < math.MaxFloat32/2) {
				return unbounded
			}
			z = expr.RoundTo(ir.Float32, z)
			out.lo, out.hi = min(out.lo, z), max(out.hi, z)
		}
	}
	return out
}

func addOK(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func mulOK(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	return a * b, true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// settled returns body with the comparisons decided that always come out the
// same, about which compilers warn, and with what depends on them.
func settled(body []loop.Stmt) []loop.Stmt {
	rs := &ranges{}
	return loop.MapAll(body, rs.settle, func(x sym.Expr) sym.Expr { return x })
}

func (rs *ranges) settle(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e = expr.Build(e); len(e.Args) == 0 {
			return e
		}
		if made := rounding(e); made != nil {
			return made
		}
		switch e.Op {
		case expr.OpCast: // of bytes that hold what has been an int32 is that
			if x := e.Args[0]; x.Op == expr.OpCast && x.DType.IsInt() && e.DType == ir.Int32 &&
				x.Args[0].DType == ir.Int32 && rs.fitsInt(x.Args[0], x.DType) {
				return x.Args[0]
			}
		case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
			if truth, known := rs.decided(e.Op, e.Args[0], e.Args[1]); known {
				return expr.Bool(truth)
			}
		case expr.OpXor:
			if e.DType == ir.Bool && same(e.Args[0], e.Args[1]) {
				return expr.Bool(false)
			}
		case expr.OpMin, expr.OpMax:
			if same(e.Args[0], e.Args[1]) {
				return e.Args[0]
			}
		}
		return e
	})
}

// fitsInt reports whether an integer is one of those that d has.
func (rs *ranges) fitsInt(e *expr.Expr, d ir.DType) bool {
	r, ok := rs.intRange(e)
	return ok && r.in(rangeOf(typeOf(d)))
}

// same reports whether two expressions are the same computation.
func same(x, y *expr.Expr) bool {
	if x == y {
		return true
	}
	return x.Op == y.Op && x.DType == y.DType && len(x.Args) == len(y.Args) && expr.Equal(x, y)
}

// decided returns the outcome of a comparison of integers that is always the
// same.
func (rs *ranges) decided(op expr.Op, x, y *expr.Expr) (truth, known bool) {
	if x.DType.IsFloat() {
		return false, false
	}
	if (op == expr.OpEq || op == expr.OpNe) && (rs.neverEqual(x, y) || rs.neverEqual(y, x)) {
		return op == expr.OpNe, true
	}
	a, aok := rs.intRange(x)
	b, bok := rs.intRange(y)
	var less, equal, more bool // what is possible
	switch {
	case same(x, y):
		equal = true
	case aok && bok:
		less, more = a.lo < b.hi, a.hi > b.lo
		equal = a.lo <= b.hi && b.lo <= a.hi
	case bok && b.hi == 0 && b.lo == 0: // a uint64 and 0
		equal, more = true, true
	case aok && a.hi == 0 && a.lo == 0:
		equal, less = true, true
	default:
		return false, false
	}
	var yes, no bool
	switch op {
	case expr.OpEq, expr.OpNe:
		yes, no = equal, less || more
	case expr.OpLt, expr.OpGe:
		yes, no = less, equal || more
	case expr.OpLe, expr.OpGt:
		yes, no = less || equal, more
	}
	if op == expr.OpNe || op == expr.OpGe || op == expr.OpGt {
		yes, no = no, yes
	}
	return yes, yes != no
}

// neverEqual reports whether bits that x has or lacks keep it from being the
// constant y.
func (rs *ranges) neverEqual(x, y *expr.Expr) bool {
	if y.Op != expr.OpConst {
		return false
	}
	for x.Op == expr.OpCast && x.Args[0].DType.IsInt() {
		if r, ok := rs.intRange(x.Args[0]); !ok || !r.in(rangeOf(typeOf(x.DType))) {
			return false
		}
		x = x.Args[0]
	}
	if x.Op != expr.OpAnd && x.Op != expr.OpOr || !x.DType.IsInt() {
		return false
	}
	for _, a := range x.Args {
		switch {
		case a.Op != expr.OpConst:
		case x.Op == expr.OpOr && a.Int&^y.Int != 0, x.Op == expr.OpAnd && y.Int&^a.Int != 0:
			return true
		}
	}
	return false
}

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

// roundsSmall reports whether x is a rounding of what two sums round: its
// result is +0 then where it should be -0.
func (rs *ranges) roundsSmall(x *expr.Expr) bool {
	if x.Op != expr.OpRound || x.DType != ir.Float32 && x.DType != ir.Float64 {
		return false
	}
	b := rs.floatBounds(x.Args[0])
	return b.lo >= -roundable && b.hi <= roundable
}

// fits reports whether x is NaN or a number in the range of the small integer
// type t, to which NaN converts as 0.
func (rs *ranges) fits(x *expr.Expr, t ctype) bool {
	if x.DType != ir.Float32 && x.DType != ir.Float64 || !t.isInt() || t.bits() > 16 {
		return false
	}
	r, b := rangeOf(t), rs.floatBounds(x)
	return b.lo >= float64(r.lo) && b.hi <= float64(r.hi)
}

// throughInt reports whether e converts a float that is an integer in the range
// of a small dtype, never -0, or NaN, to that dtype and back.
func (rs *ranges) throughInt(e *expr.Expr) bool {
	if e.DType != ir.Float32 || e.Args[0].Op != expr.OpCast {
		return false
	}
	x := e.Args[0].Args[0]
	return x.Op == expr.OpAdd && x.Args[0].Op == expr.OpRound && whole(x.Args[1]) &&
		rs.fits(x, typeOf(e.Args[0].DType))
}

// rounded prints a float operand whose zero may have either sign.
func (p *printer) rounded(x *expr.Expr) code {
	if p.ranges.roundsSmall(x) {
		p.g.rounds = true
		return call(p.g.helper("round_small", x.DType), typeOf(x.DType), p.expr(x.Args[0]))
	}
	return p.expr(x)
}
