package eval

import (
	"unsafe"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/strip"
)

// reader is what this package is to the makers of vectors.
var reader = schedule.VectorReader{Interpreted: true, Native: func(fn *expr.Func) bool {
	return vectorForm(fn) != nil || math.Native(fn) != nil
}}

// vectorForm returns the vector form of fn, nil if this machine has none.
func vectorForm(fn *expr.Func) func(dst, a []float32) bool {
	if schedule.VectorForm(fn) == "" {
		return nil
	}
	return strip.Function(fn.Name)
}

// chunks compiles chunks. Buffers are bytes, so that runs of them are decoded
// into vectors and encoded from them.
func (c *compiler) chunks(s *loop.Chunks) func(*frame) bool {
	if s.Rows != nil {
		return c.rows(s)
	}
	extent, slot := c.index(s.Extent), c.symbol(s.Var)
	calls := (&vectors{compiler: c}).calls(s)
	whole, most := s.Whole, s.Size
	return func(fr *frame) bool {
		count := extent(fr)
		size := most
		if whole {
			size = max(count, 1)
		}
		for i := int64(0); i < count; i += size {
			fr.ints[slot] = i
			n := int(min(size, count-i))
			fr.spend(int64(n))
			for _, f := range calls {
				f(fr, n)
			}
		}
		return false
	}
}

// vectors compiles the statements of chunks.
type vectors struct {
	*compiler
	temps []int
	rows  *rows // nil: of one loop
}

func (v *vectors) calls(s *loop.Chunks) []step {
	for range s.Temps {
		v.temps = append(v.temps, v.vector())
	}
	var calls []step
	for _, s := range s.Body {
		if call, ok := s.(*loop.Vector); ok {
			calls = append(calls, v.call(call))
		} else {
			let := v.stmt(s)
			calls = append(calls, func(fr *frame, _ int) { let(fr) })
		}
	}
	return calls
}

// vector reserves a vector in the frame.
func (c *compiler) vector() int {
	c.p.vectors++
	return c.p.vectors - 1
}

// element is the types that vectors have elements of. Narrow floats are held
// by their bits.
type element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// scratch returns n elements of vector slot.
func scratch[T element](fr *frame, slot, n int) []T {
	v, _ := fr.vectors[slot].([]T)
	if cap(v) < n {
		v = make([]T, max(n, strip.Size))
		fr.vectors[slot] = v
	}
	return v[:n]
}

// operand compiles a vector operand: what it returns gives its elements.
func operand[T element](v *vectors, o loop.Operand) func(fr *frame, n int) []T {
	switch o.Kind {
	case loop.TempOperand:
		slot := v.temps[o.Temp]
		return func(fr *frame, n int) []T { return scratch[T](fr, slot, n) }
	case loop.RunOperand:
		k, at, slot, size := o.Buf, v.index(o.At), v.vector(), o.DType.Size()
		direct := readable[T]()
		if r := v.rows; r != nil && r.step(o.At) != int64(r.inner) {
			get := apart[T](v, o, o.At, func(*frame) int64 { return 1 })
			return func(fr *frame, n int) []T {
				x := scratch[T](fr, slot, n)
				get(fr, x)
				return x
			}
		}
		return func(fr *frame, n int) []T {
			b := v.run(fr, k, at(fr), n, size)
			if direct {
				if x, ok := view[T](b); ok {
					return x
				}
			}
			x := scratch[T](fr, slot, n)
			decode(x, b)
			return x
		}
	}
	must.Fail("operand of kind %d where a vector is needed", o.Kind)
	return nil
}

// run returns the bytes of n elements from first on.
func (v *vectors) run(fr *frame, k int, first int64, n, size int) []byte {
	if first < 0 || first+int64(n) > fr.lens[k] {
		v.outside(fr, k, first, first+int64(n)-1)
	}
	return fr.bufs[k][first*int64(size) : (first+int64(n))*int64(size)]
}

// result compiles a destination: what it returns gives the elements to set and,
// if they are not where they belong, the bytes to which store takes them.
func result[T element](v *vectors, o loop.Operand) func(fr *frame, n int) (dst []T, to []byte) {
	if o.Kind == loop.TempOperand {
		slot := v.temps[o.Temp]
		return func(fr *frame, n int) ([]T, []byte) { return scratch[T](fr, slot, n), nil }
	}
	k, at, slot, size := o.Buf, v.index(o.At), v.vector(), o.DType.Size()
	return func(fr *frame, n int) ([]T, []byte) {
		b := v.run(fr, k, at(fr), n, size)
		if x, ok := view[T](b); ok {
			return x, nil
		}
		return scratch[T](fr, slot, n), b
	}
}

