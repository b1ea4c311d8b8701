package strip

import "math"

// Add sets dst[i] = a[i] + b[i].
func Add[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if addF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// AddScalar sets dst[i] = a[i] + s.
func AddScalar[T Numeric](dst, a []T, s T) {
	a = a[:len(dst)]
	if addScalarF32(f32s(dst), f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] + s
	}
}

// Sub sets dst[i] = a[i] - b[i].
func Sub[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if subF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// SubScalar sets dst[i] = a[i] - s.
func SubScalar[T Numeric](dst, a []T, s T) {
	a = a[:len(dst)]
	if subScalarF32(f32s(dst), f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] - s
	}
}

// ScalarSub sets dst[i] = s - a[i].
func ScalarSub[T Numeric](dst []T, s T, a []T) {
	a = a[:len(dst)]
	if scalarSubF32(f32s(dst), f32(s), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = s - a[i]
	}
}

// Mul sets dst[i] = a[i] * b[i].
func Mul[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if mulF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

// MulScalar sets dst[i] = a[i] * s.
func MulScalar[T Numeric](dst, a []T, s T) {
	a = a[:len(dst)]
	if mulScalarF32(f32s(dst), f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] * s
	}
}

// Div sets dst[i] = a[i] / b[i].
func Div[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if divF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] / b[i]
	}
}

// DivScalar sets dst[i] = a[i] / s.
func DivScalar[T Float](dst, a []T, s T) {
	a = a[:len(dst)]
	if divScalarF32(f32s(dst), f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] / s
	}
}

// ScalarDiv sets dst[i] = s / a[i].
func ScalarDiv[T Float](dst []T, s T, a []T) {
	a = a[:len(dst)]
	if scalarDivF32(f32s(dst), f32(s), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = s / a[i]
	}
}

// Mod sets dst[i] to the remainder of a[i] / b[i], with the sign of a[i].
func Mod[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = T(math.Mod(float64(a[i]), float64(b[i])))
	}
}

// ModScalar sets dst[i] to the remainder of a[i] / s, with the sign of a[i].
func ModScalar[T Float](dst, a []T, s T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = T(math.Mod(float64(a[i]), float64(s)))
	}
}

// Max sets dst[i] = a[i] > b[i] ? a[i] : b[i].
func Max[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if maxF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = Greater(a[i], b[i])
	}
}

// Larger sets dst[i] to the larger of a[i] and b[i], NaN if one of them is.
func Larger[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if largerF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		x, y := a[i], b[i]
		if y > x || y != y {
			x = y
		}
		dst[i] = x
	}
}

// Smaller sets dst[i] to the smaller of a[i] and b[i], NaN if one of them is.
func Smaller[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if smallerF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		x, y := a[i], b[i]
		if y < x || y != y {
			x = y
		}
		dst[i] = x
	}
}

// MaxScalar sets dst[i] = a[i] > s ? a[i] : s.
func MaxScalar[T Numeric](dst, a []T, s T) {
	a = a[:len(dst)]
	if maxScalarF32(f32s(dst), f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = Greater(a[i], s)
	}
}

// ScalarMax sets dst[i] = s > a[i] ? s : a[i].
func ScalarMax[T Numeric](dst []T, s T, a []T) {
	a = a[:len(dst)]
	if scalarMaxF32(f32s(dst), f32(s), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = Greater(s, a[i])
	}
}

// Min sets dst[i] = a[i] < b[i] ? a[i] : b[i].
func Min[T Numeric](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if minF32(f32s(dst), f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = Lesser(a[i], b[i])
	}
}

// MinScalar sets dst[i] = a[i] < s ? a[i] : s.
func MinScalar[T Numeric](dst, a []T, s T) {
	a = a[:len(dst)]
	if minScalarF32(f32s(dst), f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = Lesser(a[i], s)
	}
}

// ScalarMin sets dst[i] = s < a[i] ? s : a[i].
func ScalarMin[T Numeric](dst []T, s T, a []T) {
	a = a[:len(dst)]
	if scalarMinF32(f32s(dst), f32(s), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = Lesser(s, a[i])
	}
}

// FMAF32 sets dst[i] = a[i]*b[i] + c[i], rounded once.
func FMAF32(dst, a, b, c []float32) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	if fmaF32(dst, a, b, c) {
		return
	}
	for i := range dst {
		dst[i] = FMA32(a[i], b[i], c[i])
	}
}

// FMAF64 sets dst[i] = a[i]*b[i] + c[i], rounded once.
func FMAF64(dst, a, b, c []float64) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	for i := range dst {
		dst[i] = math.FMA(a[i], b[i], c[i])
	}
}

// Neg sets dst[i] = -a[i].
func Neg[T Numeric](dst, a []T) {
	a = a[:len(dst)]
	if negF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = -a[i]
	}
}

// AbsFloat sets dst[i] = |a[i]|.
func AbsFloat[T Float](dst, a []T) {
	a = a[:len(dst)]
	if absF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Abs(float64(a[i])))
	}
}

// AbsInt sets dst[i] = |a[i]|, wrapping around.
func AbsInt[T Integer](dst, a []T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = Abs(a[i])
	}
}

// Sqrt sets dst[i] = √a[i].
func Sqrt[T Float](dst, a []T) {
	a = a[:len(dst)]
	if sqrtF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Sqrt(float64(a[i])))
	}
}

// Floor sets dst[i] to a[i] rounded down.
func Floor[T Float](dst, a []T) {
	a = a[:len(dst)]
	if floorF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Floor(float64(a[i])))
	}
}

// Ceil sets dst[i] to a[i] rounded up.
func Ceil[T Float](dst, a []T) {
	a = a[:len(dst)]
	if ceilF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Ceil(float64(a[i])))
	}
}

// Trunc sets dst[i] to a[i] without its fraction.
func Trunc[T Float](dst, a []T) {
	a = a[:len(dst)]
	if truncF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Trunc(float64(a[i])))
	}
}

// Round sets dst[i] to a[i] rounded to the nearest integer, ties to even.
func Round[T Float](dst, a []T) {
	a = a[:len(dst)]
	if roundF32(f32s(dst), f32s(a)) {
		return
	}
	for i := range dst {
		dst[i] = T(math.RoundToEven(float64(a[i])))
	}
}
