package strip

import "math"

// BitAnd sets dst[i] = a[i] & b[i].
func BitAnd[T Integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] & b[i]
	}
}

// BitAndScalar sets dst[i] = a[i] & s.
func BitAndScalar[T Integer](dst, a []T, s T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] & s
	}
}

// BitOr sets dst[i] = a[i] | b[i].
func BitOr[T Integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] | b[i]
	}
}

// BitOrScalar sets dst[i] = a[i] | s.
func BitOrScalar[T Integer](dst, a []T, s T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] | s
	}
}

// BitXor sets dst[i] = a[i] ^ b[i].
func BitXor[T Integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] ^ b[i]
	}
}

// BitXorScalar sets dst[i] = a[i] ^ s.
func BitXorScalar[T Integer](dst, a []T, s T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] ^ s
	}
}

// Shl sets dst[i] = a[i] << b[i].
func Shl[T Integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] << uint(b[i])
	}
}

// ShlScalar sets dst[i] = a[i] << s.
func ShlScalar[T Integer](dst, a []T, s T) {
	a = a[:len(dst)]
	n := uint(s)
	for i := range dst {
		dst[i] = a[i] << n
	}
}

// Shr sets dst[i] = a[i] >> b[i]: arithmetic if a is signed.
func Shr[T Integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] >> uint(b[i])
	}
}

// ShrScalar sets dst[i] = a[i] >> s: arithmetic if a is signed.
func ShrScalar[T Integer](dst, a []T, s T) {
	a = a[:len(dst)]
	n := uint(s)
	for i := range dst {
		dst[i] = a[i] >> n
	}
}

// Float32Bits sets dst[i] to the bits of a[i].
func Float32Bits[T int32 | uint32](dst []T, a []float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = T(math.Float32bits(a[i]))
	}
}

// BitsFloat32 sets dst[i] to the number with the bits a[i].
func BitsFloat32[T int32 | uint32](dst []float32, a []T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(a[i]))
	}
}

// Float64Bits sets dst[i] to the bits of a[i].
func Float64Bits[T int64 | uint64](dst []T, a []float64) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = T(math.Float64bits(a[i]))
	}
}

// BitsFloat64 sets dst[i] to the number with the bits a[i].
func BitsFloat64[T int64 | uint64](dst []float64, a []T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = math.Float64frombits(uint64(a[i]))
	}
}
