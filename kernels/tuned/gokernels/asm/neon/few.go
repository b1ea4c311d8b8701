package main

import "fmt"

// Offsets of the fields of a tile of few channels, and of a transpose; their test
// compares them.
const (
	fewY, fewX, fewW, fewBias, fewAdd             = 0, 24, 48, 72, 96
	fewStep, fewColumns, fewCount                 = 120, 128, 136
	fewPlanes, fewPlane, fewRows, fewRow, fewTaps = 144, 152, 160, 168,
		176
	fewPhases, fewPhase, fewLow, fewHigh                                         = 184, 192, 200, 204
	transposeSums, transposeY, transposeAdd, transposeColumns, transposeChannels = 0, 24, 48, 72, 80
	transposeLow, transposeHigh                                                  = 88, 92
	fewChannels, fewCols, fewVectors, fewMost                                    = 8, 48, 3, 4
)

// few writes the function that computes tiles of few channels, whose lanes are
// neighbouring results: sums for all four channels, results for those there are,
// a case for every number of vectors. Sums are V16 to V27, elements of x V0 to
// V2, weights V4.
func (o *writer) few() {
	o.begun("fewNEON", "few")
	o.load(fewColumns, 1)
	for n := 1; n < fewVectors; n++ {
		o.op("CMP $%d, R1", 4*n)
		o.op("BLE vectors%d", n)
	}
	for n := fewVectors; n > 0; n-- {
		if n < fewVectors {
			o.label("vectors", n)
		}
		o.only("vectors", n, func() { o.fewVectors(n) })
	}
}

// fewVectors writes the sums of a tile of n vectors.
func (o *writer) fewVectors(n int) {
	sum := func(i, j int) int { return 16 + i*fewVectors + j }
	o.load(fewBias, 2)
	for i := range fewMost {
		o.op("VLD1R (R2), [V%d.S4]", sum(i, 0))
		o.op("ADD $4, R2")
		for j := 1; j < n; j++ {
			o.op("VMOV V%d.B16, V%d.B16", sum(i, 0), sum(i, j))
		}
	}
	o.load(fewPlanes, 3)
	o.load(fewX, 4)
	o.load(fewW, 5)
	o.label("plane", n)
	o.load(fewRows, 6)
	o.op("MOVD R4, R7")
	o.label("row", n)
	o.load(fewTaps, 8)
	o.load(fewPhases, 9)
	o.op("MOVD R9, R10") // phases left
	o.op("LSL $5, R9, R11")
	o.op("MOVD R7, R12")
	o.op("MOVD R5, R13")
	o.label("phase", n)
	o.op("MOVD R12, R14")
	o.op("MOVD R13, R15")
	o.op("MOVD R8, R16")
	o.label("tap", n)
	o.op("MOVD R14, R19")
	for j := range n {
		o.op("VLD1.P 16(R19), [V%d.S4]", j)
	}
	o.op("VLD1 (R15), [V4.S4]")
	for i := range fewMost {
		for j := range n {
			o.word(fmt.Sprintf("FMLA by element %d", i), 0x4f801000|uint32(i&1)<<21|uint32(
				i>>1)<<11, sum(i, j), j, 4)
		}
	}
	o.op("ADD $4, R14")
	o.op("ADD R11, R15")
	o.op("SUBS R9, R16, R16")
	o.op("BGT tap%d", n)
	// The next phase has a tap less, if it has any.
	o.advance(fewPhase, 12)
	o.op("ADD $%d, R13", 4*fewChannels)
	o.op("SUBS $1, R10, R10")
	o.op("BEQ rowdone%d", n)
	o.again(8, "phase", n)
	o.label("rowdone", n)
	o.load(fewTaps, 17)
	o.op("ADD R17<<5, R5, R5")
	o.advance(fewRow, 7)
	o.again(6, "row", n)
	o.advance(fewPlane, 4)
	o.again(3, "plane", n)
	o.load(fewY, 3)
	o.load(fewAdd, 4)
	o.scaled(fewStep, 5)
	o.load(fewCount, 6)
	o.limits(fewLow, fewHigh, 19, 6)
	for i := range fewMost {
		o.op("CBZ R4, plain%dx%d", n, i)
		o.op("MOVD R4, R7")
		for j := range n {
			o.op("VLD1.P 16(R7), [V%d.S4]", j)
			o.vector(fadd, sum(i, j), sum(i, j), j)
		}
		o.op("ADD R5, R4")
		fmt.Fprintf(o, "plain%dx%d:\n", n, i)
		o.op("MOVD R3, R7")
		for j := range n {
			o.bound(sum(i, j), 6)
			o.op("VST1.P [V%d.S4], 16(R7)", sum(i, j))
		}
		if i+1 < fewMost {
			o.op("ADD R5, R3")
			o.op("SUBS $1, R6, R6")
			o.op("BEQ done%d", n)
		}
	}
	o.label("done", n)
	o.op("RET")
}

