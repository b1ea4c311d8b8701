package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// carry is a function of Winograd's method while it is written: it takes a square of
// size by size vectors of channels to another one, first along columns, then along
// rows, by way of a square on the stack.
type carry struct {
	code
	size   int
	square reg.Register // on the stack, aligned
	consts map[float64]reg.VecVirtual
}

// near and far are the points besides zero and infinity, with either sign.
const near, far = math.Sqrt2 / 2, math.Sqrt2

func (m machine) carry(name string, size int) *carry {
	if size == 6 {
		name += "Six"
	} else {
		name += "Four"
	}
	Implement(name + m.suffix)
	c := &carry{code: code{machine: m, prefix: "carry", vecs: 1}, size: size, square: GP64(),
		consts: map[float64]reg.VecVirtual{}}
	LEAQ(AllocLocal(size*size*m.bytes+m.bytes), c.square)
	ADDQ(operand.U8(m.bytes-1), c.square)
	ANDQ(operand.I8(-m.bytes), c.square)
	return c
}

// constant makes vectors of numbers.
func (c *carry) constant(xs ...float64) {
	for _, x := range xs {
		bits, low, v := GP32(), XMM(), c.vector()
		MOVL(operand.U32(math.Float32bits(float32(x))), bits)
		VMOVD(bits, low)
		VBROADCASTSS(low, v)
		c.consts[x] = v
	}
}

// lines are six addresses, step bytes apart.
type lines struct{ first, fourth, step reg.Register }

func linesFrom(first, step reg.Register) lines {
	l := lines{first, GP64(), step}
	LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, l.fourth)
	ADDQ(first, l.fourth)
	return l
}

func (l lines) at(i int) operand.Mem {
	m := operand.Mem{Base: l.first}
	if i >= 3 {
		m.Base = l.fourth
	}
	if i%3 > 0 {
		m.Index, m.Scale = l.step, uint8(i%3)
	}
	return m
}

func (c *carry) jump(to string) operand.Op { return operand.LabelRef(c.label(to)) }

// repeat writes body n times over.
func (c *carry) repeat(name string, n reg.Register, body func()) {
	Label(c.label(name))
	body()
	DECQ(n)
	JNZ(c.jump(name))
}

func copied(r reg.Register) reg.Register {
	c := GP64()
	MOVQ(r, c)
	return c
}

func number(n int) reg.Register {
	r := GP64()
	MOVQ(operand.U32(n), r)
	return r
}

// lift writes the function that takes an image's elements to their values at the
// points.
func (m machine) lift(size int) {
	c := m.carry("lift", size)
	if size == 6 {
		c.constant(0.5, 2.5, near, far)
	}
	x, v, at := base("x"), base("v"), scaled("at")
	ADDQ(at, x)
	xh, xw, step := scaled("xh"), scaled("xw"), scaled("step")
	channels := field("channels")
	Label(c.label("vector"))
	mask := GP64()
	inside, err := Dereference(Param("t")).Field("inside").Index(0).Resolve()
	if err != nil {
		panic(err)
	}
	LEAQ(inside.Addr, mask)
	p, q := copied(x), copied(c.square)
	c.repeat("column", number(size), func() {
		l, d := linesFrom(p, xh), c.vectors(size)
		partly := field("partly")
		TESTQ(partly, partly)
		JNZ(c.jump("partly"))
		for i := range d {
			VMOVUPS(l.at(i), d[i])
		}
		JMP(c.jump("loaded"))
		Label(c.label("partly"))
		for i := range d {
			m := operand.Mem{Base: mask, Disp: 4 * size * i}
			if c.bytes == 64 {
				k := K()
				KMOVW(m, k)
				VMOVUPS_Z(l.at(i), k, d[i])
			} else {
				VBROADCASTSS(m, d[i])
				VMASKMOVPS(l.at(i), d[i], d[i])
			}
		}
		Label(c.label("loaded"))
		c.up(d, func(i int, r reg.VecVirtual) {
			VMOVAPS(r, operand.Mem{Base: q, Disp: i * size * c.bytes})
		})
		ADDQ(xw, p)
		ADDQ(operand.U8(c.bytes), q)
		ADDQ(operand.U8(4), mask)
	})
	p, q = copied(v), copied(c.square)
	c.repeat("row", number(size), func() {
		l, d := linesFrom(p, step), c.vectors(size)
		for i := range d {
			VMOVAPS(operand.Mem{Base: q, Disp: i * c.bytes}, d[i])
		}
		c.up(d, func(i int, r reg.VecVirtual) { VMOVUPS(r, l.at(i)) })
		for range size / 2 {
			LEAQ(operand.Mem{Base: p, Index: step, Scale: 2}, p)
		}
		ADDQ(operand.U32(size*c.bytes), q)
	})
	ADDQ(operand.U8(c.bytes), x)
	ADDQ(operand.U8(c.bytes), v)
	SUBQ(operand.U8(c.bytes/4), channels)
	JNZ(c.jump("vector"))
	done()
}

