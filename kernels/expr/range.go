package expr

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// InRange returns lo <= idx < hi, as a constant if that can be told.
func InRange(idx, lo, hi sym.Expr) *Expr {
	return And(IdxLe(lo, idx), IdxLt(idx, hi))
}

// IdxLt returns a < b of index expressions, as a constant if that can be told.
func IdxLt(a, b sym.Expr) *Expr { return idxCompare(OpLt, a, b, 1) }

// IdxLe returns a <= b of index expressions, as a constant if that can be told.
func IdxLe(a, b sym.Expr) *Expr { return idxCompare(OpLe, a, b, 0) }

// idxCompare returns a op b, which means b - a >= gap.
func idxCompare(op Op, a, b sym.Expr, gap int64) *Expr {
	if sym.NonNegative(sym.Sub(sym.Sub(b, a), sym.Int(gap))) {
		return Bool(true)
	}
	if sym.NonNegative(sym.Sub(sym.Sub(a, b), sym.Int(1-gap))) {
		return Bool(false)
	}
	d := ir.Int64
	if fitsInt32(a) && fitsInt32(b) {
		d = ir.Int32
	}
	return comparison(op, Idx(d, a), Idx(d, b))
}

func fitsInt32(e sym.Expr) bool {
	return sym.NonNegative(sym.Sub(sym.Int(math.MaxInt32), e)) &&
		sym.NonNegative(sym.Sub(e, sym.Int(math.MinInt32)))
}
