package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const transposeSignature = "(dst []float32, dstStep int, src []float32, srcStep, rows, cols int)"

// transpose writes the copy of a matrix of whole blocks of 8×8 elements to the
// other order. Along a column of blocks the results are contiguous.
func transpose() {
	TEXT("transposeF32AVX2", NOSPLIT, "func"+transposeSignature)
	Doc("transposeF32AVX2 is transposeF32 with AVX2.")
	dst, src := Load(Param("dst").Base(), GP64()), Load(Param("src").Base(), GP64())
	dstStep, srcStep := Load(Param("dstStep"), GP64()), Load(Param("srcStep"), GP64())
	SHLQ(operand.U8(2), dstStep)
	SHLQ(operand.U8(2), srcStep)
	cols := Load(Param("cols"), GP64())
	dst3, src3 := triple(dstStep), triple(srcStep)
	Label("column")
	rows, d, s := Load(Param("rows"), GP64()), GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, s)
	Label("block")
	below, beyond := GP64(), GP64()
	LEAQ(operand.Mem{Base: s, Index: srcStep, Scale: 4}, below)
	LEAQ(operand.Mem{Base: d, Index: dstStep, Scale: 4}, beyond)
	for half := range 2 {
		// Rows i and i+4 of four columns in a vector, then four by four.
		var v [4]reg.VecVirtual
		for i := range v {
			v[i] = YMM()
			VMOVUPS(rowAt(s, srcStep, src3, i, 16*half), v[i].AsX())
			VINSERTF128(operand.U8(1), rowAt(below, srcStep, src3, i, 16*half), v[i], v[i])
		}
		a, b, c, e := YMM(), YMM(), YMM(), YMM()
		VUNPCKLPS(v[1], v[0], a)
		VUNPCKHPS(v[1], v[0], b)
		VUNPCKLPS(v[3], v[2], c)
		VUNPCKHPS(v[3], v[2], e)
		to := []reg.Register{d, beyond}[half]
		for i, pair := range [][2]reg.VecVirtual{{a, c}, {a, c}, {b, e}, {b, e}} {
			out := YMM()
			VSHUFPS(operand.U8([]uint8{0x44, 0xee}[i%2]), pair[1], pair[0], out)
			VMOVUPS(out, rowAt(to, dstStep, dst3, i, 0))
		}
	}
	ADDQ(operand.U8(32), d)
	LEAQ(operand.Mem{Base: below, Index: srcStep, Scale: 4}, s)
	SUBQ(operand.U8(8), rows)
	JNZ(operand.LabelRef("block"))
	ADDQ(operand.U8(32), src)
	LEAQ(operand.Mem{Base: dst, Index: dstStep, Scale: 8}, dst)
	SUBQ(operand.U8(8), cols)
	JNZ(operand.LabelRef("column"))
	VZEROUPPER()
	RET()
}

// triple returns 3·r.
func triple(r reg.Register) reg.Register {
	out := GP64()
	LEAQ(operand.Mem{Base: r, Index: r, Scale: 2}, out)
	return out
}

// rowAt is row i < 4 of steps from base on, disp bytes on.
func rowAt(base, step, step3 reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: base, Disp: disp}
	switch i {
	case 1, 2:
		m.Index, m.Scale = step, uint8(i)
	case 3:
		m.Index, m.Scale = step3, 1
	}
	return m
}
