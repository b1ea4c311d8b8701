package strip

// Sums of floats have eight lanes, whatever machine they run on: lane l adds
// the elements l, l+8, l+16, …, and the lanes are added up in pairs.

// Sum returns acc plus the elements of a.
func Sum[T Float](acc T, a []T) T {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	for len(a) >= 8 {
		s0 += a[0]
		s1 += a[1]
		s2 += a[2]
		s3 += a[3]
		s4 += a[4]
		s5 += a[5]
		s6 += a[6]
		s7 += a[7]
		a = a[8:]
	}
	s := [8]T{s0, s1, s2, s3, s4, s5, s6, s7}
	for i, x := range a {
		s[i] += x
	}
	return acc + (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
}

// Dot returns acc plus the sum of a[i] * b[i], each rounded.
func Dot[T Float](acc T, a, b []T) T {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 {
		s0 += T(a[0] * b[0])
		s1 += T(a[1] * b[1])
		s2 += T(a[2] * b[2])
		s3 += T(a[3] * b[3])
		s4 += T(a[4] * b[4])
		s5 += T(a[5] * b[5])
		s6 += T(a[6] * b[6])
		s7 += T(a[7] * b[7])
		a, b = a[8:], b[8:]
	}
	s := [8]T{s0, s1, s2, s3, s4, s5, s6, s7}
	for i, x := range a {
		s[i] += T(x * b[i])
	}
	return acc + (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
}

// SumInt returns acc plus the elements of a.
func SumInt[T Integer](acc T, a []T) T {
	for _, x := range a {
		acc += x
	}
	return acc
}

// Largest returns the largest of acc and the elements of a, NaN if there is one.
func Largest[T Numeric](acc T, a []T) T {
	if x, ok := largestF32(f32s(a)); ok {
		if y := T(x); y > acc || y != y {
			acc = y
		}
		return acc
	}
	for _, x := range a {
		if x > acc || x != x {
			acc = x
		}
	}
	return acc
}

// Smallest returns the smallest of acc and the elements of a, NaN if there is one.
func Smallest[T Numeric](acc T, a []T) T {
	if x, ok := smallestF32(f32s(a)); ok {
		if y := T(x); y < acc || y != y {
			acc = y
		}
		return acc
	}
	for _, x := range a {
		if x < acc || x != x {
			acc = x
		}
	}
	return acc
}

// Any reports whether acc or an element of a is true.
func Any(acc bool, a []bool) bool {
	for _, x := range a {
		acc = acc || x
	}
	return acc
}

// All returns acc and whether all elements of a are true.
func All(acc bool, a []bool) bool {
	for _, x := range a {
		acc = acc && x
	}
	return acc
}
