package sym

import "math"

// addOK returns a+b and whether it fits.
func addOK(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

// mulOK returns a*b and whether it fits.
func mulOK(a, b int64) (int64, bool) {
	p := a * b
	if a == int64(int32(a)) && b == int64(int32(b)) {
		return p, true
	}
	if a == 0 || b == 0 {
		return 0, true
	}
	if (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		return 0, false
	}
	return p, p/b == a
}

// floorDivOK returns a//b rounded to minus infinity and whether it exists.
func floorDivOK(a, b int64) (int64, bool) {
	if b == 0 || (a == math.MinInt64 && b == -1) {
		return 0, false
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

// mod returns a mod b with the sign of b; 0 if b is.
func mod(a, b int64) int64 {
	if b == 0 || b == -1 {
		return 0
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// gcd returns the greatest common divisor of |a| and |b|, and false when it
// does not fit, which happens for two operands of 0 or MinInt64 only.
func gcd(a, b int64) (int64, bool) {
	for b != 0 {
		if b == -1 {
			return 1, true
		}
		a, b = b, a%b
	}
	if a == math.MinInt64 {
		return 0, false
	}
	if a < 0 {
		a = -a
	}
	return a, true
}
