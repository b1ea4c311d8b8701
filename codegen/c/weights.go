package c

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// weightForm is the form that weights have.
func (g *gen) weightForm() string {
	switch {
	case g.opt.Weights != "":
		return g.opt.Weights
	case g.arrayBytes() <= maxInline:
		return codegen.WeightsC
	}
	return codegen.WeightsAsm
}

// weightBytes is the size of all weights: of the arrays, or of the block, which
// has gaps.
func (g *gen) weightBytes() int64 {
	if g.weightForm() == codegen.WeightsC {
		return g.arrayBytes()
	}
	return g.weights.Size
}

func (g *gen) arrayBytes() (sum int64) {
	for _, c := range g.weights.Consts {
		sum += int64(len(c.Data))
	}
	return sum
}

func elements(c *native.Const) int { return len(c.Data) / c.DType.Size() }

// weightArray declares c.
func (g *gen) weightArray(c *native.Const) string {
	t := storageOf(c.DType)
	return fmt.Sprintf("const %s %s[%d]", t, g.consts[c], max(1, elements(c)))
}

// weightArrays is NAME_weights.c.
func (g *gen) weightArrays() string {
	w := &writer{}
	w.raw("/* " + g.banner(g.prefix+"_weights.c") + " */")
	w.raw("#include <stdint.h>")
	w.blank()
	blobs := g.p.Blobs()
	bytes := slices.ContainsFunc(g.weights.Consts, func(c codegen.Weight) bool {
		return c.DType.Size() == 1 && !slices.Contains(blobs, c.Const)
	})
	macro := g.upper + "_WORDS"
	if bytes {
		w.raw("#if defined(__GNUC__) /* bytes that kernels read by words */")
		w.raw("#define " + macro + " __attribute__((aligned(4)))")
		w.raw("#else\n#define " + macro + "\n#endif")
		w.blank()
	}
	payload := g.upper + "_PAYLOAD"
	if len(blobs) > 0 {
		w.raw("#if defined(__GNUC__) /* what drivers and devices read */")
		w.raw("#define " + payload + " __attribute__((aligned(16)))")
		w.raw("#else\n#define " + payload + "\n#endif")
		w.blank()
	}
	for _, kind := range []codegen.SectionKind{codegen.WeightsSection, codegen.PayloadsSection} {
		if kind == codegen.PayloadsSection && len(blobs) == 0 || g.section(kind) == "" {
			continue
		}
		g.sectionMacro(w, kind)
		w.blank()
	}
	w.raw("/* Declared first, so that they are external in C++ too. */")
	for _, c := range g.weights.Consts {
		w.raw("extern " + g.weightArray(c.Const) + ";")
	}
	for _, c := range g.weights.Consts {
		w.blank()
		if !c.From.IsEmpty() {
			w.raw("/* " + c.From.Comment() + " */")
		}
		place := ""
		switch {
		case slices.Contains(blobs, c.Const):
			place = " " + payload
		case c.DType.Size() == 1:
			place = " " + macro
		}
		w.raw(strings.TrimLeft(g.section(g.weightKind(c.Const))+" ", " ") + g.weightArray(c.Const) +
			place + " = {")
		array(w, c.Const)
		w.raw("};")
	}
	return w.b.String()
}

