package compiled

import (
	"unsafe"

	"github.com/etgen/etgen/ir"
)

// Element is the types that generated code has elements of; 16-bit floats are
// their bits.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// elements returns bytes, which are aligned, as elements.
func elements[T Element](b []byte) []T {
	var x T
	if len(b) == 0 {
		return []T{} // not nil: a pointer to an array of no elements is made of it
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(x)))
}

// aligned reports whether elements of the type may lie at b.
func aligned(b []byte, d ir.DType) bool {
	return len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%uintptr(min(d.Size(), 8)) == 0
}

// allocate returns n aligned bytes: b if they are these.
func allocate(b []byte, n int) []byte {
	if len(b) == n {
		return b
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// overlap reports whether two runs of memory have bytes in common.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

func littleEndian() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}
