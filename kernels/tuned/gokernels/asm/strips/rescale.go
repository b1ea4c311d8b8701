package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rescale writes the product and sum in float64 whose fractions are cut off, for a
// multiple of 8 elements.
func rescale() {
	TEXT("truncMulAddAVX2", NOSPLIT, "func(dst, a []float32, b, c []float64)")
	Doc("truncMulAddAVX2 is TruncMulAdd with AVX2 for a multiple of 8 elements.")
	dst, n := Load(Param("dst").Base(), GP64()), Load(Param("dst").Len(), GP64())
	a, b, c := Load(Param("a").Base(), GP64()), Load(Param("b").Base(), GP64()),
		Load(Param("c").Base(), GP64())
	i := GP64()
	XORQ(i, i)
	Label("rescale")
	for half := range 2 {
		x, nan := YMM(), YMM()
		wide := func(r reg.Register) operand.Mem {
			return operand.Mem{Base: r, Index: i, Scale: 8, Disp: 32 * half}
		}
		VCVTPS2PD(operand.Mem{Base: a, Index: i, Scale: 4, Disp: 16 * half}, x)
		VMULPD(wide(b), x, x)
		VADDPD(wide(c), x, x)
		VCMPPD(operand.U8(3), x, x, nan)
		VROUNDPD(operand.U8(0xb), x, x)
		VANDNPD(x, nan, x)
		VCVTPD2PSY(x, x.AsX())
		VMOVUPS(x.AsX(), operand.Mem{Base: dst, Index: i, Scale: 4, Disp: 16 * half})
	}
	ADDQ(operand.U8(8), i)
	CMPQ(i, n)
	JB(operand.LabelRef("rescale"))
	VZEROUPPER()
	RET()
}
