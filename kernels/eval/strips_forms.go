package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/strip/lower"
)

// The forms of primitives by what operands they have. All evaluate operands
// before they write the result.

func unary[T element](v *vectors, c *lower.Call, f func(dst, a []T)) step { return convert(v, c, f) }

func convert[D, S element](v *vectors, c *lower.Call, f func(dst []D, a []S)) step {
	a := operand[S](v, c.Args[0])
	take, put := result[D](v, c.Dst)
	return func(fr *frame, n int) {
		x, dst := a(fr, n), take(fr, n)
		f(dst, x)
		put(fr, dst)
	}
}

func each[T element](v *vectors, c *lower.Call, f func(*frame, T) T) step {
	a := operand[T](v, c.Args[0])
	take, put := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		x, dst := a(fr, n), take(fr, n)
		for i := range dst {
			dst[i] = f(fr, x[i])
		}
		put(fr, dst)
	}
}

func binary2[T element](v *vectors, c *lower.Call, f func(dst, a, b []T)) step {
	return compare2(v, c, f)
}

func compare2[D, S element](v *vectors, c *lower.Call, f func(dst []D, a, b []S)) step {
	a, b := operand[S](v, c.Args[0]), operand[S](v, c.Args[1])
	take, put := result[D](v, c.Dst)
	return func(fr *frame, n int) {
		x, y, dst := a(fr, n), b(fr, n), take(fr, n)
		f(dst, x, y)
		put(fr, dst)
	}
}

func ternary[T element](v *vectors, c *lower.Call, f func(dst, a, b, c []T)) step {
	a, b, d := operand[T](v, c.Args[0]), operand[T](v, c.Args[1]), operand[T](v, c.Args[2])
	take, put := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		x, y, z, dst := a(fr, n), b(fr, n), d(fr, n), take(fr, n)
		f(dst, x, y, z)
		put(fr, dst)
	}
}

// second has a scalar as second operand.
func second[T element](v *vectors, c *lower.Call, f func(dst, a []T, s T)) step {
	return compareScalar(v, c, f)
}

func compareScalar[D, S element](v *vectors, c *lower.Call, f func(dst []D, a []S, s S)) step {
	a, s := operand[S](v, c.Args[0]), scalar[S](v, c.Args[1])
	take, put := result[D](v, c.Dst)
	return func(fr *frame, n int) {
		x, y, dst := a(fr, n), s(fr), take(fr, n)
		f(dst, x, y)
		put(fr, dst)
	}
}

// first has a scalar as first operand.
func first[T element](v *vectors, c *lower.Call, f func(dst []T, s T, a []T)) step {
	s, a := scalar[T](v, c.Args[0]), operand[T](v, c.Args[1])
	take, put := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		x, y, dst := s(fr), a(fr, n), take(fr, n)
		f(dst, x, y)
		put(fr, dst)
	}
}

// choose has a vector of bools and two operands, one of which may be a scalar.
func choose[T element](v *vectors, c *lower.Call) step {
	cond := operand[bool](v, c.Args[0])
	take, put := result[T](v, c.Dst)
	switch c.Prim {
	case "SelectScalar":
		a, s := operand[T](v, c.Args[1]), scalar[T](v, c.Args[2])
		return func(fr *frame, n int) {
			x, y, z, dst := cond(fr, n), a(fr, n), s(fr), take(fr, n)
			strip.SelectScalar(dst, x, y, z)
			put(fr, dst)
		}
	case "ScalarSelect":
		s, b := scalar[T](v, c.Args[1]), operand[T](v, c.Args[2])
		return func(fr *frame, n int) {
			x, y, z, dst := cond(fr, n), s(fr), b(fr, n), take(fr, n)
			strip.ScalarSelect(dst, x, y, z)
			put(fr, dst)
		}
	}
	a, b := operand[T](v, c.Args[1]), operand[T](v, c.Args[2])
	return func(fr *frame, n int) {
		x, y, z, dst := cond(fr, n), a(fr, n), b(fr, n), take(fr, n)
		strip.Select(dst, x, y, z)
		put(fr, dst)
	}
}

