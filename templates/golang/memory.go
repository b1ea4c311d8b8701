package golang

import (
	"runtime"
	"unsafe"
)

// element is the types that tensors have elements of.
type element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// newArena returns size bytes, aligned for every type of element.
func newArena(size int) []byte {
	words := make([]uint64, (size+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
}

// view returns the n elements that begin at byte off of the arena.
func view[T element](arena []byte, off, n int) []T {
	var x T
	b := arena[off : off+n*int(unsafe.Sizeof(x))]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// poison overwrites the n elements of size bytes from byte off of the arena,
// which nobody may read any more.
func poison(arena []byte, off, n, size int) {
	b := arena[off : off+n*size]
	for i := range b {
		b[i] = 0xff
	}
}

// elements returns the n elements that begin at byte off of data, which must not be
// written. They share its memory where this machine reads them there as they are, and
// as fast as anywhere: vectors of AVX-512 are as long as a line of the cache, and those
// that lie in two lines take twice as long.
func elements[T element](data string, off, n int) []T {
	var x T
	size := int(unsafe.Sizeof(x))
	raw := data[off : off+n*size]
	p := unsafe.Pointer(unsafe.StringData(raw))
	align := unsafe.Alignof(x)
	if runtime.GOARCH == "amd64" && len(raw) >= 1<<10 {
		align = 64
	}
	if littleEndian() && uintptr(p)%align == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	out := make([]T, n)
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(raw))
	if littleEndian() {
		copy(b, raw)
		return out
	}
	for i := range b {
		b[i] = raw[i-i%size+size-1-i%size]
	}
	return out
}

// littleEndian reports whether this machine stores low bytes first.
func littleEndian() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}
