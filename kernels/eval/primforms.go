package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
)

// The forms of primitives by what operands they have. All evaluate operands
// before they write the result. They are not inlined into the table: into a function as
// large as that, the compiler inlines nothing.

// writes compiles what sets the elements of the result.
func writes[D element](v *vectors, c *loop.Vector, f func(fr *frame, n int, dst []D)) step {
	take := result[D](v, c.Dst)
	return func(fr *frame, n int) {
		dst, to := take(fr, n)
		f(fr, n, dst)
		store(to, dst)
	}
}

// convert is of one operand. It, pairwise and second do without writes, as most calls are
// of these: an LSTM of 24 µs takes 6 % longer with one more indirect call in each.
//
//go:noinline
func convert[D, S element](f func(dst []D, a []S)) form {
	return func(v *vectors, c *loop.Vector) step {
		a, take := operand[S](v, c.Args[0]), result[D](v, c.Dst)
		return func(fr *frame, n int) {
			x := a(fr, n)
			dst, to := take(fr, n)
			f(dst, x)
			store(to, dst)
		}
	}
}

func each[T element](v *vectors, c *loop.Vector, f func(*frame, T) T) step {
	a := operand[T](v, c.Args[0])
	return writes(v, c, func(fr *frame, n int, dst []T) {
		for i, x := range a(fr, n) {
			dst[i] = f(fr, x)
		}
	})
}

//go:noinline
func pairwise[D, S element](f func(dst []D, a, b []S)) form {
	return func(v *vectors, c *loop.Vector) step {
		a, b, take := operand[S](v, c.Args[0]), operand[S](v, c.Args[1]), result[D](v, c.Dst)
		return func(fr *frame, n int) {
			x, y := a(fr, n), b(fr, n)
			dst, to := take(fr, n)
			f(dst, x, y)
			store(to, dst)
		}
	}
}

func ternary[D, S, R element](f func(dst []D, a []S, b, c []R)) form {
	return func(v *vectors, c *loop.Vector) step {
		x, y, z := operand[S](v, c.Args[0]), operand[R](v, c.Args[1]), operand[R](v, c.Args[2])
		return writes(v, c, func(fr *frame, n int, dst []D) {
			f(dst, x(fr, n), y(fr, n), z(fr, n))
		})
	}
}

// second has a scalar as second operand.
//
//go:noinline
func second[D, S element](f func(dst []D, a []S, s S)) form {
	return func(v *vectors, c *loop.Vector) step {
		a, s, take := operand[S](v, c.Args[0]), scalar[S](v, c.Args[1]), result[D](v, c.Dst)
		return func(fr *frame, n int) {
			x, y := a(fr, n), s(fr)
			dst, to := take(fr, n)
			f(dst, x, y)
			store(to, dst)
		}
	}
}

// first has a scalar as first operand.
func first[T element](f func(dst []T, s T, a []T)) form {
	return func(v *vectors, c *loop.Vector) step {
		s, a := scalar[T](v, c.Args[0]), operand[T](v, c.Args[1])
		return writes(v, c, func(fr *frame, n int, dst []T) { f(dst, s(fr), a(fr, n)) })
	}
}

// choose has a vector of bools and two operands, one of which may be a scalar.
func choose[T element](v *vectors, c *loop.Vector) step {
	cond := operand[bool](v, c.Args[0])
	switch c.Prim {
	case "SelectScalar":
		a, s := operand[T](v, c.Args[1]), scalar[T](v, c.Args[2])
		return writes(v, c, func(fr *frame, n int, dst []T) {
			strip.SelectScalar(dst, cond(fr, n), a(fr, n), s(fr))
		})
	case "ScalarSelect":
		s, b := scalar[T](v, c.Args[1]), operand[T](v, c.Args[2])
		return writes(v, c, func(fr *frame, n int, dst []T) {
			strip.ScalarSelect(dst, cond(fr, n), s(fr), b(fr, n))
		})
	}
	a, b := operand[T](v, c.Args[1]), operand[T](v, c.Args[2])
	return writes(v, c, func(fr *frame, n int, dst []T) {
		strip.Select(dst, cond(fr, n), a(fr, n), b(fr, n))
	})
}

// constants are scalars that no iteration changes.
func constants[T element](v *vectors, list []loop.Operand) []T {
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = scalar[T](v, x)(nil)
	}
	return out
}

// floats32 are operands that are vectors of float32.
func floats32(v *vectors, list []loop.Operand) []func(*frame, int) []float32 {
	out := make([]func(*frame, int) []float32, len(list))
	for i, x := range list {
		out[i] = operand[float32](v, x)
	}
	return out
}

func quantize(v *vectors, c *loop.Vector) step {
	a, s := floats32(v, c.Args[:1]), constants[float32](v, c.Args[1:])
	return writes(v, c, func(fr *frame, n int, dst []float32) {
		strip.Quantize(dst, a[0](fr, n), s[0], s[1], s[2], s[3])
	})
}

func rescale(v *vectors, c *loop.Vector) step {
	a, s := floats32(v, c.Args[:3]), constants[float32](v, c.Args[3:])
	return writes(v, c, func(fr *frame, n int, dst []float32) {
		strip.Rescale(dst, a[0](fr, n), a[1](fr, n), a[2](fr, n), s[0], s[1], s[2], s[3])
	})
}

func mix(v *vectors, c *loop.Vector) step {
	a, s := floats32(v, c.Args[:2]), constants[int32](v, c.Args[2:8])
	less := constants[float32](v, c.Args[8:])
	return writes(v, c, func(fr *frame, n int, dst []float32) {
		strip.Mix(dst, a[0](fr, n), a[1](fr, n), s[0], s[1], s[2], s[3], s[4], s[5], less[0])
	})
}

