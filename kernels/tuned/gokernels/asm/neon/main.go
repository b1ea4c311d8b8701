// Command neon writes the arm64 assembly of the kernels in ../rows, which avo
// does not know, to the file named.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
)

// Offsets of the fields of a tile; its test compares them.
const (
	y, x, w, bias, add        = 0, 24, 48, 72, 96
	rows, next, step          = 120, 128, 136
	outer, xOuter, wOuter     = 144, 152, 160
	middle, xMiddle, wMiddle  = 168, 176, 184
	depth, width, low, high   = 192, 200, 208, 212
	fetch, fetched, fetchStep = 224, 248, 256
	maxRows, vecs             = 6, 4 // of a tile: 24 registers of sums
)

// writer is the text so far. Register use: R0 the tile, R2 next, R19 what a product
// fetches ahead and R20 its step, V0 to V3 a row of weights, V4 to V7 elements of x,
// V8 to V31 sums.
type writer struct{ strings.Builder }

func (o *writer) op(format string, args ...any) { fmt.Fprintf(o, "\t"+format+"\n", args...) }

// only writes what a function does in a case of its own: packages that never come to it
// are without.
func (o *writer) only(name string, n int, write func()) {
	fmt.Fprintf(o, "\t// case %s%d\n", name, n)
	write()
	fmt.Fprintf(o, "\t// end\n")
}

func (o *writer) label(name string, n int) { fmt.Fprintf(o, "%s%d:\n", name, n) }

// load loads a field into a register.
func (o *writer) load(field, r int) { o.op("MOVD %d(R0), R%d", field, r) }

// scaled loads a number of elements as a number of bytes.
func (o *writer) scaled(field, r int) {
	o.load(field, r)
	o.op("LSL $2, R%d, R%d", r, r)
}

// word is an instruction that the assembler does not know, on vectors d, n and
// m of four numbers.
func (o *writer) word(name string, code uint32, d, n, m int) {
	o.op("WORD $0x%08x // %s V%d, V%d, V%d", code|uint32(m)<<16|uint32(n)<<5|uint32(d),
		name, d, n, m)
}

// Vector instructions on four numbers: d = n op m, or d = d ± n·m.
const (
	fadd, fsub, fmul = 0x4e20d400, 0x4ea0d400, 0x6e20dc00
	fmla, fmls       = 0x4e20cc00, 0x4ea0cc00
	fmax, fmin       = 0x4e20f400, 0x4ea0f400
)

var names = map[uint32]string{fadd: "FADD", fsub: "FSUB", fmul: "FMUL", fmla: "FMLA", fmls: "FMLS",
	fmax: "FMAX", fmin: "FMIN"}

func (o *writer) vector(code uint32, d, n, m int) { o.word(names[code], code, d, n, m) }

func sum(i, j int) int { return 8 + i*vecs + j }

func four(first int) string {
	return fmt.Sprintf("[V%d.S4, V%d.S4, V%d.S4, V%d.S4]", first, first+1, first+2, first+3)
}

// start writes what a function begins with: a branch on the number of rows.
func (o *writer) start(name string) {
	fmt.Fprintf(o, "\n// func %s(t *tile)\nTEXT ·%s(SB), $0-8\n", name, name)
	o.op("MOVD t+0(FP), R0")
	o.load(rows, 1)
	o.scaled(next, 2)
	for n := maxRows; n > 1; n-- {
		fmt.Fprintf(o, "\t// branch rows%d\n", n)
		o.op("CMP $%d, R1", n)
		o.op("BEQ rows%d", n)
		fmt.Fprintf(o, "\t// end\n")
	}
}

// begin sets the sums of n rows to the bias at register r.
func (o *writer) begin(n, r int) {
	o.op("VLD1 (R%d), %s", r, four(sum(0, 0)))
	for i := 1; i < n; i++ {
		for j := range vecs {
			o.op("VMOV V%d.B16, V%d.B16", sum(0, j), sum(i, j))
		}
	}
}

