package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
)

// The forms of primitives by what operands they have. All evaluate operands
// before they write the result.

// convert is of one operand.
func convert[D, S element](f func(dst []D, a []S)) form {
	return func(v *vectors, c *loop.Vector) step {
		a := operand[S](v, c.Args[0])
		take := result[D](v, c.Dst)
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
	take := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		x := a(fr, n)
		dst, to := take(fr, n)
		for i := range dst {
			dst[i] = f(fr, x[i])
		}
		store(to, dst)
	}
}

func pairwise[D, S element](f func(dst []D, a, b []S)) form {
	return func(v *vectors, c *loop.Vector) step {
		a, b := operand[S](v, c.Args[0]), operand[S](v, c.Args[1])
		take := result[D](v, c.Dst)
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
		a, b, d := operand[S](v, c.Args[0]), operand[R](v, c.Args[1]), operand[R](v, c.Args[2])
		take := result[D](v, c.Dst)
		return func(fr *frame, n int) {
			x, y, z := a(fr, n), b(fr, n), d(fr, n)
			dst, to := take(fr, n)
			f(dst, x, y, z)
			store(to, dst)
		}
	}
}

// second has a scalar as second operand.
func second[D, S element](f func(dst []D, a []S, s S)) form {
	return func(v *vectors, c *loop.Vector) step {
		a, s := operand[S](v, c.Args[0]), scalar[S](v, c.Args[1])
		take := result[D](v, c.Dst)
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
		take := result[T](v, c.Dst)
		return func(fr *frame, n int) {
			x, y := s(fr), a(fr, n)
			dst, to := take(fr, n)
			f(dst, x, y)
			store(to, dst)
		}
	}
}

// choose has a vector of bools and two operands, one of which may be a scalar.
func choose[T element](v *vectors, c *loop.Vector) step {
	cond := operand[bool](v, c.Args[0])
	take := result[T](v, c.Dst)
	switch c.Prim {
	case "SelectScalar":
		a, s := operand[T](v, c.Args[1]), scalar[T](v, c.Args[2])
		return func(fr *frame, n int) {
			x, y, z := cond(fr, n), a(fr, n), s(fr)
			dst, to := take(fr, n)
			strip.SelectScalar(dst, x, y, z)
			store(to, dst)
		}
	case "ScalarSelect":
		s, b := scalar[T](v, c.Args[1]), operand[T](v, c.Args[2])
		return func(fr *frame, n int) {
			x, y, z := cond(fr, n), s(fr), b(fr, n)
			dst, to := take(fr, n)
			strip.ScalarSelect(dst, x, y, z)
			store(to, dst)
		}
	}
	a, b := operand[T](v, c.Args[1]), operand[T](v, c.Args[2])
	return func(fr *frame, n int) {
		x, y, z := cond(fr, n), a(fr, n), b(fr, n)
		dst, to := take(fr, n)
		strip.Select(dst, x, y, z)
		store(to, dst)
	}
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
	take := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		dst, to := take(fr, n)
		strip.Iota(dst, int(first(fr)), int(by(fr)))
		store(to, dst)
	}
}

func fill[T element](v *vectors, c *loop.Vector) step {
	s := scalar[T](v, c.Args[0])
	take := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		x := s(fr)
		dst, to := take(fr, n)
		strip.Fill(dst, x)
		store(to, dst)
	}
}

// load takes elements of a buffer that lie a number of elements apart.
func load[T element](v *vectors, c *loop.Vector) step {
	from, at, by := c.Args[0], v.index(c.Args[1].At), v.index(c.Args[2].At)
	take := result[T](v, c.Dst)
	down := v.rows.step(c.Args[1].At)
	get := func(fr *frame, dst []T) {
		i, step := at(fr), by(fr)
		v.within(fr, from.Buf, i, step, len(dst))
		if src := elements[T](fr, from.Buf); src != nil {
			strip.Load(dst, src, int(i), int(step))
		} else {
			for k := range dst {
				decode(dst[k:k+1], v.element(fr, from, i))
				i += step
			}
		}
	}
	return func(fr *frame, n int) {
		dst, to := take(fr, n)
		switch src := elements[T](fr, from.Buf); {
		case v.rows == nil:
			get(fr, dst)
		case down >= 0 && src != nil:
			i, step, inner := at(fr), by(fr), v.rows.inner
			v.within(fr, from.Buf, i, step, inner)
			v.within(fr, from.Buf, i+int64(n/inner-1)*down, step, inner)
			for rest := dst; len(rest) > 0; rest = rest[inner:] {
				strip.Load(rest[:inner], src, int(i), int(step))
				i += down
			}
		default:
			v.rows.each(fr, n, func(from, to int) { get(fr, dst[from:to]) })
		}
		store(to, dst)
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
	take := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		index := indices(fr, n)
		dst, to := take(fr, n)
		i, step := at(fr), by(fr)
		src := elements[T](fr, from.Buf)
		for k := range dst {
			if j := i + int64(index[k])*step; uint64(j) < uint64(len(src)) {
				dst[k] = src[j]
			} else {
				decode(dst[k:k+1], v.element(fr, from, j))
			}
		}
		store(to, dst)
	}
}
