package c

import (
	"math"
	"math/bits"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
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
}

// known is a range, or that none is known.
type known struct {
	interval
	ok bool
}

// bounds is a range of floats that are no NaN, or that none is known.
type bounds struct {
	lo, hi float64
	ok     bool
}

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
	if t, ok := typeOf(e.DType); ok && t.isInt() {
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
	case expr.OpIndex:
		lo, hi := e.Idx.Bounds()
		return interval{lo, hi}, true
	case expr.OpCast:
		if a := e.Args[0]; a.DType.IsInt() || a.DType == ir.Bool {
			return rs.intRange(a)
		}
		if t, _ := typeOf(e.DType); fits(e.Args[0], t) { // NaN gives 0
			lo, hi := numberBounds(e.Args[0])
			return interval{int64(lo), int64(hi)}.hull(interval{}), true
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
	lo, hi, ok := rs.floatBounds(e)
	if !ok || lo < -0x1p62 || hi > 0x1p62 {
		return interval{}, false
	}
	return interval{int64(math.Trunc(lo)), int64(math.Trunc(hi))}, true
}

// floatBounds returns what a float expression lies between, NaN excluded. The
// second operand of Min and Max is taken where the first is NaN.
func (rs *ranges) floatBounds(e *expr.Expr) (lo, hi float64, ok bool) {
	if b, ok := rs.floats[e]; ok {
		return b.lo, b.hi, b.ok
	}
	if rs.floats == nil {
		rs.floats = map[*expr.Expr]bounds{}
	}
	lo, hi, ok = rs.boundsOf(e)
	rs.floats[e] = bounds{lo, hi, ok}
	return lo, hi, ok
}

func (rs *ranges) boundsOf(e *expr.Expr) (lo, hi float64, ok bool) {
	inf := math.Inf(1)
	switch e.Op {
	case expr.OpConst:
		return e.Float, e.Float, e.Float == e.Float
	case expr.OpRound, expr.OpFloor, expr.OpCeil, expr.OpTrunc:
		lo, hi, ok = rs.floatBounds(e.Args[0])
		return math.Floor(lo), math.Ceil(hi), ok
	case expr.OpMin, expr.OpMax:
		l2, h2, ok2 := rs.floatBounds(e.Args[1])
		if !ok2 {
			return 0, 0, false
		}
		l1, h1, ok1 := rs.floatBounds(e.Args[0])
		switch {
		case e.Op == expr.OpMin && !ok1:
			return -inf, h2, true
		case e.Op == expr.OpMin:
			return min(l1, l2), min(h1, h2), true
		case !ok1:
			return l2, inf, true
		}
		return max(l1, l2), max(h1, h2), true
	case expr.OpCast:
		a := e.Args[0]
		if a.DType.IsFloat() {
			if expr.IsNarrow(e.DType) || expr.IsNarrow(a.DType) {
				return 0, 0, false
			}
			lo, hi, ok = rs.floatBounds(a)
			return expr.RoundTo(e.DType, lo), expr.RoundTo(e.DType, hi), ok
		}
		r, rok := rs.intRange(a)
		return expr.RoundTo(e.DType, float64(r.lo)), expr.RoundTo(e.DType, float64(r.hi)), rok
	case expr.OpSelect:
		l1, h1, ok1 := rs.floatBounds(e.Args[1])
		l2, h2, ok2 := rs.floatBounds(e.Args[2])
		return min(l1, l2), max(h1, h2), ok1 && ok2
	}
	return 0, 0, false
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
