package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windowRows is the most rows of a window's tile.
const windowRows = 6

// window writes a function that computes windows of channels, block by block:
// sums with weights, or the largest. Where there are masks, the largest are of any number of rows,
// and of several lines of rows.
func (m machine) window(name string, largest bool) {
	Implement(name + m.suffix)
	rows := field("rows")
	jump, finish := JEQ, func(int) { done() }
	var x, y reg.Register // how far a tile is from the first one
	if largest && m.bytes == 64 {
		lines, xLine, yLine := field("lines"), GP64(), GP64()
		XORQ(xLine, xLine)
		XORQ(yLine, yLine)
		Label("line")
		x, y = copied(xLine), copied(yLine)
		MOVQ(field("rows"), rows)
		Label("tile")
		jump = JGE
		finish = func(n int) {
			SUBQ(operand.U8(n), rows)
			JLE(operand.LabelRef("next"))
			for i, to := range []reg.Register{x, y} {
				on := scaled([]string{"next", "step"}[i])
				IMUL3Q(operand.U8(n), on, on)
				ADDQ(on, to)
			}
			JMP(operand.LabelRef("tile"))
		}
		defer func() {
			Label("next")
			advance(xLine, "xLine")
			advance(yLine, "yLine")
			DECQ(lines)
			JG(operand.LabelRef("line"))
			done()
		}()
	}
	for n := windowRows; n > 1; n-- {
		branch(fmt.Sprintf("rows%d", n), rows, n, jump)
	}
	for n := 1; n <= windowRows; n++ {
		prefix := fmt.Sprintf("rows%d", n)
		only(prefix, func() {
			Label(prefix)
			c := &windowCode{code: code{machine: m, prefix: prefix, rows: n, vecs: m.vecs,
				finish: func() { finish(n) }}, largest: largest, next: scaled("next"), off: GP64(),
				x: x, y: y}
			XORQ(c.off, c.off)
			c.blocks("width", c.off, c.label("narrow"), func() {
				c.prefix += "narrow"
				c.vecs = 1
			}, c.block)
		})
	}
}

// windowCode is a window's function while it is written.
type windowCode struct {
	code
	largest   bool
	next, off reg.Register // off is that of the block, in bytes
	x, y      reg.Register // of the tile, if not nil
}

func (c *windowCode) block() {
	if c.largest {
		c.begin(func(j int, v reg.VecVirtual) {
			if j == 0 {
				broadcast(Dereference(Param("t")).Field("low"), v)
			} else {
				VMOVAPS(c.sums[0][0], v)
			}
		})
	} else {
		bias := base("bias")
		ADDQ(c.off, bias)
		c.start(bias)
	}
	outer, xr := field("outer"), base("x")
	ADDQ(c.off, xr)
	if c.x != nil {
		ADDQ(c.x, xr)
	}
	steps := []reg.Register{xr}
	if !c.largest {
		wr := base("w")
		ADDQ(c.off, wr)
		steps = append(steps, wr)
	}
	// An extent may be zero.
	middle := field("middle")
	TESTQ(middle, middle)
	JZ(operand.LabelRef(c.label("epilogue")))
	TESTQ(outer, outer)
	JZ(operand.LabelRef(c.label("epilogue")))
	Label(c.label("outer"))
	var at []reg.Register
	for _, r := range steps {
		at = append(at, copied(r))
	}
	c.taps(at)
	c.advance(steps, "xOuter", "wOuter")
	DECQ(outer)
	JNZ(operand.LabelRef(c.label("outer")))
	Label(c.label("epilogue"))
	y, add := base("y"), base("add")
	ADDQ(c.off, y)
	if c.y != nil {
		ADDQ(c.y, y)
	}
	TESTQ(add, add)
	JZ(operand.LabelRef(c.label("nothing")))
	ADDQ(c.off, add)
	if c.y != nil {
		ADDQ(c.y, add)
	}
	Label(c.label("nothing"))
	c.epilogue(y, add)
}

// taps writes the loop over the taps from those at the given addresses on.
func (c *windowCode) taps(at []reg.Register) {
	middle := field("middle")
	Label(c.label("middle"))
	p := []reg.Register{at[0]}
	if c.rows > 3 {
		q := GP64()
		LEAQ(operand.Mem{Base: c.next, Index: c.next, Scale: 2}, q)
		ADDQ(at[0], q)
		p = append(p, q)
	}
	if c.largest {
		c.maximum(p)
	} else {
		c.multiply(p, at[1])
	}
	c.advance(at, "xMiddle", "wMiddle")
	DECQ(middle)
	JNZ(operand.LabelRef(c.label("middle")))
}

// advance adds numbers of elements in fields to registers.
func (c *windowCode) advance(to []reg.Register, fields ...string) {
	for i, r := range to {
		advance(r, fields[i])
	}
}

// multiply adds the products of a tap, whose weights are at w.
func (c *windowCode) multiply(p []reg.Register, w reg.Register) {
	b := c.loaded(w)
	for i := range c.rows {
		for j, s := range c.sums[i] {
			VFMADD231PS(c.masked(j, row(p, c.next, i, j*c.bytes), b[j], s)...)
		}
	}
}

// maximum takes the larger of what is there and a tap; what is no number is
// larger than all.
func (c *windowCode) maximum(p []reg.Register) {
	const ordered, unordered = 7, 3
	for i := range c.rows {
		for j, s := range c.sums[i] {
			v := c.vector()
			c.load(row(p, c.next, i, j*c.bytes), j, v)
			// If an operand is NaN, the result is the last operand, which is the first one here.
			if c.bytes == 64 {
				number := K()
				VCMPPS(operand.U8(ordered), s, s, number)
				VMAXPS(v, s, number, s)
				continue
			}
			none := c.vector()
			VCMPPS(operand.U8(unordered), s, s, none)
			VMAXPS(v, s, v)
			VBLENDVPS(none, s, v, s)
		}
	}
}
