package strip

import "math"

// F16ToF32 returns the value of the bits of a float16.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h) & 0x3ff
	switch exp {
	case 0: // subnormal: man * 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(man)*0x1p-24))
	case 0x1f:
		if man != 0 {
			return float32(math.NaN())
		}
		return math.Float32frombits(sign | 0x7f800000)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// F32ToF16 returns the bits of x rounded to float16, to nearest, ties to even.
func F32ToF16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits>>16) & 0x8000
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00
	case bits >= 0x47800000: // from 2^16 on
		return sign | 0x7c00
	case bits < 0x38800000: // below 2^-14: multiples of 2^-24
		magic := math.Float32frombits(bits) + 0.5 // whose unit in the last place is 2^-24
		return sign | uint16(math.Float32bits(magic)-0x3f000000)
	}
	bits += 0xfff + bits>>13&1
	return sign | uint16((bits-0x38000000)>>13)
}

// BF16ToF32 returns the value of the bits of a bfloat16.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 returns the bits of x rounded to bfloat16, to nearest, ties to even.
func F32ToBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16)&0x8000 | 0x7fc0
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
