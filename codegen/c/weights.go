package c

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// inline reports whether weights are written as C arrays.
func (g *gen) inline() bool { return g.weightBytes() <= maxInline }

// weightBytes is the size of all weights: of the arrays, or of the block, which
// has gaps.
func (g *gen) weightBytes() int64 {
	sum := int64(0)
	for _, c := range g.weights.Consts {
		sum += int64(len(c.Data))
	}
	if sum > maxInline {
		return g.weights.Size
	}
	return sum
}

func elements(c *native.Const) int { return len(c.Data) / c.DType.Size() }

// weightArrays is NAME_weights.c.
func (g *gen) weightArrays() string {
	w := &writer{}
	w.raw("/* " + g.banner(g.prefix+"_weights.c") + " */")
	w.raw("#include <stdint.h>")
	w.blank()
	w.raw("/* Declared first, so that they are external in C++ too. */")
	for _, c := range g.weights.Consts {
		t, _ := storageOf(c.DType)
		w.raw(fmt.Sprintf("extern const %s %s[%d];", t, g.consts[c.Const],
			max(1, elements(c.Const))))
	}
	for _, c := range g.weights.Consts {
		t, _ := storageOf(c.DType)
		w.blank()
		if !c.From.IsEmpty() {
			w.raw("/* " + c.From.Comment() + " */")
		}
		w.raw(fmt.Sprintf("const %s %s[%d] = {", t, g.consts[c.Const], max(1, elements(c.Const))))
		array(w, c.Const)
		w.raw("};")
	}
	return w.b.String()
}

// array writes the elements of c, as many in a line as fit.
func array(w *writer, c *native.Const) {
	line := "   "
	size := c.DType.Size()
	n := elements(c)
	if n == 0 {
		w.raw("    0")
	}
	for i := range n {
		s := elementText(c.Data[i*size:(i+1)*size], c.DType)
		if i < n-1 {
			s += ","
		}
		if len(line)+1+len(s) > lineWidth {
			w.raw(line)
			line = "   "
		}
		line += " " + s
	}
	if line != "   " {
		w.raw(line)
	}
}

// elementText returns an element in memory as a C constant.
func elementText(data []byte, d ir.DType) string {
	t, _ := storageOf(d)
	var wide [8]byte
	copy(wide[:], data)
	bits := binary.LittleEndian.Uint64(wide[:])
	switch {
	case expr.IsNarrow(d):
		return hexLiteral(bits, d.Size())
	case t == tF32:
		return numberText(float64(math.Float32frombits(uint32(bits))), t)
	case t == tF64:
		return numberText(math.Float64frombits(bits), t)
	case t.isSigned():
		shift := uint(64 - t.bits())
		return intLiteral(int64(bits<<shift)>>shift, t).s
	}
	return strings.TrimPrefix(intLiteral(int64(bits), t).s, wideLiteral)
}

// numberText is floatText for any number.
func numberText(x float64, t ctype) string {
	one, zero := "1.0", "0.0"
	if t == tF32 {
		one, zero = "1.0f", "0.0f"
	}
	switch {
	case x != x:
		return "(" + zero + " / " + zero + ")"
	case math.IsInf(x, 1):
		return "(" + one + " / " + zero + ")"
	case math.IsInf(x, -1):
		return "(-" + one + " / " + zero + ")"
	}
	return floatText(x, t)
}

// weightAssembly is NAME_weights.S, which takes in NAME_weights.bin.
func (g *gen) weightAssembly() string {
	symbol := g.prefix + "_weights"
	var b strings.Builder
	fmt.Fprintf(&b, `/*
 * %s
 *
 * The assembler looks for %s.bin in the working directory and where -I says;
 * or define %s_WEIGHTS_FILE as its quoted path.
 */
#ifndef %[3]s_WEIGHTS_FILE
#define %[3]s_WEIGHTS_FILE "%[2]s.bin"
#endif

#ifdef __APPLE__
    .section __TEXT,__const
    .globl _%[2]s
    .balign 64
_%[2]s:
    .incbin %[3]s_WEIGHTS_FILE
#else
    .section .rodata.%[2]s, "a", %%progbits
    .globl %[2]s
    .type %[2]s, %%object
    .balign 64
%[2]s:
    .incbin %[3]s_WEIGHTS_FILE
    .size %[2]s, . - %[2]s
#ifdef __linux__ /* elsewhere no other object has it, and linkers warn of a mixture */
    .section .note.GNU-stack, "", %%progbits
#endif
#endif
`, g.banner(symbol+".S"), symbol, g.upper)
	return b.String()
}
