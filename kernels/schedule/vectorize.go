package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
)

// VectorReader tells Vectorize about what runs or prints the vectors.
type VectorReader struct {
	// Interpreted is for readers to whom an operation on an element is as expensive
	// as a primitive on a few: shorter loops are worth calls, and so are both arms
	// of the Selects in scalar functions. They also find out, where buffers of
	// other loops come from, whether these overlap: see loop.Chunks and
	// loop.Transpose.
	Interpreted bool
	// Native reports whether the reader has code for a scalar function, so that
	// what it is made of need not be lowered. Nil: for none.
	Native func(*expr.Func) bool
	// Share, if not nil, returns a divided loop over the iterations that the
	// reader runs.
	Share func(*loop.For) *loop.For
}

// Vectorize returns the body of f with loops as chunks of vectors and as
// transpositions where they can be and it is worth it.
func Vectorize(f *loop.Func, to VectorReader) []loop.Stmt {
	v := &vectorizer{f: f, to: to}
	return v.block(f.Body)
}

type vectorizer struct {
	f  *loop.Func
	to VectorReader
}

func (v *vectorizer) block(body []loop.Stmt) []loop.Stmt {
	return loop.Replace(body, v.loop)
}

// loop returns what does the work of a loop.
func (v *vectorizer) loop(s *loop.For) []loop.Stmt {
	if t := transpose(v.shared(s)); t != nil {
		if v.to.Interpreted {
			t.Else = v.plain(s)
		}
		return []loop.Stmt{t}
	}
	return v.plain(s)
}

// plain is loop for one that is no transposition.
func (v *vectorizer) plain(s *loop.For) []loop.Stmt {
	own := v.shared(s)
	if parts := split(own); parts != nil {
		return v.block(parts)
	}
	if v.to.Interpreted {
		if c := v.rows(own); c != nil {
			return []loop.Stmt{c}
		}
	}
	if c := v.chunks(own); c != nil {
		return []loop.Stmt{c}
	}
	c := *s
	c.Body = v.block(s.Body)
	return []loop.Stmt{&c}
}

// shared returns s, or the next loop in it, over the iterations that the reader
// runs, if they are divided.
func (v *vectorizer) shared(s *loop.For) *loop.For {
	if v.to.Share == nil {
		return s
	}
	if s.Divided {
		return v.to.Share(s)
	}
	if len(s.Body) == 1 {
		if in, ok := s.Body[0].(*loop.For); ok && in.Divided {
			c := *s
			c.Body = []loop.Stmt{v.to.Share(in)}
			return &c
		}
	}
	return s
}

// chunks returns an innermost loop as chunks, nil if it has to run element by
// element.
func (v *vectorizer) chunks(s *loop.For) *loop.Chunks {
	if c := clears(s); c != nil {
		return c
	}
	c := v.chunked(s)
	if c == nil && v.to.Interpreted {
		if s = straight(s); s != nil {
			c = v.chunked(s)
		}
	}
	return c
}

// clears returns a loop that sets neighbouring elements to zero as a chunk.
func clears(s *loop.For) *loop.Chunks {
	if len(s.Body) != 1 {
		return nil
	}
	st, ok := s.Body[0].(*loop.Store)
	if !ok || !expr.IsZero(st.Value) {
		return nil
	}
	coef, first, ok := st.At.Coef(s.Var)
	if lo, _ := s.Extent.Bounds(); !ok || !coef.Is(1) || first.Uses(s.Var) || lo < 0 {
		return nil
	}
	d := st.Value.DType
	return &loop.Chunks{Var: s.Var, Extent: s.Extent, Whole: true,
		Body: []loop.Stmt{loop.Call("Fill",
			loop.Operand{Kind: loop.RunOperand, DType: d, Buf: st.Buf, At: st.At},
			loop.Operand{Kind: loop.ScalarOperand, DType: d, Value: st.Value})}}
}

// The fewest iterations that are worth calls: in general, where all have vector
// forms, where a function is applied that has one, to copy, and where every
// operation on an element is a call itself. A call takes as long as 16 sums or
// two exponentials in Go.
const (
	shortestChunk       = 32
	shortestVector      = 16
	shortestApply       = 8
	shortestCopy        = 4
	shortestInterpreted = 4
)

// chunked returns s as chunks, or nil if it has to run element by element: it has
// inner loops or conditions, operations without a primitive, or too few
// iterations.
func (v *vectorizer) chunked(s *loop.For) *loop.Chunks {
	if !s.Vectorizable || s.InOrder {
		return nil
	}
	b := &chunker{v: s.Var, bufs: v.f.Bufs, to: v.to, vars: map[*expr.Var]loop.Operand{},
		syms: map[*sym.Symbol]loop.Operand{}, scalars: map[*expr.Var]bool{},
		memo: map[*expr.Expr]loop.Operand{}, bodies: map[*expr.Func]*expr.Expr{}}
	if !b.body(s.Body) {
		return nil
	}
	_, most := s.Extent.Bounds()
	if most < b.least() {
		return nil
	}
	c := &loop.Chunks{Var: s.Var, Extent: s.Extent, Size: min(most, strip.Size)}
	b.finish(c)
	c.Whole = most <= strip.Size || len(c.Body) == 1
	return c
}