// limits loads what results are bounded by into two vectors from v on, by way of register r.
func (o *writer) limits(low, high, r, v int) {
	for i, field := range []int{low, high} {
		o.op("ADD $%d, R0, R%d", field, r)
		o.op("VLD1R (R%d), [V%d.S4]", r, v+i)
	}
}

// bound bounds results by those.
func (o *writer) bound(v, limits int) {
	o.vector(fmax, v, v, limits)
	o.vector(fmin, v, v, limits+1)
}

// epilogue adds, bounds and stores the sums of n rows: results go to R10, what is
// added is at R11 if that is not zero.
func (o *writer) epilogue(n int) {
	o.scaled(step, 12)
	o.op("CBZ R11, plain%d", n)
	for i := range n {
		o.op("VLD1 (R11), %s", four(0))
		o.op("ADD R12, R11")
		for j := range vecs {
			o.vector(fadd, sum(i, j), sum(i, j), j)
		}
	}
	o.label("plain", n)
	o.limits(low, high, 13, 4)
	for i := range n {
		for j := range vecs {
			o.bound(sum(i, j), 4)
		}
		o.op("VST1 %s, (R10)", four(sum(i, 0)))
		o.op("ADD R12, R10")
	}
}

// advance adds a number of elements in a field to a register.
func (o *writer) advance(field, r int) {
	o.load(field, 17)
	o.op("ADD R17<<2, R%d, R%d", r, r)
}

func (o *writer) again(r int, label string, n int) {
	o.op("SUBS $1, R%d, R%d", r, r)
	o.op("BNE %s%d", label, n)
}

// product writes a function of products, of floats or of words of four bytes.
func (o *writer) product(name string, bytes bool) {
	o.start(name)
	for n := 1; n <= maxRows; n++ {
		o.only("rows", n, func() { o.productRows(n, bytes) })
	}
}

// productRows writes the products of a tile of n rows.
func (o *writer) productRows(n int, bytes bool) {
	name, code := "FMLA by element 0", uint32(0x4f801000)
	if bytes {
		name, code = "SDOT by element 0", 0x4f80e000
	}
	o.label("rows", n)
	o.load(bias, 6)
	o.begin(n, 6)
	if n > 1 {
		o.load(fetch, 19)
		o.load(fetched, 20)
		o.op("ADD R20, R19")
		o.load(fetchStep, 20)
		o.op("CMP $0, R20")
		o.load(w, 4)
		o.op("CSEL EQ, R4, R19, R19") // nothing: an address that is read anyway
	}
	o.taps(n, func() {
		o.label("depth", n)
		o.op("VLD1 (R4), %s", four(0))
		o.op("ADD R5, R4")
		if n > 1 {
			o.op("PRFM (R19), PLDL1KEEP")
			o.op("ADD R20, R19")
		}
		for i := range n {
			o.op("FMOVS.P 4(R%d), F%d", 10+i, 4+i%4)
			for j := range vecs {
				o.word(name, code, sum(i, j), j, 4+i%4)
			}
		}
		o.again(16, "depth", n)
	})
	if bytes {
		o.floats(n)
	}
	o.load(y, 10)
	o.load(add, 11)
	o.epilogue(n)
	o.op("RET")
}

// taps writes the loops around what inner writes: n rows of x are at R10 to R15 then, weights at
// R4, R5 bytes from row to row, and R16 is the depth.
func (o *writer) taps(n int, inner func()) {
	o.load(x, 3)
	o.load(w, 4)
	o.scaled(width, 5)
	o.load(outer, 7)
	o.label("outer", n)
	o.load(middle, 8)
	o.op("MOVD R3, R9")
	o.label("middle", n)
	o.op("MOVD R9, R10")
	for i := 1; i < n; i++ {
		o.op("ADD R2, R%d, R%d", 9+i, 10+i)
	}
	o.load(depth, 16)
	inner()
	o.advance(wMiddle, 4)
	o.advance(xMiddle, 9)
	o.again(8, "middle", n)
	o.advance(wOuter, 4)
	o.advance(xOuter, 3)
	o.again(7, "outer", n)
}

