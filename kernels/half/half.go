// Package half converts between float32 and the narrow floating-point types:
// float16, bfloat16 and the float8 family. Rounding is to nearest, ties to
// even, with PyTorch's treatment of overflow and NaN.
package half

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// Format describes a narrow type: a sign, Exp exponent bits, Man mantissa bits.
type Format struct {
	Exp, Man uint
	Bias     int
	// Inf: has infinities and NaNs as IEEE. Otherwise overflow gives NaN.
	Inf bool
	// NaN is the pattern of a positive NaN; Fnuz types have one NaN and no -0.
	NaN  uint16
	Fnuz bool
	Max  uint16 // largest finite magnitude
}

// FormatOf returns the format of a narrow type; Float8E8M0FNU, which has no sign, has none.
func FormatOf(d ir.DType) (Format, bool) {
	switch d {
	case ir.Float16:
		return Format{Exp: 5, Man: 10, Bias: 15, Inf: true, NaN: 0x7e00, Max: 0x7bff}, true
	case ir.BFloat16:
		return Format{Exp: 8, Man: 7, Bias: 127, Inf: true, NaN: 0x7fc0, Max: 0x7f7f}, true
	case ir.Float8E5M2:
		return Format{Exp: 5, Man: 2, Bias: 15, Inf: true, NaN: 0x7f, Max: 0x7b}, true
	case ir.Float8E4M3FN:
		return Format{Exp: 4, Man: 3, Bias: 7, NaN: 0x7f, Max: 0x7e}, true
	case ir.Float8E5M2FNUZ:
		return Format{Exp: 5, Man: 2, Bias: 16, NaN: 0x80, Fnuz: true, Max: 0x7f}, true
	case ir.Float8E4M3FNUZ:
		return Format{Exp: 4, Man: 3, Bias: 8, NaN: 0x80, Fnuz: true, Max: 0x7f}, true
	}
	return Format{}, false
}

// Is reports whether d is a type this package converts.
func Is(d ir.DType) bool {
	_, ok := FormatOf(d)
	return ok || d == ir.Float8E8M0FNU
}

// FromFloat32 returns the bits of x rounded to d, which Is must hold for.
func FromFloat32(d ir.DType, x float32) uint16 {
	if d == ir.Float8E8M0FNU {
		return toE8M0(x)
	}
	f, _ := FormatOf(d)
	b := math.Float32bits(x)
	sign := uint16(b>>31) << (f.Exp + f.Man)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		if f.Fnuz {
			return f.NaN
		}
		return sign | f.NaN
	case b == 0:
		if f.Fnuz {
			return 0
		}
		return sign
	}
	mag := f.round(b)
	if mag > f.Max {
		mag = f.NaN
		if f.Inf {
			mag = f.Max + 1
		}
		if f.Fnuz {
			return mag
		}
	}
	if f.Fnuz && mag == 0 {
		return 0
	}
	return sign | mag
}

// round returns the magnitude of finite or infinite float32 bits b as bits of
// f; results beyond f.Max overflowed.
func (f Format) round(b uint32) uint16 {
	e := int(b>>23) - 127
	m := b & 0x7fffff
	if b>>23 == 0 { // subnormal float32
		e++
	} else {
		m |= 1 << 23
	}
	if e > 127 {
		return math.MaxUint16
	}
	// The result's unit in the last place is 2^(e-man), at least that of its
	// subnormals.
	minE := 1 - f.Bias
	shift := 23 - int(f.Man)
	biased := e - minE + 1
	if e < minE {
		shift += minE - e
		biased = 1
	}
	if shift > 31 {
		return 0
	}
	q := m >> uint(shift)
	rest := m & (1<<uint(shift) - 1)
	if half := uint32(1) << uint(shift) >> 1; rest > half || rest == half && half != 0 && q&1 == 1 {
		q++
	}
	// The implicit bit of q adds one to the exponent below it; so does a carry.
	r := uint32(biased-1)<<f.Man + q
	return uint16(min(r, math.MaxUint16))
}

// ToFloat32 returns the value of bits of d.
func ToFloat32(d ir.DType, bits uint16) float32 {
	if d == ir.Float8E8M0FNU {
		return fromE8M0(bits)
	}
	f, _ := FormatOf(d)
	width := f.Exp + f.Man
	neg := bits>>width&1 != 0
	mag := bits & (1<<width - 1)
	var x float64
	switch {
	case f.Fnuz && bits == f.NaN, !f.Inf && !f.Fnuz && mag == f.NaN, f.Inf && mag > f.Max+1:
		return float32(math.NaN())
	case f.Inf && mag == f.Max+1:
		x = math.Inf(1)
	case mag>>f.Man == 0:
		x = math.Ldexp(float64(mag), 1-f.Bias-int(f.Man))
	default:
		m := mag&(1<<f.Man-1) | 1<<f.Man
		x = math.Ldexp(float64(m), int(mag>>f.Man)-f.Bias-int(f.Man))
	}
	if neg {
		x = -x
	}
	return float32(x)
}

// toE8M0 rounds to a power of two; the type has no sign and no zero.
func toE8M0(x float32) uint16 {
	b := math.Float32bits(x)
	e := uint16(b >> 23 & 0xff)
	if e == 0xff {
		return e
	}
	if guard, rest := b&0x400000 != 0, b&0x3fffff != 0; guard && (rest || e > 0) {
		e++
	}
	return e
}

func fromE8M0(bits uint16) float32 {
	if bits == 0xff {
		return float32(math.NaN())
	}
	return float32(math.Ldexp(1, int(bits)-127))
}
