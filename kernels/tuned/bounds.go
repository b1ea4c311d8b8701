package tuned

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// Bounds is the part of an epilogue that kernels with Bounds carry out
// themselves.
type Bounds struct {
	Add       int // of Extra, -1: nothing
	Low, High float64
}

// Unbounded are bounds that change nothing.
func Unbounded() Bounds { return Bounds{Add: -1, Low: math.Inf(-1), High: math.Inf(1)} }

// Bounds returns b if
//
//	min(High, max(Low, Acc + Extra[Add][O]))
//
// is all that e does, a missing bound being infinite.
func (e *Epilogue) Bounds() (b Bounds, ok bool) {
	b = Unbounded()
	body := e.Body
	if e.DType != ir.Float32 || e.Acc.DType != ir.Float32 {
		return b, false
	}
	// The constant comes first: a result that is no number stays so.
	for ; (body.Op == expr.OpMin || body.Op == expr.OpMax) &&
		body.Args[0].Op == expr.OpConst; body = body.Args[1] {
		x := body.Args[0].Float
		switch {
		case body.Op == expr.OpMin && math.IsInf(b.High, 1) && math.IsInf(b.Low, -1):
			b.High = x
		case body.Op == expr.OpMax && math.IsInf(b.Low, -1) && x <= b.High:
			b.Low = x
		default:
			return b, false
		}
	}
	if body.Op == expr.OpAdd {
		acc, z := body.Args[0], body.Args[1]
		if acc.Op == expr.OpLoad {
			acc, z = z, acc
		}
		if z.Op != expr.OpLoad || z.DType != ir.Float32 || !z.Coords[0].Equal(e.O.Expr()) {
			return b, false
		}
		b.Add, body = z.Buf, acc
	}
	return b, body.Op == expr.OpLocal && body.Var == e.Acc
}
