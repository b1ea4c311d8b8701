package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
)

// transposition is two loops that only copy from rows to columns: element
// to + dstStep·c + r is element from + srcStep·r + c.
type transposition struct {
	dst, src         int      // buffers
	to, from         sym.Expr // where both variables are 0
	dstStep, srcStep int64
	cols             sym.Expr // of c
	rows             sym.Expr // of r
}

// transposes compiles a loop that is one of a transposition; nil if it is none.
// Where the buffers overlap, or are not aligned, the loops run as they are.
func (c *compiler) transposes(s *loop.For) func(*frame) bool {
	t := transpositionOf(s)
	if t == nil || t.dst >= len(c.p.f.Bufs) || t.src >= len(c.p.f.Bufs) {
		return nil
	}
	d := c.p.f.Bufs[t.dst].DType
	if d != c.p.f.Bufs[t.src].DType || d == ir.Bool {
		return nil
	}
	var move func(*frame, placed) bool
	switch d.Size() {
	case 1:
		move = moveColumns[uint8]
	case 2:
		move = moveColumns[uint16]
	case 4:
		move = moveColumns[float32]
	case 8:
		move = moveColumns[uint64]
	default:
		return nil
	}
	plain := c.plain(s)
	to, from, cols, rows := c.index(t.to), c.index(t.from), c.index(t.cols), c.index(t.rows)
	return func(fr *frame) bool {
		p := placed{t, to(fr), from(fr), cols(fr), rows(fr)}
		if fr.shares([]int{t.dst}, []int{t.src}) || t.dst == t.src || !p.inside(fr) || !move(fr, p) {
			return plain(fr)
		}
		fr.spend(p.cols * p.rows)
		return false
	}
}

// placed is a transposition in a run.
type placed struct {
	*transposition
	at, start, cols, rows int64
}

// inside reports whether all elements are there; if some are not, the plain loops
// say which.
func (p placed) inside(fr *frame) bool {
	return p.cols > 0 && p.rows > 0 && p.at >= 0 && p.start >= 0 &&
		p.at+(p.cols-1)*p.dstStep+p.rows <= fr.lens[p.dst] && p.start+(p.rows-1)*p.srcStep+p.cols <= fr.lens[p.src]
}

func moveColumns[T element](fr *frame, p placed) bool {
	dst, ok := view[T](fr.bufs[p.dst])
	src, ok2 := view[T](fr.bufs[p.src])
	if !ok || !ok2 {
		return false
	}
	strip.Transpose(dst[p.at:], int(p.dstStep), src[p.start:], int(p.srcStep), int(p.rows), int(p.cols))
	return true
}

// transpositionOf returns what the loops of s do, nil if it is something else.
func transpositionOf(s *loop.For) *transposition {
	if len(s.Body) != 1 || !s.Strip {
		return nil
	}
	in, ok := s.Body[0].(*loop.For)
	if !ok || len(in.Body) != 1 || !in.Strip || in.Extent.Uses(s.Var) {
		return nil
	}
	st, ok := in.Body[0].(*loop.Store)
	if !ok || st.Value.Op != expr.OpLoad || len(st.Value.Coords) != 1 {
		return nil
	}
	dOuter, dInner, to, ok := steps(st.At, s.Var, in.Var)
	sOuter, sInner, from, ok2 := steps(st.Value.Coords[0], s.Var, in.Var)
	t := &transposition{dst: st.Buf, src: st.Value.Buf, to: to, from: from}
	switch {
	case !ok || !ok2:
		return nil
	case dInner == 1 && sOuter == 1 && dOuter > 1 && sInner > 1:
		t.dstStep, t.srcStep, t.cols, t.rows = dOuter, sInner, s.Extent, in.Extent
	case dOuter == 1 && sInner == 1 && dInner > 1 && sOuter > 1:
		t.dstStep, t.srcStep, t.cols, t.rows = dInner, sOuter, in.Extent, s.Extent
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
