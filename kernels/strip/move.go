package strip

import "math"

// Fill sets dst[i] = s.
func Fill[T any](dst []T, s T) {
	for i := range dst {
		dst[i] = s
	}
}

// Iota sets dst[i] = first + i*step.
func Iota[T Integer](dst []T, first, step int) {
	for i := range dst {
		dst[i] = T(first)
		first += step
	}
}

// Load sets dst[i] = src[first + i*step].
func Load[T any](dst, src []T, first, step int) {
	for i := range dst {
		dst[i] = src[first]
		first += step
	}
}

// Store sets dst[first + i*step] = a[i] for all i of a.
func Store[T any](dst []T, first, step int, a []T) {
	for _, x := range a {
		dst[first] = x
		first += step
	}
}

// Gather sets dst[i] = src[first + at[i]*step].
func Gather[T any, I Integer](dst, src []T, first, step int, at []I) {
	at = at[:len(dst)]
	for i := range dst {
		dst[i] = src[first+int(at[i])*step]
	}
}

// Convert sets dst[i] to a[i] converted, between integers, between floats, or
// from an integer to a float.
func Convert[D, S Numeric](dst []D, a []S) {
	a = a[:len(dst)]
	if convertInt32F32(f32s(dst), i32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = D(a[i])
	}
}

// Truncate sets dst[i] to the integer a[i] without its fraction, as ToInt32,
// ToInt64 or ToUint64 does for the type.
func Truncate[D Integer, S Float](dst []D, a []S) {
	a = a[:len(dst)]
	switch any(D(0)).(type) {
	case uint64:
		for i := range dst {
			dst[i] = D(ToUint64(float64(a[i])))
		}
	case uint32, int64:
		for i := range dst {
			dst[i] = D(ToInt64(float64(a[i])))
		}
	default:
		for i := range dst {
			dst[i] = D(ToInt32(float64(a[i])))
		}
	}
}

// ThroughInt8 sets dst[i] to the int8 that Truncate makes of a[i], as a float.
func ThroughInt8(dst, a []float32) {
	a = a[:len(dst)]
	if throughInt8F32(dst, a) {
		return
	}
	for i := range dst {
		dst[i] = float32(int8(ToInt32(float64(a[i]))))
	}
}

// ThroughUint8 sets dst[i] to the uint8 that Truncate makes of a[i], as a float.
func ThroughUint8(dst, a []float32) {
	a = a[:len(dst)]
	if throughUint8F32(dst, a) {
		return
	}
	for i := range dst {
		dst[i] = float32(uint8(ToInt32(float64(a[i]))))
	}
}

// TruncMulAdd sets dst[i] to a[i]·b[i] + c[i] without its fraction, computed in
// float64; to 0 where it is no number.
func TruncMulAdd(dst, a []float32, b, c []float64) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	for i := truncMulAdd(dst, a, b, c); i < len(dst); i++ {
		x := float64(float64(a[i])*b[i]) + c[i]
		if x != x {
			x = 0
		}
		dst[i] = float32(math.Trunc(x))
	}
}

// Numbers sets dst[i] to 1 where a[i] is true, else to 0.
func Numbers[T Numeric](dst []T, a []bool) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = FromBool[T](a[i])
	}
}

// FromF16 sets dst[i] to the value of the float16 a[i].
func FromF16(dst []float32, a []uint16) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = F16ToF32(a[i])
	}
}

// ToF16 sets dst[i] to a[i] as a float16.
func ToF16(dst []uint16, a []float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = F32ToF16(a[i])
	}
}

// FromBF16 sets dst[i] to the value of the bfloat16 a[i].
func FromBF16(dst []float32, a []uint16) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = BF16ToF32(a[i])
	}
}

// ToBF16 sets dst[i] to a[i] as a bfloat16.
func ToBF16(dst []uint16, a []float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = F32ToBF16(a[i])
	}
}
