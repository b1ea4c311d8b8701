package expr

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/half"
)

// IsNarrow reports whether d is a float narrower than float32. Values of such
// types are only loaded, stored, chosen between and converted from and to
// Float32; the constructors spell arithmetic on them as arithmetic on Float32
// rounded back, which is what eager PyTorch computes.
func IsNarrow(d ir.DType) bool { return half.Is(d) }

// RoundTo rounds x to float dtype d: to narrow types by way of float32.
func RoundTo(d ir.DType, x float64) float64 {
	switch {
	case d == ir.Float32:
		return float64(float32(x))
	case half.Is(d):
		return float64(half.ToFloat32(d, half.FromFloat32(d, float32(x))))
	}
	return x
}

func narrowBits(d ir.DType, x float64) uint16     { return half.FromFloat32(d, float32(x)) }
func narrowValue(d ir.DType, bits uint16) float64 { return float64(half.ToFloat32(d, bits)) }
