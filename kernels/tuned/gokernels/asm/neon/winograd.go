package main

import (
	"fmt"
	"math"
)

// Offsets of the fields of a lift and of a land; their test compares them.
const (
	liftV, liftX, liftAt, liftXH, liftXW, liftStep, liftChannels, liftPartly,
	liftInside = 0, 24, 48, 56, 64, 72, 80, 88, 96
	landM, landY, landAdd, landBias, landFrom, landYH, landYW, landRows, landCols, landChannels,
	landLow, landHigh = 0, 24, 48, 72, 96, 104, 112, 120, 128, 136, 144, 148
)

// near and far are the points besides zero and infinity, with either sign.
const near, far = math.Sqrt2 / 2, math.Sqrt2

func (o *writer) move(from, to int) { o.op("VMOV V%d.B16, V%d.B16", from, to) }

// carry begins a function that carries squares to points or back by way of a square
// on the stack, which R1 points to, and makes vectors of numbers from V24 on.
func (o *writer) carry(name string, of string, size int, numbers ...float64) {
	if size == 6 {
		name += "SixNEON"
	} else {
		name += "FourNEON"
	}
	fmt.Fprintf(o, "\n// func %s(t *%s)\nTEXT ·%s(SB), $%d-8\n", name, of, name, 16*size*size)
	o.op("MOVD t+0(FP), R0")
	o.op("MOVD $square-%d(SP), R1", 16*size*size)
	if size == 6 {
		for i, x := range numbers {
			o.op("MOVW $0x%08x, R12", math.Float32bits(float32(x)))
			o.op("VDUP R12, V%d.S4", 24+i)
		}
	}
}

// columns loads vectors V0 on from R12 on, by bytes apart.
func (o *writer) loads(n int, by string) {
	for i := range n {
		o.op("VLD1 (R12), [V%d.S4]", i)
		o.op("ADD %s, R12", by)
	}
}

// stores stores vectors V6 on to R12 on, by bytes apart.
func (o *writer) stores(n int, by string) {
	for i := range n {
		o.op("VST1 [V%d.S4], (R12)", 6+i)
		o.op("ADD %s, R12", by)
	}
}

