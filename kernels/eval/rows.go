package eval

import (
	"unsafe"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/strip/lower"
)

// rows says that vectors hold several iterations of an outer loop, each with all
// of the inner loop's: one call of a primitive then does what would else take one
// for each row.
type rows struct {
	outer *sym.Symbol
	slot  int // of outer
	inner int // iterations of the inner loop
}

// longestRow is the most iterations of an inner loop that runs in rows: the calls
// of longer ones are worth their while.
const longestRow = strip.Size / 4

// rows compiles a loop that does nothing but run another in strips so that its
// iterations share the strips; nil if that is not possible. Buffers are in an
// order then that is not that of the loops, so what is written must not be what
// is read: the other form runs if it is.
func (c *compiler) rows(s *loop.For) func(*frame) bool {
	if len(s.Body) != 1 || !s.Strip {
		return nil
	}
	in, ok := s.Body[0].(*loop.For)
	if !ok {
		return nil
	}
	n, ok := in.Extent.Const()
	if !ok || n < 1 || n > longestRow {
		return nil
	}
	code := c.stripsOf(in)
	if code == nil {
		return nil
	}
	read, written, ok := inRows(code, s.Var)
	if !ok {
		return nil
	}
	extent := c.index(s.Extent)
	outer := c.symbol(s.Var)
	alone := c.block(s.Body)
	v := &vectors{compiler: c, rows: &rows{outer: s.Var, slot: outer, inner: int(n)}}
	slot := c.symbol(code.Var)
	calls := v.calls(code)
	most := max(strip.Size/n, 1)
	return func(fr *frame) bool {
		count := extent(fr)
		if fr.shares(written, read) {
			for i := int64(0); i < count; i++ {
				fr.ints[outer] = i
				fr.spend(1)
				if alone.run(fr) {
					break
				}
			}
			return false
		}
		fr.ints[slot] = 0
		for i := int64(0); i < count; i += most {
			fr.ints[outer] = i
			together := int(min(most, count-i) * n)
			fr.spend(int64(together))
			for _, f := range calls {
				f(fr, together)
			}
		}
		return false
	}
}

// inRows reports whether code runs on several iterations of outer at once: only
// what elements are loaded and stored depends on it. It returns the buffers.
func inRows(code *lower.Code, outer *sym.Symbol) (read, written []int, ok bool) {
	for i := range code.Calls {
		call := &code.Calls[i]
		if call.Acc != nil || call.Let != nil || call.Dst.Kind == lower.None {
			return nil, nil, false
		}
		moves := call.Prim == "Load" || call.Prim == "Store"
		for k, o := range append([]lower.Operand{call.Dst}, call.Args...) {
			switch o.Kind {
			case lower.Run, lower.Whole:
				if k == 0 {
					written = append(written, o.Buf)
				} else {
					read = append(read, o.Buf)
				}
			case lower.Index:
				if !moves {
					return nil, nil, false
				}
			case lower.Scalar:
				if dependsOn(o.Value, outer) {
					return nil, nil, false
				}
			}
		}
		if d := call.Dst; d.Kind == lower.Run && !contiguous(d.At, outer, code.Extent) {
			return nil, nil, false
		}
	}
	return read, written, true
}

// contiguous reports whether a run at index at goes on in the next row.
func contiguous(at sym.Expr, outer *sym.Symbol, n sym.Expr) bool {
	coef, _, ok := at.Coef(outer)
	return ok && coef.Equal(n)
}

func dependsOn(e *expr.Expr, s *sym.Symbol) bool {
	found := false
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(func(x sym.Expr) { found = found || x.Uses(s) })
	})
	return found
}

// shares reports whether a buffer that is written lies where another that is read
// does. One and the same buffer does too: a primitive may have its result where
// its operands are only if it is in the same order.
func (fr *frame) shares(written, read []int) bool {
	for _, w := range written {
		for _, r := range read {
			if w != r && overlap(fr.bufs[w], fr.bufs[r]) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two slices have bytes in common.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

// step returns how far apart the rows are whose first index is at; -1 if that is
// no constant of at least 0.
func (r *rows) step(at sym.Expr) int64 {
	if r == nil {
		return -1
	}
	coef, _, ok := at.Coef(r.outer)
	n, constant := coef.Const()
	if !ok || !constant || n < 0 {
		return -1
	}
	return n
}

// each calls f for every row of n elements together, the outer variable being
// that row's.
func (r *rows) each(fr *frame, n int, f func(from, to int)) {
	first := fr.ints[r.slot]
	for at := 0; at < n; at += r.inner {
		f(at, at+r.inner)
		fr.ints[r.slot]++
	}
	fr.ints[r.slot] = first
}
