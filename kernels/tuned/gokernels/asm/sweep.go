package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sweepMost is the most results of a sweep.
const sweepMost = 7

// sweep writes the function that computes neighbouring results of a row of a window,
// block by block of channels: a case for each number of taps, of pixels that
// results are apart, and of results. The last block may have less channels where
// there are masks.
func (m machine) sweep() {
	Implement("sweep" + m.suffix)
	c := &sweepCode{code: code{machine: m, rows: sweepMost}, off: GP64()}
	wide := 1
	if m.bytes == 64 {
		wide = m.vecs
	}
	for range sweepMost {
		c.all = append(c.all, m.vectors(wide))
	}
	XORQ(c.off, c.off)
	c.start(wide)
	c.blocks("channels", c.off, "narrow", func() { c.start(1) }, func() { only(c.prefix, c.block) })
}

// sweepCode is a sweep's function while it is written.
type sweepCode struct {
	code
	all [][]reg.VecVirtual // sums of the widest blocks
	off reg.Register       // of the block, in bytes
}

// start begins with blocks of so many vectors.
func (c *sweepCode) start(vecs int) {
	c.prefix, c.vecs, c.sums = fmt.Sprintf("wide%d", vecs), vecs, nil
	for _, row := range c.all {
		c.sums = append(c.sums, row[:vecs])
	}
}

func (c *sweepCode) block() {
	at := func(taps, by, n int) string {
		return c.label(fmt.Sprintf("taps%dby%drows%d", taps, by, n))
	}
	epilogue := operand.LabelRef(c.label("epilogue"))
	count, by, taps := field("count"), field("by"), field("taps")
	group := c.label("five")
	CMPQ(taps, operand.U8(5))
	JEQ(operand.LabelRef(group))
	for _, taps := range []int{3, 5} {
		if taps == 5 {
			Label(group)
		}
		CMPQ(by, operand.U8(2))
		two := c.label(fmt.Sprintf("taps%dby2", taps))
		JEQ(operand.LabelRef(two))
		for by := 1; by <= 2; by++ {
			if by == 2 {
				Label(two)
			}
			for n := sweepMost; n > 1; n-- {
				branch(at(taps, by, n), count, n, JEQ)
			}
			for n := 1; n <= sweepMost; n++ {
				only(at(taps, by, n), func() {
					if n > 1 {
						Label(at(taps, by, n))
					}
					c.products(at(taps, by, n), taps, by, n)
					if taps < 5 || by < 2 || n < sweepMost { // the last case is followed by what ends all
						JMP(epilogue)
					}
				})
			}
		}
	}
	Label(c.label("epilogue"))
	c.epilogueSome()
}

// products adds the products of all rows of taps for n results.
func (c *sweepCode) products(name string, taps, by, n int) {
	bias := base("bias")
	ADDQ(c.off, bias)
	for i := range n {
		for j, s := range c.sums[i] {
			if i == 0 {
				c.load(operand.Mem{Base: bias, Disp: j * c.bytes}, j, s)
			} else {
				VMOVAPS(c.sums[0][j], s)
			}
		}
	}
	rows := field("rows")
	TESTQ(rows, rows)
	JZ(operand.LabelRef(c.label("epilogue")))
	next, tap := scaled("xNext"), scaled("wNext")
	first, width, none := field("first"), field("width"), base("none")
	xr, wr := copied(first), base("w")
	IMULQ(next, xr)
	ADDQ(c.off, xr)
	ADDQ(c.off, wr)
	from := base("x")
	ADDQ(from, xr)
	Label(name + "row")
	x, w := copied(xr), copied(wr)
	weights := make([][]reg.VecVirtual, taps)
	for k := range weights {
		weights[k] = c.loaded(w)
		if k+1 < taps {
			ADDQ(tap, w)
		}
	}
	last := (n-1)*by + taps - 1
	for p := range last + 1 {
		pixel := x
		if p < taps-1 || p > (n-1)*by { // it may be outside
			at := GP64()
			pixel = copied(x)
			LEAQ(operand.Mem{Base: first, Disp: p}, at)
			CMPQ(at, width)
			CMOVQCC(none, pixel) // a negative one is a large one
		}
		for j := range c.vecs {
			v := c.vector()
			c.load(operand.Mem{Base: pixel, Disp: j * c.bytes}, j, v)
			for i := range n {
				if k := p - i*by; k >= 0 && k < taps {
					VFMADD231PS(v, weights[k][j], c.sums[i][j])
				}
			}
		}
		if p < last {
			ADDQ(next, x)
		}
	}
	advance(xr, "xRow")
	advance(wr, "wRow")
	DECQ(rows)
	JNZ(operand.LabelRef(name + "row"))
}

// epilogueSome adds, bounds and stores the sums of as many results as there are.
func (c *sweepCode) epilogueSome() {
	y, add := base("y"), base("add")
	if c.bytes == 64 {
		scale := base("scale")
		branch(c.label("rescaled"), scale, 0, JNE)
	}
	TESTQ(add, add)
	JZ(operand.LabelRef(c.label("nothing")))
	ADDQ(c.off, add)
	Label(c.label("nothing"))
	ADDQ(c.off, y)
	c.epilogueRows(y, add, scaled("channels"), "count")
	if c.bytes == 64 {
		end := operand.LabelRef(c.label("end"))
		JMP(end)
		only(c.label("rescaled"), func() {
			Label(c.label("rescaled"))
			c.rescale(c.off, c.off, "channels", "count", func() { JMP(end) })
		})
		Label(c.label("end"))
	}
}
