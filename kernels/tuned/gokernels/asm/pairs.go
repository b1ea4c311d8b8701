package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs writes the function that computes a tile's sums of products of integers, two of 16 bits
// in an element: a case for every number of rows.
func (m machine) pairs() {
	Implement("pairs" + m.suffix)
	rows := field("rows")
	cases := []int{1}
	for n := m.rows; n > 1; n-- {
		branch(fmt.Sprintf("rows%d", n), rows, n, JEQ)
		cases = append(cases, n)
	}
	for _, n := range cases {
		c := &code{machine: m, prefix: fmt.Sprintf("rows%d", n), rows: n, vecs: m.vecs}
		only(c.prefix, func() {
			if n > 1 {
				Label(c.prefix)
			}
			c.pairRows()
		})
	}
}

func (c *code) pairRows() {
	next, w, wide := scaled("next"), base("w"), scaled("width")
	c.begin(func(_ int, v reg.VecVirtual) { VPXOR(v, v, v) })
	c.walk(w, func(x reg.Register) {
		p := rowPointers(c.rows, x, next)
		depth := field("depth")
		Label(c.label("depth"))
		b := c.loaded(w)
		ADDQ(wide, w)
		for i := range c.rows {
			v := c.vector()
			VPBROADCASTD(row(p, next, i, 0), v)
			for j, s := range c.sums[i] {
				to := v
				if j+1 < c.vecs {
					to = c.vector()
				}
				VPMADDWD(b[j], v, to)
				VPADDD(to, s, s)
			}
		}
		for _, q := range p {
			ADDQ(operand.U8(4), q)
		}
		DECQ(depth)
		JNZ(operand.LabelRef(c.label("depth")))
	})
	bias := base("bias")
	for _, row := range c.sums {
		for j, s := range row {
			VCVTDQ2PS(s, s)
			VADDPS(operand.Mem{Base: bias, Disp: j * c.bytes}, s, s)
		}
	}
	c.end()
}

// pairNeighbours writes the function that makes pairs of neighbours, eight at a time.
func pairNeighbours() {
	Implement("pairNeighbours256")
	to, from := Load(Param("pairs").Base(), GP64()), Load(Param("from").Base(), GP64())
	blocks := Load(Param("blocks"), GP64())
	Label("block")
	a, b := YMM(), YMM()
	VCVTTPS2DQ(operand.Mem{Base: from}, a)
	VCVTTPS2DQ(operand.Mem{Base: from, Disp: 32}, b)
	VPACKSSDW(b, a, a)
	VPERMQ(operand.U8(0xd8), a, a)
	VMOVUPS(a, operand.Mem{Base: to})
	ADDQ(operand.U8(32), to)
	ADDQ(operand.U8(64), from)
	DECQ(blocks)
	JNZ(operand.LabelRef("block"))
	done()
}

// pairWeights writes the function that makes pairs of rows, width elements long.
func pairWeights() {
	Implement("pairWeights256")
	to, from := Load(Param("pairs").Base(), GP64()), Load(Param("from").Base(), GP64())
	width, pairs := Load(Param("width"), GP64()), Load(Param("rows"), GP64())
	SHLQ(operand.U8(2), width)
	Label("rows")
	second, off := GP64(), GP64()
	LEAQ(operand.Mem{Base: from, Index: width, Scale: 1}, second)
	XORQ(off, off)
	Label("columns")
	a, b := YMM(), YMM()
	VCVTTPS2DQ(operand.Mem{Base: from, Index: off, Scale: 1}, a)
	VCVTTPS2DQ(operand.Mem{Base: second, Index: off, Scale: 1}, b)
	VPSLLD(operand.U8(16), b, b)
	VPBLENDW(operand.U8(0xaa), b, a, a)
	VMOVUPS(a, operand.Mem{Base: to})
	ADDQ(operand.U8(32), to)
	ADDQ(operand.U8(32), off)
	CMPQ(off, width)
	JB(operand.LabelRef("columns"))
	LEAQ(operand.Mem{Base: second, Index: width, Scale: 1}, from)
	DECQ(pairs)
	JNZ(operand.LabelRef("rows"))
	done()
}
