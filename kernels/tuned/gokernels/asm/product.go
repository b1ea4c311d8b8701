package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func broadcast(c gotypes.Component, v reg.VecVirtual) {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(b.Addr, v)
}

// chains are the sums that a product of one row is taken in.
const chains = 4

// product writes the function that computes a tile's sums of products: a case
// for every number of rows, and on machines whose tiles are a whole panel wide
// for half of one. With dot an element has four bytes, sums are integers, and there may be rows for
// several tiles.
func (m machine) product(name string, dot bool) {
	Implement(name + m.suffix)
	widths := []int{m.vecs}
	if m.vecs*m.bytes/4 > 16 {
		widths = append(widths, m.vecs/2)
	}
	rows := field("rows")
	if dot {
		Label("tile")
		smaller(rows, field("length"))
	}
	width := field("width")
	for k, vecs := range widths {
		if k+1 < len(widths) {
			CMPQ(width, operand.U8(16))
			JEQ(operand.LabelRef("narrow"))
		} else if k > 0 {
			Label("narrow")
		}
		for n := m.rows; n > 1; n-- {
			branch(fmt.Sprintf("rows%dx%d", n, vecs), rows, n, JEQ)
		}
		c := &code{machine: m, prefix: fmt.Sprintf("rows1x%d", vecs), rows: 1, vecs: vecs,
			dot: dot}
		only(c.prefix, c.productRow)
		for n := m.rows; n > 1; n-- {
			c := &code{machine: m, prefix: fmt.Sprintf("rows%dx%d", n, vecs), rows: n, vecs: vecs,
				dot: dot}
			only(c.prefix, func() {
				Label(c.prefix)
				c.productRows()
			})
		}
	}
	if !dot {
		return
	}
	Label("next")
	MOVQ(field("left"), rows)
	tile := copied(rows)
	smaller(tile, field("length"))
	SUBQ(tile, rows)
	JLE(operand.LabelRef("all"))
	set("left", rows)
	for _, names := range [][2]string{{"xAt", "next"}, {"yAt", "step"}} {
		on := field(names[1])
		IMULQ(tile, on)
		ADDQ(field(names[0]), on)
		set(names[0], on)
	}
	JMP(operand.LabelRef("tile"))
	Label("all")
	done()
}

// set stores a number in a field.
func set(name string, v reg.Register) { Store(v, Dereference(Param("t")).Field(name)) }

// smaller makes a the smaller one.
func smaller(a, b reg.Register) {
	CMPQ(a, b)
	CMOVQGT(b, a)
}

// walk writes the loops around the innermost one, which body writes for x at
// the given address. It moves on in the weights at w, of which some are skipped.
func (c *code) walk(w reg.Register, body func(x reg.Register)) {
	outer, xr := field("outer"), base("x")
	if c.dot {
		advance(xr, "xAt")
	}
	Label(c.label("outer"))
	middle, xc := field("middle"), copied(xr)
	Label(c.label("middle"))
	body(xc)
	advance(w, "wMiddle")
	advance(xc, "xMiddle")
	DECQ(middle)
	JNZ(operand.LabelRef(c.label("middle")))
	advance(w, "wOuter")
	advance(xr, "xOuter")
	DECQ(outer)
	JNZ(operand.LabelRef(c.label("outer")))
}

func (c *code) end() {
	if c.bytes == 64 {
		c.mask(field("columns"))
	}
	if c.dot {
		c.floats()
	}
	rescaled := c.label("rescaled")
	if c.bytes == 64 {
		marked("branch", rescaled, func() {
			CMPQ(base("scale"), operand.U8(0))
			JNE(operand.LabelRef(rescaled))
		})
	}
	finish, y, add := done, base("y"), base("add")
	if c.dot {
		finish = func() { JMP(operand.LabelRef("next")) }
		advance(y, "yAt")
		TESTQ(add, add)
		JZ(operand.LabelRef(c.label("nothing")))
		advance(add, "yAt")
		Label(c.label("nothing"))
	}
	c.epilogue(y, add)
	finish()
	if c.bytes == 64 {
		only(rescaled, func() {
			Label(rescaled)
			at := reg.Register(nil)
			if c.dot {
				at = scaled("yAt")
			}
			c.rescale(nil, at, "step", "", finish)
		})
	}
}

