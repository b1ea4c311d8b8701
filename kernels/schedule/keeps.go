package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// keepsScratch reports whether each thread that shares the marked loops of f, with
// scratch memory of its own, reads of it what one that runs all iterations does.
// Then what is loaded has been stored before in the same iteration, or outside of
// the marked loops if these do not store to the buffer.
func keepsScratch(f *loop.Func) bool {
	k := keeper{f: f}
	k.block(f.Body, nil)
	return !k.failed
}

// filled is a run of a scratch buffer that has been stored to.
type filled struct {
	buf       int
	from, len sym.Expr
}

type keeper struct {
	f      *loop.Func
	failed bool
}

// block checks a block before which known has been filled. It returns that and what
// the block has filled.
func (k *keeper) block(body []loop.Stmt, known []filled) []filled {
	for _, st := range body {
		loop.Exprs(st, func(e *expr.Expr) {
			expr.Walk(e, func(e *expr.Expr) {
				if e.Op == expr.OpLoad && k.f.Bufs[e.Buf].Role == loop.Scratch &&
					!slices.ContainsFunc(known, func(x filled) bool { return x.has(e) }) {
					k.failed = true
				}
			})
		})
		switch st := st.(type) {
		case *loop.Store:
			if k.f.Bufs[st.Buf].Role == loop.Scratch {
				known = append(slices.Clip(known), filled{st.Buf, st.At, sym.Int(1)})
			}
		case *loop.For:
			before := known
			if st.Divided {
				before = slices.DeleteFunc(slices.Clone(known), func(x filled) bool {
					return storesTo(st, x.buf)
				})
			}
			for _, x := range k.block(st.Body, before)[len(before):] {
				if x, ok := x.over(st); ok && !st.Divided && !breaks(st.Body) {
					known = append(slices.Clip(known), x)
				}
			}
		default:
			for _, b := range loop.Blocks(st) {
				k.block(b, known) // which need not run
			}
		}
	}
	return known
}

// has reports whether x has the element that e loads.
func (x filled) has(e *expr.Expr) bool {
	at := sym.Sub(e.Coords[0], x.from)
	return e.Buf == x.buf && sym.NonNegative(at) && sym.Less(at, x.len)
}

// over returns what all iterations of l together have filled if each has x.
func (x filled) over(l *loop.For) (filled, bool) {
	if x.len.Uses(l.Var) {
		return x, false
	}
	step, from, linear := x.from.Coef(l.Var)
	switch {
	case !linear || from.Uses(l.Var):
		return x, false
	case step.IsZero():
		return x, sym.Less(sym.Int(0), l.Extent)
	}
	return filled{x.buf, from, sym.Mul(x.len, l.Extent)}, step.Equal(x.len)
}

func storesTo(st loop.Stmt, buf int) bool {
	found := false
	loop.Walk([]loop.Stmt{st}, func(st loop.Stmt) {
		s, ok := st.(*loop.Store)
		found = found || ok && s.Buf == buf
	})
	return found
}
