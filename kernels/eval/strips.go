package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/strip/lower"
)

// strips compiles an innermost loop into vector primitives, nil if it has to
// run element by element. Buffers are bytes, so that runs of them are decoded
// into vectors and encoded from them.
func (c *compiler) strips(s *loop.For) func(*frame) bool {
	code := c.stripsOf(s)
	if code == nil {
		return nil
	}
	extent := c.index(code.Extent)
	slot := c.symbol(code.Var)
	calls := (&vectors{compiler: c}).calls(code)
	whole := code.Whole
	return func(fr *frame) bool {
		count := extent(fr)
		size := int64(strip.Size)
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

// stripsOf returns an innermost loop as vector primitives, nil if there are none
// for it.
func (c *compiler) stripsOf(s *loop.For) *lower.Code {
	opts := lower.Options{Interpreted: true, Native: native, Length: func(k int) (sym.Expr, bool) {
		if k < 0 || k >= len(c.p.f.Bufs) {
			return sym.Expr{}, false
		}
		return c.p.f.Bufs[k].Len, true
	}}
	code := lower.Loop(s, opts)
	if code == nil {
		if s = straight(s); s != nil {
			code = lower.Loop(s, opts)
		}
	}
	return code
}

// native reports whether there is code for a scalar function, so that it need not
// be made of primitives.
func native(fn *expr.Func) bool { return lower.Function(fn) != nil || math.Native(fn) != nil }

// vectors compiles the calls of a strip.
type vectors struct {
	*compiler
	temps []int
	rows  *rows // nil: of one loop
}

func (v *vectors) calls(code *lower.Code) []step {
	for range code.Temps {
		v.temps = append(v.temps, v.vector())
	}
	var calls []step
	for i := range code.Calls {
		calls = append(calls, v.call(&code.Calls[i]))
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

// room returns n elements of vector slot.
func room[T element](fr *frame, slot, n int) []T {
	v, _ := fr.vectors[slot].([]T)
	if cap(v) < n {
		v = make([]T, max(n, strip.Size))
		fr.vectors[slot] = v
	}
	return v[:n]
}

// operand compiles a vector operand: what it returns gives its elements.
func operand[T element](v *vectors, o lower.Operand) func(fr *frame, n int) []T {
	switch o.Kind {
	case lower.Temp:
		slot := v.temps[o.Temp]
		return func(fr *frame, n int) []T { return room[T](fr, slot, n) }
	case lower.Run:
		k, at, slot, size := o.Buf, v.index(o.At), v.vector(), o.DType.Size()
		direct := readable[T]()
		if r := v.rows; r != nil && !contiguous(o.At, r.outer, sym.Int(int64(r.inner))) {
			down := r.step(o.At)
			return func(fr *frame, n int) []T {
				x := room[T](fr, slot, n)
				src := elements[T](fr, k)
				if down < 0 || src == nil {
					r.each(fr, n, func(from, to int) {
						decodeRun(x[from:to], v.run(fr, k, at(fr), r.inner, size))
					})
					return x
				}
				i := at(fr)
				v.within(fr, k, i, 1, r.inner)
				v.within(fr, k, i+int64(n/r.inner-1)*down, 1, r.inner)
				for rest := x; len(rest) > 0; rest = rest[r.inner:] {
					row := src[i:]
					for j := range rest[:r.inner] {
						rest[j] = row[j]
					}
					i += down
				}
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
			x := room[T](fr, slot, n)
			decode(x, b)
			return x
		}
	}
	fail("operand of kind %d where a vector is needed", o.Kind)
	return nil
}

// decodeRun sets x to the elements that b holds.
func decodeRun[T element](x []T, b []byte) {
	if readable[T]() {
		if src, ok := view[T](b); ok {
			copy(x, src)
			return
		}
	}
	decode(x, b)
}

// run returns the bytes of n elements from first on.
func (v *vectors) run(fr *frame, k int, first int64, n, size int) []byte {
	if first < 0 || first+int64(n) > fr.lens[k] {
		fail("access to elements %d to %d of buffer %s, which has %d", first, first+int64(n)-1,
			v.p.f.Bufs[k].Name, fr.lens[k])
	}
	return fr.bufs[k][first*int64(size) : (first+int64(n))*int64(size)]
}

// result compiles a destination: what it returns gives the elements to set and,
// if they are not where they belong, the bytes to which store takes them.
func result[T element](v *vectors, o lower.Operand) func(fr *frame, n int) (dst []T, to []byte) {
	if o.Kind == lower.Temp {
		slot := v.temps[o.Temp]
		return func(fr *frame, n int) ([]T, []byte) { return room[T](fr, slot, n), nil }
	}
	k, at, slot, size := o.Buf, v.index(o.At), v.vector(), o.DType.Size()
	return func(fr *frame, n int) ([]T, []byte) {
		b := v.run(fr, k, at(fr), n, size)
		if x, ok := view[T](b); ok {
			return x, nil
		}
		return room[T](fr, slot, n), b
	}
}

// store puts a result where it belongs.
func store[T element](to []byte, x []T) {
	if to != nil {
		encode(to, x)
	}
}

// element returns the bytes of element i of a buffer.
func (v *vectors) element(fr *frame, o lower.Operand, i int64) []byte {
	return v.run(fr, o.Buf, i, 1, o.DType.Size())
}

// scalar compiles an operand that is the same in all iterations.
func scalar[T element](v *vectors, o lower.Operand) func(*frame) T {
	x := v.value(o.Value)
	d := o.DType
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
