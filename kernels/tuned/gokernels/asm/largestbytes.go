package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// largestBytes writes the function that takes the largest of bytes that windows see, of at most 64
// channels at a time.
func largestBytes() {
	Implement("largestBytes512")
	only("bytes", largestOfBytes)
	done()
}

// largestOfBytes writes the body: a loop over blocks of 64 channels.
func largestOfBytes() {
	off := GP64()
	XORQ(off, off)
	Label("block")
	left, most := field("width"), GP64()
	SUBQ(off, left)
	MOVQ(operand.U32(64), most)
	smaller(left, most)
	bits, k := GP64(), K()
	MOVQ(operand.I32(-1), bits)
	BZHIQ(left, bits, bits)
	KMOVQ(bits, k)
	x, y, lines := base("x"), base("y"), field("lines")
	ADDQ(field("xAt"), x)
	ADDQ(off, x)
	ADDQ(field("yAt"), y)
	ADDQ(off, y)
	two := GP64()
	MOVQ(field("middle"), two)
	SUBQ(operand.U8(2), two)
	CMPQ(left, operand.U8(16))
	JLE(operand.LabelRef("narrow"))
	for _, of := range []struct {
		name   string
		vector func() reg.VecVirtual
	}{{"wide", ZMM}, {"narrow", XMM}} { // most of long vectors lie in two lines of the cache
		Label(of.name)
		TESTQ(two, two)
		JZ(operand.LabelRef(of.name + "two_line"))
		for _, taps := range []string{"any", "two"} {
			l := &largestBytesCode{code: &code{machine: avx512, prefix: of.name + taps}, mask: k,
				two: taps == "two", v: of.vector()}
			l.lines(x, y, lines)
			JMP(operand.LabelRef("next"))
		}
	}
	Label("next")
	ADDQ(operand.U8(64), off)
	CMPQ(off, field("width"))
	JLT(operand.LabelRef("block"))
}

// largestBytesCode is the function while it is written.
type largestBytesCode struct {
	*code
	mask reg.OpmaskVirtual
	two  bool // taps of a row
	v    reg.VecVirtual
}

// lines writes the loops over lines, and rows of them.
func (l *largestBytesCode) lines(x, y, lines reg.Register) {
	Label(l.label("line"))
	xRow, yRow, rows := copied(x), copied(y), field("rows")
	outer := GP64()
	if l.two {
		MOVQ(field("xOuter"), outer)
	}
	Label(l.label("row"))
	line, left, v := copied(xRow), field("outer"), l.v
	zero(v)
	Label(l.label("outer"))
	if l.two {
		at := field("xMiddle")
		VPMAXUB(operand.Mem{Base: line}, v, l.mask, v)
		VPMAXUB(operand.Mem{Base: line, Index: at, Scale: 1}, v, l.mask, v)
	} else {
		at, taps := copied(line), field("middle")
		Label(l.label("tap"))
		VPMAXUB(operand.Mem{Base: at}, v, l.mask, v)
		ADDQ(field("xMiddle"), at)
		DECQ(taps)
		JNZ(operand.LabelRef(l.label("tap")))
		MOVQ(field("xOuter"), outer)
	}
	ADDQ(outer, line)
	DECQ(left)
	JNZ(operand.LabelRef(l.label("outer")))
	VMOVDQU8(v, l.mask, operand.Mem{Base: yRow})
	ADDQ(field("next"), xRow)
	ADDQ(field("step"), yRow)
	DECQ(rows)
	JNZ(operand.LabelRef(l.label("row")))
	ADDQ(field("xLine"), x)
	ADDQ(field("yLine"), y)
	DECQ(lines)
	JNZ(operand.LabelRef(l.label("line")))
}
