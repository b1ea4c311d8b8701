package lower

import (
	"math"
	"math/bits"
)

// rescaled are requantised sums. CMSIS-NN rounds twice: after it has multiplied, and
// after it has shifted to the right, where ties go away from zero. Both at once are
// the rounding of a number that lies further from zero by half of what the shift
// drops, and, as it is never in the middle of two integers, what is left without
// its fraction of one that lies further from zero by a half: sum·scale[c] ± half[c]
// of channel c, exact in float64. The sign is that of the sum; half is added to all
// where limits leave nothing below zero.
type rescaled struct {
	scale, half    []float64
	offset, lo, hi int64
}

// rounding returns scale and half of a channel whose sums are at most limit, for
// the scale m·2^(s-31). It reports false where they would not be exact.
func rounding(m, s, limit int64, r rescaled) (scale, half float64, ok bool) {
	left, right := max(s, 0), max(-s, 0)
	if m <= 0 || s < -maxShift || s > 30 || limit<<left > math.MaxInt32 {
		return 0, 0, false
	}
	// Of the sums that do not give a limit, the products are exact, and none lies
	// in the middle of two integers.
	scale = math.Ldexp(float64(m), int(s)-31)
	reach := max(abs(r.lo-r.offset), abs(r.hi-r.offset)) + 2
	most := min(limit, int64(min(math.Ceil(float64(reach)/scale), exactSum)))
	zeros := bits.TrailingZeros64(uint64(m)) + int(left)
	if reach > maxReach || bits.Len64(uint64(most))+bits.Len64(uint64(m)) > 53 || zeros < 31 &&
		most >= 1<<(30-zeros) {
		return 0, 0, false
	}
	half = 0.5
	if right > 0 {
		half += math.Ldexp(1, int(-right)-1)
	}
	return scale, half, true
}

// A product of less than maxReach with 31+maxShift fractional bits, and half of the
// last bit that a shift leaves, fit 53 bits.
const (
	maxReach = 1 << 9
	maxShift = 13
)