// weightKind is what the section of a weight is for.
func (g *gen) weightKind(c *native.Const) codegen.SectionKind {
	if g.opt.Sections[codegen.PayloadsSection] != "" && slices.Contains(g.p.Blobs(), c) {
		return codegen.PayloadsSection
	}
	return codegen.WeightsSection
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
	t := storageOf(d)
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

// weightAssembly is NAME_weights.S, which takes in NAME_weights.bin: a symbol in a
// section of its own for each weight, as -fdata-sections has it, so that linkers
// drop and list each by itself. A weight is aligned as its place in the file is.
func (g *gen) weightAssembly() string {
	symbol := g.prefix + "_weights"
	section, parameter := cmp.Or(g.opt.Sections[codegen.WeightsSection], `.rodata.\name`), ""
	if g.opt.Sections[codegen.PayloadsSection] != "" {
		section, parameter = `\section`, ", section"
	}
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
    .macro weight name, align, offset, size%[5]s
    .section __TEXT,__const
    .globl _\name
    .balign \align
_\name:
    .if \size
    .incbin %[3]s_WEIGHTS_FILE, \offset, \size
    .else
    .space 8
    .endif
    .endm
    .subsections_via_symbols
#else
    .macro weight name, align, offset, size%[5]s
    .section %[4]s, "a", %%progbits
    .global \name
    .type \name, %%object
    .size \name, \size
    .balign \align
\name:
    .if \size
    .incbin %[3]s_WEIGHTS_FILE, \offset, \size
    .else
    .space 8
    .endif
    .endm
#ifdef __linux__ /* elsewhere no other object has it, and linkers warn of a mixture */
    .section .note.GNU-stack, "", %%progbits
#endif
#endif

    /* name, alignment; in bytes of the file: offset, size */
`, g.banner(symbol+".S"), symbol, g.upper, section, parameter)
	for _, c := range g.weights.Consts {
		fmt.Fprintf(&b, "    weight %s, %d, %d, %d", g.consts[c.Const], placeAlign(c.Offset),
			c.Offset, len(c.Data))
		if parameter != "" {
			b.WriteString(", " + cmp.Or(g.opt.Sections[g.weightKind(c.Const)],
				".rodata."+g.consts[c.Const]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// placeAlign is the alignment of an offset in the block of weights, of the 64 bytes of
// a cache line at most.
func placeAlign(offset int64) int64 {
	align := int64(codegen.WeightAlign)
	for align < 64 && offset%(2*align) == 0 {
		align *= 2
	}
	return align
}

// weightAddresses makes the weights known to NAME.c where the application brings the block of
// them to an address: each is so many bytes behind it.
func (g *gen) weightAddresses(w *writer) {
	w.raw(fmt.Sprintf(`/* Weights, little-endian, as in %[1]s_weights.bin: see %[1]s.h. */
#ifndef %[2]s_WEIGHTS_ADDRESS
extern const unsigned char %[1]s_weights[%[2]s_WEIGHTS_SIZE];
#define %[2]s_WEIGHTS_ADDRESS %[1]s_weights
#endif`, g.prefix, g.upper))
	for _, c := range g.weights.Consts {
		w.raw(fmt.Sprintf(
			"#define %s ((const %s *)(const void *)((const unsigned char *)%s_WEIGHTS_ADDRESS + %d))",
			g.consts[c.Const], storageOf(c.DType), g.upper, c.Offset))
	}
}

// weightContract says in NAME.h what the application has to do for the weights.
func (g *gen) weightContract(w *writer) {
	if g.weightForm() != codegen.WeightsBin || len(g.weights.Consts) == 0 {
		return
	}
	w.blank()
	w.remark(fill(fmt.Sprintf("The weights are the bytes of %[1]s_weights.bin, which the "+
		"application brings to memory before the first call, and leaves as they are. %[2]s.c reads "+
		"them at the symbol %[1]s_weights, or, if %[2]s.c is compiled with a macro "+
		"%[3]s_WEIGHTS_ADDRESS, there: an integer such as 0x90000000u, or a pointer. The address is a "+
		"multiple of %[3]s_WEIGHTS_ALIGN. %[3]s_WEIGHTS_CRC32 is the CRC-32 (IEEE 802.3) of the bytes.",
		g.prefix, g.prefix, g.upper), lineWidth-3))
	w.raw(fmt.Sprintf("#define %s_WEIGHTS_ALIGN %du", g.upper, codegen.WeightAlign))
	w.raw(fmt.Sprintf("#define %s_WEIGHTS_CRC32 0x%08xu", g.upper,
		crc32.ChecksumIEEE(g.weights.Block())))
}