// floats makes floats of the sums of n rows.
func (o *writer) floats(n int) {
	for i := range n * vecs {
		o.convert(scvtf, sum(0, i), sum(0, i))
	}
}

// Instructions that make integers of floats, and floats of integers.
const fcvtzs, scvtf = 0x4ea1b800, 0x4e21d800

// convert converts n to d.
func (o *writer) convert(code uint32, d, n int) {
	name := "SCVTF"
	if code == fcvtzs {
		name = "FCVTZS"
	}
	o.op("WORD $0x%08x // %s V%d, V%d", code|uint32(n)<<5|uint32(d), name, n, d)
}

// window writes a function that computes windows: sums with weights, or the
// largest.
func (o *writer) window(name string, largest bool) {
	o.start(name)
	for n := 1; n <= maxRows; n++ {
		o.only("rows", n, func() { o.windowRows(n, largest) })
	}
}

// windowRows writes the windows of a tile of n rows.
func (o *writer) windowRows(n int, largest bool) {
	o.label("rows", n)
	o.op("MOVD $0, R1") // of the block, in bytes
	o.label("block", n)
	if largest {
		o.op("ADD $%d, R0, R13", low)
		for i := range n * vecs {
			o.op("VLD1R (R13), [V%d.S4]", sum(0, i))
		}
	} else {
		o.load(bias, 6)
		o.op("ADD R1, R6")
		o.begin(n, 6)
		o.load(w, 4)
		o.op("ADD R1, R4")
	}
	o.load(x, 3)
	o.op("ADD R1, R3")
	// An extent may be zero.
	o.load(middle, 8)
	o.op("CBZ R8, epilogue%d", n)
	o.load(outer, 7)
	o.op("CBZ R7, epilogue%d", n)
	o.label("outer", n)
	o.load(middle, 8)
	o.op("MOVD R3, R9")
	if !largest {
		o.op("MOVD R4, R5")
	}
	o.label("middle", n)
	if !largest {
		o.op("VLD1 (R5), %s", four(0))
	}
	o.op("MOVD R9, R10")
	for i := range n {
		o.op("VLD1 (R10), %s", four(4))
		for j := range vecs {
			if largest {
				o.vector(fmax, sum(i, j), sum(i, j), 4+j)
			} else {
				o.op("VFMLA V%d.S4, V%d.S4, V%d.S4", j, 4+j, sum(i, j))
			}
		}
		o.op("ADD R2, R10")
	}
	o.advance(xMiddle, 9)
	if !largest {
		o.advance(wMiddle, 5)
	}
	o.again(8, "middle", n)
	o.advance(xOuter, 3)
	if !largest {
		o.advance(wOuter, 4)
	}
	o.again(7, "outer", n)
	o.label("epilogue", n)
	o.load(y, 10)
	o.op("ADD R1, R10")
	o.load(add, 11)
	o.op("CBZ R11, nothing%d", n)
	o.op("ADD R1, R11")
	o.label("nothing", n)
	o.epilogue(n)
	o.op("ADD $%d, R1", 16*vecs)
	o.scaled(width, 14)
	o.op("CMP R14, R1")
	o.op("BLT block%d", n)
	o.op("RET")
}

func main() {
	var o writer
	o.WriteString("// Code generated by command: go run ./neon. DO NOT EDIT.\n\n//go:build !purego\n")
	o.product("productNEON", false)
	o.window("windowNEON", false)
	o.window("largestNEON", true)
	o.few()
	o.transpose()
	o.unzip()
	o.product("bytesNEON", true)
	o.squares()
	o.words()
	o.spread()
	for _, size := range []int{6, 4} {
		o.lift(size)
		o.land(size)
	}
	if err := os.WriteFile(os.Args[1], []byte(o.String()), 0o666); err != nil {
		log.Fatal(err)
	}
}
