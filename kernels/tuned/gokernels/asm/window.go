package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windowRows is the most rows of a window's tile.
const windowRows = 6

// window writes the function that computes windows of channels, block by block.
func (m machine) window() {
	Implement("window" + m.suffix)
	rows := field("rows")
	for n := windowRows; n > 1; n-- {
		CMPQ(rows, operand.U8(n))
		JEQ(operand.LabelRef(fmt.Sprintf("rows%d", n)))
	}
	for n := 1; n <= windowRows; n++ {
		c := &code{machine: m, prefix: fmt.Sprintf("rows%d", n), rows: n, vecs: m.vecs}
		Label(c.prefix)
		c.windowRows()
	}
}

func (c *code) windowRows() {
	next := scaled("next")
	off := GP64() // of the block
	XORQ(off, off)
	Label(c.label("block"))
	bias := base("bias")
	ADDQ(off, bias)
	c.start(bias)
	outer, xr, wr := field("outer"), base("x"), base("w")
	ADDQ(off, xr)
	ADDQ(off, wr)
	// An extent may be zero.
	middle := field("middle")
	TESTQ(middle, middle)
	JZ(operand.LabelRef(c.label("finish")))
	TESTQ(outer, outer)
	JZ(operand.LabelRef(c.label("finish")))
	Label(c.label("outer"))
	xc, wc := GP64(), GP64()
	MOVQ(xr, xc)
	MOVQ(wr, wc)
	middle = field("middle")
	Label(c.label("middle"))
	p := []reg.Register{xc}
	if c.rows > 3 {
		q := GP64()
		LEAQ(operand.Mem{Base: next, Index: next, Scale: 2}, q)
		ADDQ(xc, q)
		p = append(p, q)
	}
	var b []reg.VecVirtual
	for j := range c.vecs {
		v := c.vector()
		VMOVUPS(operand.Mem{Base: wc, Disp: j * c.bytes}, v)
		b = append(b, v)
	}
	for i := range c.rows {
		for j, s := range c.sums[i] {
			VFMADD231PS(row(p, next, i, j*c.bytes), b[j], s)
		}
	}
	for _, step := range []struct {
		field string
		p     reg.Register
	}{{"xMiddle", xc}, {"wMiddle", wc}} {
		r := field(step.field)
		LEAQ(operand.Mem{Base: step.p, Index: r, Scale: 4}, step.p)
	}
	DECQ(middle)
	JNZ(operand.LabelRef(c.label("middle")))
	for _, step := range []struct {
		field string
		p     reg.Register
	}{{"xOuter", xr}, {"wOuter", wr}} {
		r := field(step.field)
		LEAQ(operand.Mem{Base: step.p, Index: r, Scale: 4}, step.p)
	}
	DECQ(outer)
	JNZ(operand.LabelRef(c.label("outer")))
	Label(c.label("finish"))
	y, add := base("y"), base("add")
	ADDQ(off, y)
	TESTQ(add, add)
	JZ(operand.LabelRef(c.label("nothing")))
	ADDQ(off, add)
	Label(c.label("nothing"))
	c.finish(y, add)
	ADDQ(operand.U8(c.vecs*c.bytes), off)
	width := scaled("width")
	CMPQ(off, width)
	JLT(operand.LabelRef(c.label("block")))
	VZEROUPPER()
	RET()
}
