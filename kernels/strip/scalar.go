package strip

import (
	"cmp"
	"math"
)

// Greater returns a > b ? a : b: the second if they are not ordered.
func Greater[T cmp.Ordered](a, b T) T {
	if a > b {
		return a
	}
	return b
}

// Lesser returns a < b ? a : b: the second if they are not ordered.
func Lesser[T cmp.Ordered](a, b T) T {
	if a < b {
		return a
	}
	return b
}

// Abs returns the magnitude of an integer, wrapping around.
func Abs[T Integer](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

// FromBool returns 1 for true, 0 for false.
func FromBool[T Numeric](b bool) T {
	if b {
		return 1
	}
	return 0
}

// quantized returns x rounded, with z added, between low and high, 0 if it is no number.
func quantized(x, z, low, high float32) float32 {
	n := Lesser(high, Greater(low, float32(math.RoundToEven(float64(x)))+z))
	if n != n {
		n = 0
	}
	return n
}

// FloorDiv returns a/b rounded to minus infinity.
func FloorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// FloorMod returns a - b*floor(a/b), which has the sign of b.
func FloorMod(a, b int) int {
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// ToInt32 rounds x towards zero. It returns the smallest int32 for NaN and for a number
// that does not fit.
func ToInt32(x float64) int32 {
	if x > -0x1p31-1 && x < 0x1p31 {
		return int32(x)
	}
	return math.MinInt32
}

// ToInt64 returns x without its fraction, the smallest int64 for what does not
// fit and NaN.
func ToInt64(x float64) int64 {
	if x >= -0x1p63 && x < 0x1p63 {
		return int64(x)
	}
	return math.MinInt64
}

// ToUint64 returns x without its fraction: negative numbers wrap around, and
// what does not fit and NaN give 1<<63.
func ToUint64(x float64) uint64 {
	if x >= 0x1p63 && x < 0x1p64 {
		return uint64(int64(x-0x1p63)) ^ 1<<63
	}
	return uint64(ToInt64(x))
}

// FMA32 returns a*b + c rounded once. The sum, whose exact error is known, is
// rounded to odd in float64, so that rounding on to float32 does no harm.
func FMA32(a, b, c float32) float32 {
	p := float64(float64(a) * float64(b)) // exact: 48 bits
	s := p + float64(c)
	t := s - p
	e := (p - (s - t)) + (float64(c) - t) // the exact error of s
	if e == 0 || e != e || math.IsInf(s, 0) {
		return float32(s)
	}
	bits := math.Float64bits(s)
	switch {
	case bits&1 != 0:
	case (e > 0) == (s > 0):
		bits++
	default:
		bits--
	}
	return float32(math.Float64frombits(bits))
}
