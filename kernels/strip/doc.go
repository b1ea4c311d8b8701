// Package strip is vector primitives over slices: what innermost loops are made
// of where Go, which does not vectorise, runs them. kernels/eval calls them,
// and the Go printer copies those a program needs into the package it writes;
// therefore the package imports the standard library only, and functions
// depend on nothing but each other.
//
// A primitive works on len(dst) elements (a reduction on len(a)); its other
// slices have at least that many. dst may be the same run of memory as an
// operand but must not overlap it otherwise. Every element's result is the one
// that kernels/expr defines, to the bit: products that are added to are
// rounded first.
package strip

// Size is the number of elements that readers of loops give a primitive at a
// time: temporaries of this size stay in the first-level cache.
const Size = 512

// Float is the element types with fractions.
type Float interface{ float32 | float64 }

// Integer is the integer element types.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Numeric is the element types with arithmetic and order.
type Numeric interface{ Integer | Float }
