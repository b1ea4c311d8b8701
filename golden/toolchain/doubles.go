package toolchain

import (
	"regexp"
	"slices"
)

// DoubleHelpers names the double-precision routines of the compiler's library
// that an image holds or needs, sorted. On a machine whose FPU is single
// precision, or that has none, each operation on a double is a call of one, so
// an empty list proves that a program computes nothing in double precision.
//
// Conversions between float and 64-bit integers may need some too, because
// libgcc makes them by way of double.
func (im *Image) DoubleHelpers() []string {
	// Run-time ABI names of ARM, then libgcc's, in which df is the double.
	helper := regexp.MustCompile(
		`^__(aeabi_(c?d(add|sub|rsub|mul|div|neg|cmp\w+|2\w+)|(f|h|i|ui|l|ul)2d)|` +
			`(add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|cmp|unord|powi|extend\w*|trunc\w*|fix\w*|fixuns\w*|float\w*)df\w*)$`)
	var found []string
	for _, s := range im.Symbols {
		if helper.MatchString(s.Name) {
			found = append(found, s.Name)
		}
	}
	for _, name := range im.Undef {
		if helper.MatchString(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