// reduceFloat has an accumulator among the float locals. f gets the second
// operand if there is one.
func reduceFloat[T strip.Float](v *vectors, c *lower.Call, f func(acc T, a, b []T) T) step {
	a := operand[T](v, c.Args[0])
	b := func(*frame, int) []T { return nil }
	if len(c.Args) > 1 {
		b = operand[T](v, c.Args[1])
	}
	slot := v.known(c.Acc)
	if c.Acc.DType == ir.Float64 {
		return func(fr *frame, n int) { fr.f64s[slot] = float64(f(T(fr.f64s[slot]), a(fr, n), b(fr, n))) }
	}
	return func(fr *frame, n int) { fr.f32s[slot] = float32(f(T(fr.f32s[slot]), a(fr, n), b(fr, n))) }
}

func reduceInt[T strip.Integer](v *vectors, c *lower.Call, f func(acc T, a []T) T) step {
	a, slot := operand[T](v, c.Args[0]), v.known(c.Acc)
	return func(fr *frame, n int) { fr.ints[slot] = int64(f(T(fr.ints[slot]), a(fr, n))) }
}

// moveCall compiles primitives that move elements of any type.
func moveCall[T element](v *vectors, c *lower.Call) step {
	switch c.Prim {
	case "Copy":
		return unary(v, c, func(dst, a []T) { copy(dst, a) })
	case "Fill":
		s := scalar[T](v, c.Args[0])
		take, put := result[T](v, c.Dst)
		return func(fr *frame, n int) {
			x, dst := s(fr), take(fr, n)
			strip.Fill(dst, x)
			put(fr, dst)
		}
	case "Load":
		from, at, by := c.Args[0], v.index(c.Args[1].At), v.index(c.Args[2].At)
		take, put := result[T](v, c.Dst)
		return func(fr *frame, n int) {
			dst := take(fr, n)
			i, step := at(fr), by(fr)
			for k := range dst {
				decode(dst[k:k+1], v.element(fr, from, i))
				i += step
			}
			put(fr, dst)
		}
	case "Store":
		at, by, a := v.index(c.Args[0].At), v.index(c.Args[1].At), operand[T](v, c.Args[2])
		return func(fr *frame, n int) {
			x := a(fr, n)
			i, step := at(fr), by(fr)
			for k := range x {
				encode(v.element(fr, c.Dst, i), x[k:k+1])
				i += step
			}
		}
	}
	return unknown(c)
}

// gatherBy compiles a gather whose indices have type I.
func gatherBy[I strip.Integer](v *vectors, c *lower.Call) step {
	switch c.Dst.DType {
	case ir.Bool:
		return gather[bool, I](v, c)
	case ir.Uint8:
		return gather[uint8, I](v, c)
	case ir.Int8:
		return gather[int8, I](v, c)
	case ir.Uint16, ir.Float16, ir.BFloat16:
		return gather[uint16, I](v, c)
	case ir.Int16:
		return gather[int16, I](v, c)
	case ir.Uint32:
		return gather[uint32, I](v, c)
	case ir.Int32:
		return gather[int32, I](v, c)
	case ir.Uint64:
		return gather[uint64, I](v, c)
	case ir.Int64:
		return gather[int64, I](v, c)
	case ir.Float32:
		return gather[float32, I](v, c)
	case ir.Float64:
		return gather[float64, I](v, c)
	}
	return unknown(c)
}

func gather[T element, I strip.Integer](v *vectors, c *lower.Call) step {
	from, at, by, indices := c.Args[0], v.index(c.Args[1].At), v.index(c.Args[2].At), operand[I](v, c.Args[3])
	take, put := result[T](v, c.Dst)
	return func(fr *frame, n int) {
		index, dst := indices(fr, n), take(fr, n)
		i, step := at(fr), by(fr)
		for k := range dst {
			decode(dst[k:k+1], v.element(fr, from, i+int64(index[k])*step))
		}
		put(fr, dst)
	}
}
