package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// extreme writes the search for the largest or smallest of at least 8 elements,
// NaN if there is one. The last vector overlaps the one before.
func extreme(name string, better func(...operand.Op)) {
	TEXT(name+"F32AVX2", NOSPLIT, "func(a []float32) float32")
	Doc(name + "F32AVX2 is " + name + "F32 with AVX2.")
	a, n := Load(Param("a").Base(), GP64()), Load(Param("a").Len(), GP64())
	end := GP64()
	LEAQ(operand.Mem{Base: a, Index: n, Scale: 4, Disp: -32}, end)
	best, nan := YMM(), YMM()
	VMOVUPS(operand.Mem{Base: end}, best)
	VCMPPS(operand.U8(3), best, best, nan)
	CMPQ(a, end)
	JAE(operand.LabelRef("join"))
	Label("loop")
	v, none := YMM(), YMM()
	VMOVUPS(operand.Mem{Base: a}, v)
	VCMPPS(operand.U8(3), v, v, none)
	VORPS(none, nan, nan)
	better(best, v, best)
	ADDQ(operand.U8(32), a)
	CMPQ(a, end)
	JB(operand.LabelRef("loop"))
	Label("join")
	bits, x := GP32(), XMM()
	VMOVMSKPS(nan, bits)
	low := best.AsX()
	VEXTRACTF128(operand.U8(1), best, x)
	better(x, low, low)
	VPERMILPS(operand.U8(0x4e), low, x)
	better(x, low, low)
	VPERMILPS(operand.U8(0xb1), low, x)
	better(x, low, low)
	TESTL(bits, bits)
	JZ(operand.LabelRef("done"))
	MOVL(operand.U32(0x7fc00000), bits)
	VMOVD(bits, low)
	Label("done")
	VZEROUPPER()
	Store(reg.Register(low), ReturnIndex(0))
	RET()
}
