package strip

import "math"

// Fill sets dst[i] = s.
func Fill[T any](dst []T, s T) {
	for i := range dst {
		dst[i] = s
	}
}

// Repeat fills dst with what a has, again and again.
func Repeat[T any](dst, a []T) {
	for n := copy(dst, a); n > 0 && n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
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

// Truncate sets dst[i] to the integer a[i] without its fraction, as ToInt32,
// ToInt64 or ToUint64 does for the type.
func Truncate[D Integer, S Float](dst []D, a []S) {
	a = a[:len(dst)]
	if truncateInt8F32(as[int8](dst), f32s(a)) || truncateUint8F32(as[uint8](dst), f32s(a)) {
		return
	}
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

// ShlScalar sets dst[i] = a[i] << s.
func ShlScalar[T Integer](dst, a []T, s T) {
	a = a[:len(dst)]
	n := uint(s)
	for i := range dst {
		dst[i] = a[i] << n
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
