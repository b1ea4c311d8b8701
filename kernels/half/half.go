// Package half converts between float32 and the narrow floating-point types:
// float16, bfloat16 and the float8 family. Rounding is to nearest, ties to
// even, with PyTorch's treatment of overflow and NaN.
package half

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// format describes a narrow type: sign, exp exponent bits, man mantissa bits.
type format struct {
	exp, man uint
	bias     int
	// inf: has infinities and NaNs as IEEE. Otherwise overflow gives NaN.
	inf bool
	// nan is the pattern of a positive NaN; fnuz types have one NaN and no -0.
	nan  uint16
	fnuz bool
	max  uint16 // largest finite magnitude
}

func formatOf(d ir.DType) (format, bool) {
	switch d {
	case ir.Float16:
		return format{exp: 5, man: 10, bias: 15, inf: true, nan: 0x7e00, max: 0x7bff}, true
	case ir.BFloat16:
		return format{exp: 8, man: 7, bias: 127, inf: true, nan: 0x7fc0, max: 0x7f7f}, true
	case ir.Float8E5M2:
		return format{exp: 5, man: 2, bias: 15, inf: true, nan: 0x7f, max: 0x7b}, true
	case ir.Float8E4M3FN:
		return format{exp: 4, man: 3, bias: 7, nan: 0x7f, max: 0x7e}, true
	case ir.Float8E5M2FNUZ:
		return format{exp: 5, man: 2, bias: 16, nan: 0x80, fnuz: true, max: 0x7f}, true
	case ir.Float8E4M3FNUZ:
		return format{exp: 4, man: 3, bias: 8, nan: 0x80, fnuz: true, max: 0x7f}, true
	}
	return format{}, false
}

// Is reports whether d is a type this package converts.
func Is(d ir.DType) bool {
	_, ok := formatOf(d)
	return ok || d == ir.Float8E8M0FNU
}

// FromFloat32 returns the bits of x rounded to d, which Is must hold for.
func FromFloat32(d ir.DType, x float32) uint16 {
	if d == ir.Float8E8M0FNU {
		return toE8M0(x)
	}
	f, _ := formatOf(d)
	b := math.Float32bits(x)
	sign := uint16(b>>31) << (f.exp + f.man)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		if f.fnuz {
			return f.nan
		}
		return sign | f.nan
	case b == 0:
		if f.fnuz {
			return 0
		}
		return sign
	}
	mag := f.round(b)
	if mag > f.max {
		mag = f.nan
		if f.inf {
			mag = f.max + 1
		}
		if f.fnuz {
			return mag
		}
	}
	if f.fnuz && mag == 0 {
		return 0
	}
	return sign | mag
}

// round returns the magnitude of finite or infinite float32 bits b as bits of
// f; results beyond f.max overflowed.
func (f format) round(b uint32) uint16 {
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
	minE := 1 - f.bias
	shift := 23 - int(f.man)
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
	r := uint32(biased-1)<<f.man + q
	return uint16(min(r, math.MaxUint16))
}

// ToFloat32 returns the value of bits of d.
func ToFloat32(d ir.DType, bits uint16) float32 {
	if d == ir.Float8E8M0FNU {
		return fromE8M0(bits)
	}
	f, _ := formatOf(d)
	width := f.exp + f.man
	neg := bits>>width&1 != 0
	mag := bits & (1<<width - 1)
	var x float64
	switch {
	case f.fnuz && bits == f.nan, !f.inf && !f.fnuz && mag == f.nan, f.inf && mag > f.max+1:
		return float32(math.NaN())
	case f.inf && mag == f.max+1:
		x = math.Inf(1)
	case mag>>f.man == 0:
		x = math.Ldexp(float64(mag), 1-f.bias-int(f.man))
	default:
		m := mag&(1<<f.man-1) | 1<<f.man
		x = math.Ldexp(float64(m), int(mag>>f.man)-f.bias-int(f.man))
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
