package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/strip/lower"
)

// transposes compiles a loop that is one of a transposition; nil if it is none.
// Where the buffers overlap, or are not aligned, the loops run as they are.
func (c *compiler) transposes(s *loop.For) func(*frame) bool {
	t := lower.Transposes(s)
	if t == nil || t.Dst >= len(c.p.f.Bufs) || t.Src >= len(c.p.f.Bufs) {
		return nil
	}
	d := c.p.f.Bufs[t.Dst].DType
	if d != c.p.f.Bufs[t.Src].DType || d == ir.Bool {
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
	to, from, cols, rows := c.index(t.To), c.index(t.From), c.index(t.Cols), c.index(t.Rows)
	return func(fr *frame) bool {
		p := placed{t, to(fr), from(fr), cols(fr), rows(fr)}
		if fr.shares([]int{t.Dst}, []int{t.Src}) || t.Dst == t.Src || !p.inside(fr) ||
			!move(fr, p) {
			return plain(fr)
		}
		fr.spend(p.cols * p.rows)
		return false
	}
}

// placed is a transposition in a run.
type placed struct {
	*lower.Transposition
	at, start, cols, rows int64
}

// inside reports whether all elements are there; if some are not, the plain loops
// say which.
func (p placed) inside(fr *frame) bool {
	return p.cols > 0 && p.rows > 0 && p.at >= 0 && p.start >= 0 &&
		p.at+(p.cols-1)*p.DstStep+p.rows <= fr.lens[p.Dst] && p.start+(p.rows-1)*p.SrcStep+p.cols <=
		fr.lens[p.Src]
}

func moveColumns[T element](fr *frame, p placed) bool {
	dst, ok := view[T](fr.bufs[p.Dst])
	src, ok2 := view[T](fr.bufs[p.Src])
	if !ok || !ok2 {
		return false
	}
	strip.Transpose(dst[p.at:], int(p.DstStep), src[p.start:], int(p.SrcStep), int(p.rows),
		int(p.cols))
	return true
}