// least returns the fewest iterations that are worth the calls.
func (b *chunker) least() int64 {
	if b.to.Interpreted {
		return shortestInterpreted
	}
	least := int64(shortestVector)
	for _, s := range b.calls {
		switch c, ok := s.(*loop.Vector); {
		case !ok:
		case c.Prim == "Copy" && len(b.calls) == 1:
			return shortestCopy
		case c.Prim == "Apply" && VectorForm(c.Fn) != "":
			return shortestApply
		case !vectorized(c):
			least = shortestChunk
		}
	}
	return least
}

// vectorized reports whether a call has a vector form: it has if it computes
// elements of float32, or bools from them.
func vectorized(c *loop.Vector) bool {
	switch c.Prim {
	case "Load", "Store", "Gather", "Iota", "Apply", "Mod", "ModScalar":
		return false
	}
	return !slices.ContainsFunc(c.Operands(), func(o loop.Operand) bool {
		return o.DType != ir.Float32 && o.DType != ir.Bool
	})
}

// VectorForm returns the name that the vector form of fn has in package strip, ""
// if there is none. Only functions of kernels/math have one: another of the
// same name computes something else.
func VectorForm(fn *expr.Func) string {
	if !math.Has(fn) {
		return ""
	}
	return strip.Vector(fn.Name)
}

// longestRow is the most iterations of an inner loop that runs in rows: the calls
// of longer ones are worth their while.
const longestRow = strip.Size / 4

// rows returns a loop that does nothing but run another in chunks as chunks that
// its iterations share; nil if that is not possible. Elements are in an order
// then that is not that of the loops: the other form runs if buffers overlap.
func (v *vectorizer) rows(s *loop.For) *loop.Chunks {
	if len(s.Body) != 1 || !s.Vectorizable {
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
	c := v.chunks(in)
	if c == nil || !inRows(c, s.Var) {
		return nil
	}
	alone := *s
	alone.Body = v.block(s.Body)
	c.Rows, c.RowCount, c.Else = s.Var, s.Extent, []loop.Stmt{&alone}
	return c
}

// inRows reports whether c runs on several iterations of outer at once: only
// what elements are loaded and stored depends on it.
func inRows(c *loop.Chunks, outer *sym.Symbol) bool {
	for _, s := range c.Body {
		call, ok := s.(*loop.Vector)
		if !ok || call.Dst.Kind == loop.NoOperand {
			return false
		}
		moves := call.Prim == "Load" || call.Prim == "Store"
		for _, o := range call.Args {
			if o.Kind == loop.IndexOperand && !moves ||
				o.Kind == loop.ScalarOperand && indexed(o.Value, outer) {
				return false
			}
		}
		if d := call.Dst; d.Kind == loop.RunOperand {
			if coef, _, ok := d.At.Coef(outer); !ok || !coef.Equal(c.Extent) {
				return false // the next row does not go on where one ends
			}
		}
	}
	return true
}

// anyIndex reports whether f holds for an index in e.
func anyIndex(e *expr.Expr, f func(sym.Expr) bool) bool {
	return expr.Any(e, func(e *expr.Expr) (found bool) {
		e.Indices(func(x sym.Expr) { found = found || f(x) })
		return found
	})
}

// indexed reports whether an index in e depends on s.
func indexed(e *expr.Expr, s *sym.Symbol) bool {
	return anyIndex(e, func(x sym.Expr) bool { return x.Uses(s) })
}

// transpose returns what s, the outer of two loops that only copy from rows to
// columns, does; nil if that is something else.
func transpose(s *loop.For) *loop.Transpose {
	if len(s.Body) != 1 || !s.Vectorizable {
		return nil
	}
	in, ok := s.Body[0].(*loop.For)
	if !ok || len(in.Body) != 1 || !in.Vectorizable || in.Extent.Uses(s.Var) {
		return nil
	}
	st, ok := in.Body[0].(*loop.Store)
	if !ok || st.Value.Op != expr.OpLoad || len(st.Value.Coords) != 1 || st.Buf == st.Value.Buf {
		return nil
	}
	dOuter, dInner, to, ok := steps(st.At, s.Var, in.Var)
	sOuter, sInner, from, ok2 := steps(st.Value.Coords[0], s.Var, in.Var)
	t := &loop.Transpose{Dst: st.Buf, Src: st.Value.Buf, To: to, From: from}
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
