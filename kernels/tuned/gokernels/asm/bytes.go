package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
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
	c.start(base("bias"))
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
	c.floats()
	c.end()
}

// pairRow writes the function that computes a row of 16 columns, of weights that are bytes: those
// of four columns are made 16 bits wide at a time, and a column has two sums until the end.
func (m machine) pairRow() {
	Implement("pairRow" + m.suffix)
	c := &code{machine: m, prefix: "row", rows: 1, vecs: 2}
	w, wide := base("w"), scaled("width")
	halves := m.vectors(4)
	for _, v := range halves {
		VPXOR(v, v, v)
	}
	c.walk(w, func(x reg.Register) {
		depth, from := field("depth"), copied(x)
		SHRQ(operand.U8(1), depth)
		Label(c.label("depth"))
		v := c.vector()
		VPBROADCASTQ(operand.Mem{Base: from}, v)
		for k, half := range halves {
			u := c.vector()
			VPMOVSXBW(operand.Mem{Base: w, Disp: 16 * k}, u)
			VPMADDWD(v, u, u)
			VPADDD(u, half, half)
		}
		ADDQ(wide, w)
		ADDQ(operand.U8(8), from)
		DECQ(depth)
		JNZ(operand.LabelRef(c.label("depth")))
	})
	c.sums = [][]reg.VecVirtual{m.vectors(2)}
	for j, s := range c.sums[0] {
		VPHADDD(halves[2*j+1], halves[2*j], s)
		VPERMQ(operand.U8(0xd8), s, s)
	}
	c.floats()
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

// spreadBytes writes a function that makes so many rows of each row of bytes, four of which lie in
// an element. Put makes row number k of elements.
func spreadBytes(name string, parts int, put func(k int, from, to operand.Mem)) {
	Implement(name)
	to, from := Load(Param("to").Base(), GP64()), Load(Param("from").Base(), GP64())
	width, rows := Load(Param("width"), GP64()), Load(Param("rows"), GP64())
	SHLQ(operand.U8(2), width)
	Label("rows")
	off := GP64()
	XORQ(off, off)
	Label("columns")
	row := copied(to)
	for k := range parts {
		put(k, operand.Mem{Base: from, Index: off, Scale: 1},
			operand.Mem{Base: row, Index: off, Scale: 1})
		if k+1 < parts {
			ADDQ(width, row)
		}
	}
	ADDQ(operand.U8(32), off)
	CMPQ(off, width)
	JB(operand.LabelRef("columns"))
	LEAQ(operand.Mem{Base: row, Index: width, Scale: 1}, to)
	ADDQ(width, from)
	DECQ(rows)
	JNZ(operand.LabelRef("rows"))
	done()
}

// signed makes byte number k of elements the high bits of integers of so many bits, and the others
// copies of its sign.
func signed(from operand.Mem, k, bits int) reg.VecVirtual {
	v := YMM()
	VMOVUPS(from, v)
	if k < 3 {
		VPSLLD(operand.U8(8*(3-k)), v, v)
	}
	VPSRAD(operand.U8(bits-8), v, v)
	return v
}

func spreadFloats() {
	spreadBytes("spreadFloats256", 4, func(k int, from, to operand.Mem) {
		v := signed(from, k, 32)
		VCVTDQ2PS(v, v)
		VMOVUPS(v, to)
	})
}

func spreadPairs() {
	spreadBytes("spreadPairs256", 2, func(k int, from, to operand.Mem) {
		low, high := signed(from, 2*k, 32), signed(from, 2*k+1, 16)
		VPBLENDW(operand.U8(0xaa), high, low, low)
		VMOVUPS(low, to)
	})
}

// bytePixels writes the function that makes bytes of the channels of pixels, to which a number
// is added. Behind each pixel some elements are left alone.
func bytePixels() {
	Implement("bytePixels512")
	to, from := Load(Param("to").Base(), GP64()), Load(Param("from").Base(), GP64())
	channels, count := Load(Param("channels"), GP64()), Load(Param("count"), GP64())
	offset := ZMM()
	VPBROADCASTD(Load(Param("offset"), GP64()).(reg.GPVirtual).As32(), offset)
	rest := copied(channels) // behind the last whole block
	ANDQ(operand.U8(15), rest)
	some, step := some(rest), copied(rest)
	ADDQ(operand.U8(3), step)
	ANDQ(operand.I8(-4), step)
	skip := Load(Param("skip"), GP64())
	SHLQ(operand.U8(2), skip)
	Label("pixel")
	left, v := copied(channels), ZMM()
	SUBQ(operand.U8(16), left)
	JL(operand.LabelRef("rest"))
	Label("block")
	VCVTTPS2DQ(operand.Mem{Base: from}, v)
	VPADDD(offset, v, v)
	VPMOVDB(v, operand.Mem{Base: to})
	ADDQ(operand.U8(64), from)
	ADDQ(operand.U8(16), to)
	SUBQ(operand.U8(16), left)
	JGE(operand.LabelRef("block"))
	Label("rest")
	TESTQ(rest, rest)
	JZ(operand.LabelRef("next"))
	VMOVUPS_Z(operand.Mem{Base: from}, some, v)
	VCVTTPS2DQ(v, v)
	VPADDD(offset, v, v)
	VPMOVDB(v, some, operand.Mem{Base: to})
	LEAQ(operand.Mem{Base: from, Index: rest, Scale: 4}, from)
	ADDQ(step, to)
	Label("next")
	ADDQ(skip, to)
	DECQ(count)
	JNZ(operand.LabelRef("pixel"))
	done()
}

// some makes a mask of as many elements as are left, up to a vector of them.
func some(left reg.Register) reg.OpmaskVirtual {
	bits, k := GP64(), K()
	MOVQ(operand.I32(-1), bits)
	BZHIQ(left, bits, bits)
	KMOVW(bits.As32(), k)
	return k
}

// sixteens writes a loop over blocks of 16 elements, the last of which may have less: body is told
// which there are. Addresses move on behind each.
func sixteens(count reg.Register, body func(k reg.OpmaskVirtual), addresses ...reg.Register) {
	Label("block")
	left := GP64()
	MOVQ(operand.U32(16), left)
	CMPQ(count, left)
	CMOVQLT(count, left)
	body(some(left))
	for _, a := range addresses {
		ADDQ(operand.U8(64), a)
	}
	SUBQ(operand.U8(16), count)
	JG(operand.LabelRef("block"))
	done()
}

// bytePlanes writes the function that makes words of the bytes of planes, which a number is added
// to.
func bytePlanes() {
	Implement("bytePlanes512")
	to, from := Load(Param("to").Base(), GP64()), Load(Param("from").Base(), GP64())
	planes, apart := Load(Param("planes"), GP64()), Load(Param("apart"), GP64())
	count := Load(Param("count"), GP64())
	offset, low := ZMM(), ZMM()
	VPBROADCASTD(Load(Param("offset"), GP64()).(reg.GPVirtual).As32(), offset)
	SHLQ(operand.U8(2), apart)
	VPTERNLOGD(operand.U8(0xff), low, low, low)
	VPSRLD(operand.U8(24), low, low)
	sixteens(count, func(k reg.OpmaskVirtual) {
		// From the last plane to the first, each shifts what there is.
		last, left, all := copied(planes), copied(planes), ZMM()
		DECQ(last)
		IMULQ(apart, last)
		ADDQ(from, last)
		VPXORD(all, all, all)
		Label("plane")
		v := ZMM()
		VMOVUPS_Z(operand.Mem{Base: last}, k, v)
		VCVTTPS2DQ(v, v)
		VPADDD(offset, v, v)
		VPANDD(low, v, v)
		VPSLLD(operand.U8(8), all, all)
		VPORD(v, all, all)
		SUBQ(apart, last)
		DECQ(left)
		JNZ(operand.LabelRef("plane"))
		VMOVDQU32(all, k, operand.Mem{Base: to})
	}, to, from)
}

// wordsAt writes the function that gathers words from places.
func wordsAt() {
	Implement("wordsAt512")
	to, from := Load(Param("to").Base(), GP64()), Load(Param("from").Base(), GP64())
	places, count := Load(Param("places").Base(), GP64()), Load(Param("count"), GP64())
	ADDQ(Load(Param("at"), GP64()), from)
	sixteens(count, func(k reg.OpmaskVirtual) {
		at, v, some := ZMM(), ZMM(), K()
		VMOVDQU32_Z(operand.Mem{Base: places}, k, at)
		KMOVW(k, some) // is cleared by what gathers
		VPXORD(v, v, v)
		VPGATHERDD(operand.Mem{Base: from, Index: at, Scale: 1}, some, v)
		VMOVDQU32(v, k, operand.Mem{Base: to})
	}, to, places)
}

// zero makes a vector of zeros of 512 bits. Avo does not know that the instruction reads nothing.
func zero(v reg.VecVirtual) {
	Instruction(&ir.Instruction{Opcode: "VPXORD", Operands: []operand.Op{v, v, v},
		Outputs: []operand.Op{v}})
}

// dotProduct adds to a sum the products of four bytes of w and four of x, which are unsigned. Avo
// does not know the instruction.
func dotProduct(w operand.Op, x, sum reg.VecVirtual) {
	Instruction(&ir.Instruction{Opcode: "VPDPBUSD", Operands: []operand.Op{w, x, sum},
		Inputs: []operand.Op{w, x, sum}, Outputs: []operand.Op{sum}})
}

// space writes the function that copies pixels of bytes, with zeros behind each.
func space() {
	Implement("space512")
	to, from := Load(Param("to").Base(), GP64()), Load(Param("from").Base(), GP64())
	channels, pixel := Load(Param("channels"), GP64()), Load(Param("pixel"), GP64())
	count := Load(Param("count"), GP64())
	ADDQ(Load(Param("first"), GP64()), from)
	var masks []reg.OpmaskVirtual
	for _, n := range []reg.Register{channels, pixel} {
		bits, k := GP64(), K()
		MOVQ(operand.I32(-1), bits)
		BZHIQ(n, bits, bits)
		KMOVQ(bits, k)
		masks = append(masks, k)
	}
	TESTQ(count, count)
	JZ(operand.LabelRef("done"))
	CMPQ(pixel, operand.U8(16))
	JLE(operand.LabelRef("narrow"))
	for _, name := range []string{"wide", "narrow"} {
		v := ZMM()
		if name == "narrow" {
			v = XMM()
		}
		Label(name)
		VMOVDQU8_Z(operand.Mem{Base: from}, masks[0], v)
		VMOVDQU8(v, masks[1], operand.Mem{Base: to})
		ADDQ(channels, from)
		ADDQ(pixel, to)
		DECQ(count)
		JNZ(operand.LabelRef(name))
		if name == "wide" {
			JMP(operand.LabelRef("done"))
		}
	}
	Label("done")
	done()
}