// store puts a result where it belongs.
func store[T element](to []byte, x []T) {
	if to != nil {
		encode(to, x)
	}
}

// element returns the bytes of element i of a buffer.
func (v *vectors) element(fr *frame, o loop.Operand, i int64) []byte {
	return v.run(fr, o.Buf, i, 1, o.DType.Size())
}

// scalar compiles an operand that is the same in all iterations.
func scalar[T element](v *vectors, o loop.Operand) func(*frame) T {
	x, d := v.value(o.Value), o.DType
	if e := o.Value; e.Op == expr.OpConst {
		k := held[T](d, x(nil))
		return func(*frame) T { return k }
	}
	return func(fr *frame) T { return held[T](d, x(fr)) }
}

// held returns x as vectors of d hold it.
func held[T element](d ir.DType, x Value) T {
	var b [8]byte
	Put(d, b[:d.Size()], 0, x)
	var out [1]T
	decode(out[:], b[:d.Size()])
	return out[0]
}

// rows says that vectors hold several iterations of an outer loop, each with all
// of the inner loop's: one call of a primitive then does what would else take one
// for each row.
type rows struct {
	outer *sym.Symbol
	slot  int // of outer
	inner int // iterations of the inner loop
}

// rows compiles chunks that hold several rows.
func (c *compiler) rows(s *loop.Chunks) func(*frame) bool {
	extent := c.index(s.RowCount)
	outer, slot := c.symbol(s.Rows), c.symbol(s.Var)
	alone := c.block(s.Else)
	n, _ := s.Extent.Const()
	v := &vectors{compiler: c, rows: &rows{outer: s.Rows, slot: outer, inner: int(n)}}
	calls := v.calls(s)
	read, written := touched(s)
	most := max(strip.Size/n, 1)
	return func(fr *frame) bool {
		if fr.shares(written, read) {
			return alone.run(fr)
		}
		count := extent(fr)
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

// touched returns the buffers that vectors read and write.
func touched(s *loop.Chunks) (read, written []int) {
	inBuffer := func(o loop.Operand) bool {
		return o.Kind == loop.RunOperand || o.Kind == loop.BufferOperand
	}
	for _, s := range s.Body {
		call, ok := s.(*loop.Vector)
		if !ok {
			continue
		}
		if inBuffer(call.Dst) {
			written = append(written, call.Dst.Buf)
		}
		for _, o := range call.Args {
			if inBuffer(o) {
				read = append(read, o.Buf)
			}
		}
	}
	return read, written
}

// shares reports whether a buffer that is written lies where another that is read
// does. One and the same buffer does not: of it, a chunk reads only what it is about
// to write in the same place.
func (fr *frame) shares(written, read []int) bool {
	for _, w := range written {
		for _, r := range read {
			if w != r && Overlap(fr.bufs[w], fr.bufs[r]) {
				return true
			}
		}
	}
	return false
}

// Overlap reports whether two slices have bytes in common.
func Overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

// step returns the distance of the rows whose first index is at, or -1 if the distance is
// not a constant of at least 0.
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

// transpose compiles a transposition. Where the buffers overlap, or are not
// aligned, the loops run as they are.
func (c *compiler) transpose(t *loop.Transpose) func(*frame) bool {
	plain := c.block(t.Else)
	d := c.p.f.Bufs[t.Dst].DType
	move := map[int]func(*frame, placed) bool{1: moveColumns[uint8], 2: moveColumns[uint16],
		4: moveColumns[float32], 8: moveColumns[uint64]}[d.Size()]
	if move == nil || d == ir.Bool { // a byte may be no bool
		return func(fr *frame) bool { return plain.run(fr) }
	}
	to, from, cols, rows := c.index(t.To), c.index(t.From), c.index(t.Cols), c.index(t.Rows)
	return func(fr *frame) bool {
		p := placed{t, to(fr), from(fr), cols(fr), rows(fr)}
		if fr.shares([]int{t.Dst}, []int{t.Src}) || !p.inside(fr) || !move(fr, p) {
			return plain.run(fr)
		}
		fr.spend(p.cols * p.rows)
		return false
	}
}

// placed is a transposition in a run.
type placed struct {
	*loop.Transpose
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