// begun writes what a function of one structure begins with.
func (o *writer) begun(name, structure string) {
	fmt.Fprintf(o, "\n// func %s(t *%s)\nTEXT ·%s(SB), $0-8\n", name, structure, name)
	o.op("MOVD t+0(FP), R0")
}

// transpose writes the function that transposes sums of 4 or 8 channels, four columns at a
// time: V16 to V19 are the first four channels of these, V20 to V23 the last.
func (o *writer) transpose() {
	o.begun("transposeNEON", "transpose")
	o.load(transposeSums, 1)
	o.load(transposeY, 2)
	o.load(transposeAdd, 3)
	o.load(transposeColumns, 4)
	o.op("LSR $2, R4, R4")
	o.load(transposeChannels, 5)
	o.limits(transposeLow, transposeHigh, 19, 6)
	for half := range 2 {
		block := fmt.Sprintf("block%d", 4*(half+1))
		if half == 0 {
			o.op("CMP $%d, R5", fewChannels)
			o.op("BEQ block%d", fewChannels)
		}
		fmt.Fprintf(o, "%s:\n", block)
		o.op("MOVD R1, R6")
		for h := range half + 1 {
			for i := range 4 {
				o.op("VLD1 (R6), [V%d.S4]", i)
				o.op("ADD $%d, R6", 4*fewCols)
			}
			o.op("VTRN1 V1.S4, V0.S4, V24.S4")
			o.op("VTRN2 V1.S4, V0.S4, V25.S4")
			o.op("VTRN1 V3.S4, V2.S4, V26.S4")
			o.op("VTRN2 V3.S4, V2.S4, V27.S4")
			for i := range 4 {
				o.op("VTRN%d V%d.D2, V%d.D2, V%d.D2", 1+i/2, 26+i%2, 24+i%2, 16+4*h+i)
			}
		}
		for i := range 4 {
			for h := range half + 1 {
				v := 16 + 4*h + i
				skip := fmt.Sprintf("plain%dx%dx%d", half, i, h)
				o.op("CBZ R3, %s", skip)
				o.op("VLD1.P 16(R3), [V0.S4]")
				o.vector(fadd, v, v, 0)
				fmt.Fprintf(o, "%s:\n", skip)
				o.bound(v, 6)
				o.op("VST1.P [V%d.S4], 16(R2)", v)
			}
		}
		o.op("ADD $16, R1")
		o.op("SUBS $1, R4, R4")
		o.op("BNE %s", block)
		o.op("RET")
	}
}

// unzip writes the function that takes elements in turn, four pairs at a time.
func (o *writer) unzip() {
	o.WriteString(
		"\n// func unzipNEON(even, odd, from []float32, blocks int)\nTEXT ·unzipNEON(SB), $0-80\n")
	o.op("MOVD even_base+0(FP), R1")
	o.op("MOVD odd_base+24(FP), R2")
	o.op("MOVD from_base+48(FP), R3")
	o.op("MOVD blocks+72(FP), R4")
	o.WriteString("block:\n")
	o.op("VLD2.P 32(R3), [V0.S4, V1.S4]")
	o.op("VST1.P [V0.S4], 16(R1)")
	o.op("VST1.P [V1.S4], 16(R2)")
	o.op("SUBS $1, R4, R4")
	o.op("BNE block")
	o.op("RET")
}
