package loop

import (
	"strings"

	"github.com/etgen/etgen/ir/must"
)

// Call returns a call of a primitive. It fails if the primitive takes another number of arguments.
func Call(prim string, dst Operand, args ...Operand) *Vector {
	if n, ok := arguments[prim]; !ok || n != len(args) {
		must.Fail("the primitive %q is called with %d arguments", prim, len(args))
	}
	return &Vector{Prim: prim, Dst: dst, Args: args}
}

// arguments says how many arguments a primitive has, besides what it sets or changes.
var arguments = func() map[string]int {
	out := map[string]int{}
	for n, names := range map[int]string{
		1: `Apply Copy
			AbsFloat AbsInt All Any BitsFloat32 BitsFloat64 Ceil Convert Fill Float32Bits Float64Bits
			Floor FromBF16 FromF16 Largest Neg Not Numbers Repeat Round Smallest Sqrt Sum SumInt
			ThroughInt8 ThroughUint8 ToBF16 ToF16 Trunc Truncate`,
		2: `Add AddScalar And BitAnd BitAndScalar BitOr BitOrScalar BitXor BitXorScalar Div DivScalar
			Dot Eq EqScalar GeScalar GtScalar Iota Larger Le LeScalar Lt LtScalar Max MaxScalar Min
			MinScalar Mod ModScalar Mul MulScalar Ne NeScalar Or ScalarDiv ScalarMax ScalarMin
			ScalarSub Shl ShlScalar Shr ShrScalar Smaller Sub SubScalar Xor`,
		3: "FMAF32 FMAF64 Load ScalarSelect Select SelectScalar Store TruncMulAdd",
		4: "Gather",
		5: "Quantize",
		7: "Rescale",
		9: "Mix",
	} {
		for _, name := range strings.Fields(names) {
			out[name] = n
		}
	}
	return out
}()