// up takes a line of an image to its values: the result for point number i goes to
// put, which does not keep it.
func (c *carry) up(d []reg.VecVirtual, put func(i int, r reg.VecVirtual)) {
	if c.size == 4 {
		r := c.vectors(4)
		VSUBPS(d[2], d[0], r[0])
		VADDPS(d[2], d[1], r[1])
		VSUBPS(d[1], d[2], r[2])
		VSUBPS(d[3], d[1], r[3])
		for i := range r {
			put(i, r[i])
		}
		return
	}
	k := c.consts
	for i, put2 := range []int{0, 5} { // (d0 + d4) - 2.5·d2, (d1 + d5) - 2.5·d3
		r := c.vector()
		VADDPS(d[i+4], d[i], r)
		VFNMADD231PS(k[2.5], d[i+2], r)
		put(put2, r)
	}
	pair := func(first int, a, b reg.VecVirtual, x float64) { // a ± x·b
		r := c.vector()
		VMOVAPS(a, r)
		VFMADD231PS(k[x], b, r)
		VFNMADD231PS(k[x], b, a)
		put(first, r)
		put(first+1, a)
	}
	a, b := c.vector(), c.vector()
	VADDPS(d[2], d[2], a)
	VSUBPS(a, d[4], a)
	VADDPS(d[1], d[1], b)
	VSUBPS(b, d[3], b)
	pair(1, a, b, near)
	VFNMADD231PS(k[0.5], d[2], d[4])
	VFNMADD231PS(k[0.5], d[1], d[3])
	pair(3, d[4], d[3], far)
}

// land writes the function that takes sums at the points to results.
func (m machine) land(size int) {
	c := m.carry("land", size)
	if size == 6 {
		c.constant(near, far, 0.5, 2, near/2, 2*far)
	}
	s, bias, y, add := base("m"), base("bias"), base("y"), base("add")
	from, yw := scaled("from"), scaled("yw")
	channels := field("channels")
	Label(c.label("vector"))
	if c.bytes == 64 {
		c.mask(channels)
	}
	p, q := copied(s), copied(c.square)
	down := GP64()
	LEAQ(operand.Mem{Base: from, Index: from, Scale: 1}, down)
	if size == 6 {
		ADDQ(from, down)
	}
	ADDQ(down, down)
	c.repeat("column", number(size), func() {
		l := linesFrom(p, down)
		c.back(l.at, func(i int, r reg.VecVirtual) {
			VMOVAPS(r, operand.Mem{Base: q, Disp: i * size * c.bytes})
		})
		ADDQ(from, p)
		ADDQ(operand.U8(c.bytes), q)
	})
	rows := field("rows")
	p, q = copied(y), copied(c.square)
	z := copied(add)
	c.repeat("row", rows, func() {
		r := make([]reg.VecVirtual, size-2)
		c.back(func(i int) operand.Mem { return operand.Mem{Base: q, Disp: i * c.bytes} },
			func(i int, v reg.VecVirtual) { r[i] = v })
		for i := range r {
			VADDPS(operand.Mem{Base: bias}, r[i], r[i])
		}
		cols := field("cols")
		TESTQ(add, add)
		JZ(c.jump("plain"))
		to := linesFrom(z, yw)
		for i := range r {
			if i > 0 {
				CMPQ(cols, operand.U8(i))
				JLE(c.jump("plain"))
			}
			VADDPS(c.masked(0, to.at(i), r[i], r[i])...)
		}
		Label(c.label("plain"))
		low, high := c.bounds()
		to = linesFrom(p, yw)
		for i := range r {
			if i > 0 {
				CMPQ(cols, operand.U8(i))
				JLE(c.jump("stored"))
			}
			c.bound(r[i], low, high)
			VMOVUPS(c.masked(0, r[i], to.at(i))...)
		}
		Label(c.label("stored"))
		yh := field("yh")
		LEAQ(operand.Mem{Base: p, Index: yh, Scale: 4}, p)
		LEAQ(operand.Mem{Base: z, Index: yh, Scale: 4}, z)
		ADDQ(operand.U32(size*c.bytes), q)
	})
	TESTQ(add, add)
	JZ(c.jump("nothing"))
	ADDQ(operand.U8(c.bytes), add)
	Label(c.label("nothing"))
	for _, r := range []reg.Register{s, bias, y} {
		ADDQ(operand.U8(c.bytes), r)
	}
	SUBQ(operand.U8(c.bytes/4), channels)
	JG(c.jump("vector"))
	done()
}

// back takes a line of sums, number i of which is at m(i), to results, and gives
// them to put.
func (c *carry) back(m func(i int) operand.Mem, put func(i int, r reg.VecVirtual)) {
	both := func(i int) (sum, difference reg.VecVirtual) { // of sums i and i+1
		sum, difference, second := c.vector(), c.vector(), c.vector()
		VMOVUPS(m(i), difference)
		VMOVUPS(m(i+1), second)
		VADDPS(second, difference, sum)
		VSUBPS(second, difference, difference)
		return sum, difference
	}
	a, b := both(1)
	if c.size == 4 { // m0 + (m1 + m2), (m1 - m2) - m3
		VADDPS(m(0), a, a)
		VSUBPS(m(3), b, b)
		put(0, a)
		put(1, b)
		return
	}
	e, f := both(3)
	k, r := c.consts, c.vectors(4)
	VADDPS(e, a, r[0])
	VADDPS(m(0), r[0], r[0])
	for i, x := range []struct {
		a, e      reg.VecVirtual
		near, far float64
	}{{b, f, near, far}, {a, e, 0.5, 2}, {b, f, near / 2, 2 * far}} {
		VMULPS(k[x.near], x.a, r[i+1])
		VFMADD231PS(k[x.far], x.e, r[i+1])
	}
	VADDPS(m(5), r[3], r[3])
	for i := range r {
		put(i, r[i])
	}
}
