package lower

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Transposition is two loops that only copy from rows to columns, which
// strip.Transpose does: element To + DstStep·c + r of Dst is element
// From + SrcStep·r + c of Src, for r below Rows and c below Cols. Elements may
// lie in any order of the loops only if Dst and Src do not overlap.
type Transposition struct {
	Dst, Src         int // buffers, not the same
	To, From         sym.Expr
	DstStep, SrcStep int64 // more than 1
	Rows, Cols       sym.Expr
}

// Transposes returns what s, the outer of two loops, does; nil if that is
// something else.
func Transposes(s *loop.For) *Transposition {
	if len(s.Body) != 1 || !s.Strip {
		return nil
	}
	in, ok := s.Body[0].(*loop.For)
	if !ok || len(in.Body) != 1 || !in.Strip || in.Extent.Uses(s.Var) {
		return nil
	}
	st, ok := in.Body[0].(*loop.Store)
	if !ok || st.Value.Op != expr.OpLoad || len(st.Value.Coords) != 1 || st.Buf == st.Value.Buf {
		return nil
	}
	dOuter, dInner, to, ok := steps(st.At, s.Var, in.Var)
	sOuter, sInner, from, ok2 := steps(st.Value.Coords[0], s.Var, in.Var)
	t := &Transposition{Dst: st.Buf, Src: st.Value.Buf, To: to, From: from}
	switch {
	case !ok || !ok2:
		return nil
	case dInner == 1 && sOuter == 1 && dOuter > 1 && sInner > 1:
		t.DstStep, t.SrcStep, t.Cols, t.Rows = dOuter, sInner, s.Extent, in.Extent
	case dOuter == 1 && sInner == 1 && dInner > 1 && sOuter > 1:
		t.DstStep, t.SrcStep, t.Cols, t.Rows = dInner, sOuter, in.Extent, s.Extent
	default:
		return nil
	}
	return t
}

// steps returns how far an index moves with each of two variables, and what it is
// without them; ok is false if that is no constant.
func steps(at sym.Expr, outer, inner *sym.Symbol) (a, b int64, rest sym.Expr, ok bool) {
	x, rest, ok := at.Coef(outer)
	if !ok {
		return 0, 0, rest, false
	}
	y, rest, ok := rest.Coef(inner)
	a, okA := x.Const()
	b, okB := y.Const()
	return a, b, rest, ok && okA && okB && !rest.Uses(outer) && !rest.Uses(inner)
}
