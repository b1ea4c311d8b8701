package strip

// Eq sets dst[i] = a[i] == b[i].
func Eq[T Numeric](dst []bool, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if eqF32(dst, f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] == b[i]
	}
}

// Ne sets dst[i] = a[i] != b[i].
func Ne[T Numeric](dst []bool, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if neF32(dst, f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] != b[i]
	}
}

// Lt sets dst[i] = a[i] < b[i].
func Lt[T Numeric](dst []bool, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if ltF32(dst, f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] < b[i]
	}
}

// Le sets dst[i] = a[i] <= b[i].
func Le[T Numeric](dst []bool, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if leF32(dst, f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] <= b[i]
	}
}

// EqScalar sets dst[i] = a[i] == s.
func EqScalar[T Numeric](dst []bool, a []T, s T) {
	a = a[:len(dst)]
	if eqScalarF32(dst, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] == s
	}
}

// NeScalar sets dst[i] = a[i] != s.
func NeScalar[T Numeric](dst []bool, a []T, s T) {
	a = a[:len(dst)]
	if neScalarF32(dst, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] != s
	}
}

// LtScalar sets dst[i] = a[i] < s.
func LtScalar[T Numeric](dst []bool, a []T, s T) {
	a = a[:len(dst)]
	if ltScalarF32(dst, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] < s
	}
}

// LeScalar sets dst[i] = a[i] <= s.
func LeScalar[T Numeric](dst []bool, a []T, s T) {
	a = a[:len(dst)]
	if leScalarF32(dst, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] <= s
	}
}

// GtScalar sets dst[i] = a[i] > s.
func GtScalar[T Numeric](dst []bool, a []T, s T) {
	a = a[:len(dst)]
	if gtScalarF32(dst, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] > s
	}
}

// GeScalar sets dst[i] = a[i] >= s.
func GeScalar[T Numeric](dst []bool, a []T, s T) {
	a = a[:len(dst)]
	if geScalarF32(dst, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		dst[i] = a[i] >= s
	}
}

// And sets dst[i] = a[i] && b[i].
func And(dst, a, b []bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] && b[i]
	}
}

// Or sets dst[i] = a[i] || b[i].
func Or(dst, a, b []bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] || b[i]
	}
}

// Xor sets dst[i] = a[i] != b[i].
func Xor(dst, a, b []bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] != b[i]
	}
}

// Not sets dst[i] = !a[i].
func Not(dst, a []bool) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = !a[i]
	}
}

// Select sets dst[i] = c[i] ? a[i] : b[i].
func Select[T any](dst []T, c []bool, a, b []T) {
	c, a, b = c[:len(dst)], a[:len(dst)], b[:len(dst)]
	if selectF32(f32s(dst), c, f32s(a), f32s(b)) {
		return
	}
	for i := range dst {
		v := b[i]
		if c[i] {
			v = a[i]
		}
		dst[i] = v
	}
}

// SelectScalar sets dst[i] = c[i] ? a[i] : s.
func SelectScalar[T any](dst []T, c []bool, a []T, s T) {
	c, a = c[:len(dst)], a[:len(dst)]
	if selectScalarF32(f32s(dst), c, f32s(a), f32(s)) {
		return
	}
	for i := range dst {
		v := s
		if c[i] {
			v = a[i]
		}
		dst[i] = v
	}
}

// ScalarSelect sets dst[i] = c[i] ? s : b[i].
func ScalarSelect[T any](dst []T, c []bool, s T, b []T) {
	c, b = c[:len(dst)], b[:len(dst)]
	if scalarSelectF32(f32s(dst), c, f32(s), f32s(b)) {
		return
	}
	for i := range dst {
		v := b[i]
		if c[i] {
			v = s
		}
		dst[i] = v
	}
}