// floats makes floats of sums.
func (c *code) floats() {
	for _, row := range c.sums {
		for _, s := range row {
			VCVTDQ2PS(s, s)
		}
	}
}

func (c *code) productRows() {
	next, w, wide := scaled("next"), base("w"), scaled("width")
	var fetch, fetchStep reg.Register
	// narrow panels are last ones, and rows of them are loads for the most part
	if c.vecs == c.machine.vecs && !c.dot {
		fetch, fetchStep = base("fetch"), field("fetchStep")
		ADDQ(field("fetched"), fetch)
		// Where nothing is to be fetched, an address that is read anyway: one that is
		// nobody's takes long to look up, in each step again.
		TESTQ(fetchStep, fetchStep)
		CMOVQEQ(w, fetch)
	}
	c.start(base("bias"))
	c.walk(w, func(x reg.Register) {
		p := rowPointers(c.rows, x, next)
		depth := field("depth")
		Label(c.label("depth"))
		b := c.loaded(w)
		ADDQ(wide, w)
		if fetch != nil {
			PREFETCHT0(operand.Mem{Base: fetch}) // not T1: most lines are asked for several times
			ADDQ(fetchStep, fetch)
		}
		for i := range c.rows {
			v := c.vector()
			VBROADCASTSS(row(p, next, i, 0), v)
			for j, s := range c.sums[i] {
				if c.dot {
					dotProduct(b[j], v, s)
				} else {
					VFMADD231PS(v, b[j], s)
				}
			}
		}
		for _, q := range p {
			ADDQ(operand.U8(4), q)
		}
		DECQ(depth)
		JNZ(operand.LabelRef(c.label("depth")))
	})
	c.end()
}

func (c *code) productRow() {
	w, wide := base("w"), scaled("width")
	c.start(base("bias"))
	for range chains - 1 {
		var more []reg.VecVirtual
		for range c.vecs {
			v := c.vector()
			if c.bytes == 64 {
				zero(v)
			} else {
				VXORPS(v, v, v)
			}
			more = append(more, v)
		}
		c.sums = append(c.sums, more)
	}
	tap := func(x reg.Register, i, sum int) {
		v := c.vector()
		VBROADCASTSS(operand.Mem{Base: x, Disp: 4 * i}, v)
		for j, s := range c.sums[sum] {
			if at := (operand.Mem{Base: w, Disp: j * c.bytes}); c.dot {
				dotProduct(at, v, s)
			} else {
				VFMADD231PS(at, v, s)
			}
		}
		ADDQ(wide, w)
	}
	c.walk(w, func(x reg.Register) {
		q := copied(x)
		depth := field("depth")
		SUBQ(operand.U8(chains), depth)
		JL(operand.LabelRef(c.label("rest")))
		Label(c.label("depth"))
		for i := range chains {
			tap(q, i, i)
		}
		ADDQ(operand.U8(4*chains), q)
		SUBQ(operand.U8(chains), depth)
		JGE(operand.LabelRef(c.label("depth")))
		Label(c.label("rest"))
		ADDQ(operand.U8(chains), depth)
		JZ(operand.LabelRef(c.label("done")))
		Label(c.label("one"))
		tap(q, 0, 0)
		ADDQ(operand.U8(4), q)
		DECQ(depth)
		JNZ(operand.LabelRef(c.label("one")))
		Label(c.label("done"))
	})
	plus := VADDPS
	if c.dot {
		plus = VPADDD
	}
	for j := range c.vecs {
		plus(c.sums[1][j], c.sums[0][j], c.sums[0][j])
		plus(c.sums[3][j], c.sums[2][j], c.sums[2][j])
		plus(c.sums[2][j], c.sums[0][j], c.sums[0][j])
	}
	c.sums = c.sums[:1]
	c.end()
}