// reduceFloats has an accumulator among the float locals. f gets the second
// operand if there is one.
func reduceFloats[T strip.Float](f func(acc T, a, b []T) T) form {
	return func(v *vectors, c *loop.Vector) step {
		a := operand[T](v, c.Args[0])
		b := func(*frame, int) []T { return nil }
		if len(c.Args) > 1 {
			b = operand[T](v, c.Args[1])
		}
		slot := v.known(c.Acc)
		if c.Acc.DType == ir.Float64 {
			return func(fr *frame, n int) {
				fr.f64s[slot] = float64(f(T(fr.f64s[slot]), a(fr, n), b(fr, n)))
			}
		}
		return func(fr *frame, n int) {
			fr.f32s[slot] = float32(f(T(fr.f32s[slot]), a(fr, n), b(fr, n)))
		}
	}
}

// alone is a reduction of one operand.
func alone[T element](f func(acc T, a []T) T) func(acc T, a, b []T) T {
	return func(acc T, a, _ []T) T { return f(acc, a) }
}

func reduceInts[T strip.Integer](f func(acc T, a []T) T) form {
	return func(v *vectors, c *loop.Vector) step {
		a, slot := operand[T](v, c.Args[0]), v.known(c.Acc)
		return func(fr *frame, n int) { fr.ints[slot] = int64(f(T(fr.ints[slot]), a(fr, n))) }
	}
}

func reduceBools(f func(acc bool, a []bool) bool) form {
	return func(v *vectors, c *loop.Vector) step {
		a, slot := operand[bool](v, c.Args[0]), v.known(c.Acc)
		return func(fr *frame, n int) {
			fr.ints[slot] = strip.FromBool[int64](f(fr.ints[slot] != 0, a(fr, n)))
		}
	}
}

func ascending[T strip.Integer](v *vectors, c *loop.Vector) step {
	first, by := v.index(c.Args[0].At), v.index(c.Args[1].At)
	return writes(v, c, func(fr *frame, _ int, dst []T) {
		strip.Iota(dst, int(first(fr)), int(by(fr)))
	})
}

func fill[T element](v *vectors, c *loop.Vector) step {
	s := scalar[T](v, c.Args[0])
	return writes(v, c, func(fr *frame, _ int, dst []T) { strip.Fill(dst, s(fr)) })
}

// load takes elements of a buffer that lie a number of elements apart.
func load[T element](v *vectors, c *loop.Vector) step {
	get := apart[T](v, c.Args[0], c.Args[1].At, v.index(c.Args[2].At))
	return writes(v, c, func(fr *frame, n int, dst []T) { get(fr, dst) })
}

// apart compiles what takes so elements of a buffer from an index on, those of every row
// if vectors hold several.
func apart[T element](v *vectors, from loop.Operand, first sym.Expr,
	by intFn) func(*frame, []T) {
	at, k, down := v.index(first), from.Buf, v.rows.step(first)
	get := func(fr *frame, dst []T) {
		i, step := at(fr), by(fr)
		v.within(fr, k, i, step, len(dst))
		switch src := elements[T](fr, k); {
		case src != nil:
			strip.Load(dst, src, int(i), int(step))
		case step == 1:
			decode(dst, v.run(fr, k, i, len(dst), from.DType.Size()))
		default:
			for j := range dst {
				decode(dst[j:j+1], v.element(fr, from, i))
				i += step
			}
		}
	}
	if v.rows == nil {
		return get
	}
	return func(fr *frame, dst []T) {
		src, n, inner := elements[T](fr, k), len(dst), v.rows.inner
		if down < 0 || src == nil {
			v.rows.each(fr, n, func(from, to int) { get(fr, dst[from:to]) })
			return
		}
		i, step := at(fr), by(fr)
		v.within(fr, k, i, step, inner)
		v.within(fr, k, i+int64(n/inner-1)*down, step, inner)
		for rest := dst; len(rest) > 0; rest = rest[inner:] {
			strip.Load(rest[:inner], src, int(i), int(step))
			i += down
		}
	}
}

// scatter stores elements so.
func scatter[T element](v *vectors, c *loop.Vector) step {
	at, by, a := v.index(c.Args[0].At), v.index(c.Args[1].At), operand[T](v, c.Args[2])
	put := func(fr *frame, x []T) {
		i, step := at(fr), by(fr)
		v.within(fr, c.Dst.Buf, i, step, len(x))
		if dst, ok := view[T](fr.bufs[c.Dst.Buf]); ok {
			strip.Store(dst, int(i), int(step), x)
			return
		}
		for k := range x {
			encode(v.element(fr, c.Dst, i), x[k:k+1])
			i += step
		}
	}
	return func(fr *frame, n int) {
		x := a(fr, n)
		if v.rows != nil {
			v.rows.each(fr, n, func(from, to int) { put(fr, x[from:to]) })
			return
		}
		put(fr, x)
	}
}

func gather[T element, I strip.Integer](v *vectors, c *loop.Vector) step {
	from, at, by, indices := c.Args[0], v.index(c.Args[1].At), v.index(c.Args[2].At),
		operand[I](v, c.Args[3])
	return writes(v, c, func(fr *frame, n int, dst []T) {
		index := indices(fr, n)
		i, step := at(fr), by(fr)
		src := elements[T](fr, from.Buf)
		for k := range dst {
			if j := i + int64(index[k])*step; uint64(j) < uint64(len(src)) {
				dst[k] = src[j]
			} else {
				decode(dst[k:k+1], v.element(fr, from, j))
			}
		}
	})
}