// lift writes the function that takes an image's elements to their values at the
// points. Register use: R2 to R4 xh, xw, step; R5 x, R6 v, R7 channels left.
func (o *writer) lift(size int) {
	o.carry("lift", "lift", size, 0.5, 2.5, near, far)
	for i, field := range []int{liftXH, liftXW, liftStep} {
		o.scaled(field, 2+i)
	}
	o.load(liftX, 5)
	o.load(liftAt, 12)
	o.op("ADD R12<<2, R5, R5")
	o.load(liftV, 6)
	o.load(liftChannels, 7)
	o.label("vector", size)
	o.load(liftPartly, 13)
	o.op("ADD $%d, R0, R11", liftInside)
	o.op("MOVD R5, R9")
	o.op("MOVD R1, R10")
	o.op("MOVD $%d, R8", size)
	o.label("column", size)
	o.op("MOVD R9, R12")
	o.op("CBNZ R13, partly%d", size)
	o.loads(size, "R2")
	o.op("B loaded%d", size)
	o.label("partly", size)
	for i := range size {
		o.op("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i)
		o.op("MOVWU %d(R11), R14", 4*size*i)
		o.op("CBZ R14, outside%d", i)
		o.op("VLD1 (R12), [V%d.S4]", i)
		o.label("outside", i)
		o.op("ADD R2, R12")
	}
	o.label("loaded", size)
	o.up(size)
	o.op("MOVD R10, R12")
	o.stores(size, fmt.Sprintf("$%d", 16*size))
	o.op("ADD R3, R9")
	o.op("ADD $16, R10")
	o.op("ADD $4, R11")
	o.again(8, "column", size)
	o.op("MOVD R1, R12")
	o.op("MOVD R6, R9")
	o.op("MOVD $%d, R8", size)
	o.label("row", size)
	o.loads(size, "$16")
	o.up(size)
	o.op("MOVD R12, R10")
	o.op("MOVD R9, R12")
	o.stores(size, "R4")
	o.op("MOVD R12, R9")
	o.op("MOVD R10, R12")
	o.again(8, "row", size)
	o.op("ADD $16, R5")
	o.op("ADD $16, R6")
	o.op("SUBS $4, R7, R7")
	o.op("BGT vector%d", size)
	o.op("RET")
}

// up takes the line V0 on of an image to its values V6 on.
func (o *writer) up(size int) {
	if size == 4 {
		o.vector(fsub, 6, 0, 2)
		o.vector(fadd, 7, 1, 2)
		o.vector(fsub, 8, 2, 1)
		o.vector(fsub, 9, 1, 3)
		return
	}
	const half, twoAndHalf, nearBy, farOff = 24, 25, 26, 27
	for i, put := range []int{6, 11} { // (d0 + d4) - 2.5·d2, (d1 + d5) - 2.5·d3
		o.vector(fadd, put, i, i+4)
		o.vector(fmls, put, i+2, twoAndHalf)
	}
	pair := func(put, a, b, x int) { // a ± x·b
		o.move(a, put)
		o.move(a, put+1)
		o.vector(fmla, put, b, x)
		o.vector(fmls, put+1, b, x)
	}
	o.vector(fadd, 12, 2, 2)
	o.vector(fsub, 12, 4, 12)
	o.vector(fadd, 13, 1, 1)
	o.vector(fsub, 13, 3, 13)
	pair(7, 12, 13, nearBy)
	o.vector(fmls, 4, 2, half)
	o.vector(fmls, 3, 1, half)
	pair(9, 4, 3, farOff)
}

// land writes the function that takes sums at the points to results. Register use:
// R2, R3 from and size times that; R4 channels left; R5 m, R6 y, R7 add, R8 bias.
func (o *writer) land(size int) {
	o.carry("land", "land", size, near, far, 0.5, 2, near/2, 2*far)
	o.scaled(landFrom, 2)
	o.op("MOVD $%d, R12", size)
	o.op("MUL R12, R2, R3")
	for i, field := range []int{landChannels, landM, landY, landAdd, landBias} {
		o.load(field, 4+i)
	}
	o.limits(landLow, landHigh, 12, 15)
	o.label("vector", size)
	o.op("MOVD R5, R9")
	o.op("MOVD R1, R10")
	o.op("MOVD $%d, R11", size)
	o.label("column", size)
	o.op("MOVD R9, R12")
	o.loads(size, "R3")
	o.back(size)
	o.op("MOVD R10, R12")
	o.stores(size-2, fmt.Sprintf("$%d", 16*size))
	o.op("ADD R2, R9")
	o.op("ADD $16, R10")
	o.again(11, "column", size)
	o.op("VLD1 (R8), [V14.S4]")
	o.op("MOVD R6, R9")
	o.op("MOVD R7, R13")
	o.op("MOVD R1, R10")
	o.load(landRows, 11)
	o.load(landCols, 14)
	o.label("row", size)
	o.op("MOVD R10, R12")
	o.loads(size, "$16")
	o.op("MOVD R12, R10")
	o.back(size)
	o.scaled(landYW, 16)
	o.op("MOVD R9, R12")
	o.op("MOVD R13, R15")
	for k := range size - 2 {
		if k > 0 {
			o.op("CMP $%d, R14", k)
			o.op("BLE stored%d", size)
		}
		o.vector(fadd, 6+k, 6+k, 14)
		o.op("CBZ R7, plain%d", k)
		o.op("VLD1 (R15), [V17.S4]")
		o.op("ADD R16, R15")
		o.vector(fadd, 6+k, 6+k, 17)
		o.label("plain", k)
		o.bound(6+k, 15)
		o.op("VST1 [V%d.S4], (R12)", 6+k)
		o.op("ADD R16, R12")
	}
	o.label("stored", size)
	o.advance(landYH, 9)
	o.advance(landYH, 13)
	o.again(11, "row", size)
	o.op("CBZ R7, nothing%d", size)
	o.op("ADD $16, R7")
	o.label("nothing", size)
	for _, r := range []int{5, 6, 8} {
		o.op("ADD $16, R%d", r)
	}
	o.op("SUBS $4, R4, R4")
	o.op("BGT vector%d", size)
	o.op("RET")
}

// back takes the line V0 on of sums to results V6 on.
func (o *writer) back(size int) {
	if size == 4 { // m0 + (m1 + m2), (m1 - m2) - m3
		o.vector(fadd, 6, 1, 2)
		o.vector(fadd, 6, 0, 6)
		o.vector(fsub, 7, 1, 2)
		o.vector(fsub, 7, 7, 3)
		return
	}
	const a, b, e, f = 10, 11, 12, 13
	o.vector(fadd, a, 1, 2)
	o.vector(fsub, b, 1, 2)
	o.vector(fadd, e, 3, 4)
	o.vector(fsub, f, 3, 4)
	o.vector(fadd, 6, a, e)
	o.vector(fadd, 6, 6, 0)
	for i, x := range [][2]int{{b, f}, {a, e}, {b, f}} {
		o.vector(fmul, 7+i, x[0], 24+2*i)
		o.vector(fmla, 7+i, x[1], 25+2*i)
	}
	o.vector(fadd, 9, 9, 5)
}
