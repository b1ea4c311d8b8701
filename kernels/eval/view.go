package eval

import (
	"math"
	"unsafe"
)

// littleEndian tells whether the machine holds numbers as buffers do.
var littleEndian = func() bool { x := uint16(1); return *(*byte)(unsafe.Pointer(&x)) == 1 }()

// view returns the elements in b without copying them, if they lie as the
// machine wants them. Of bools it can only give room to write: a byte that
// is neither 0 nor 1 is no Go bool.
func view[T element](b []byte) ([]T, bool) {
	var x T
	size := unsafe.Sizeof(x)
	p := unsafe.Pointer(unsafe.SliceData(b))
	if !littleEndian || uintptr(p)%size != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(p), uintptr(len(b))/size), true
}

// Floats returns b as float32 elements: b's own memory, shared, if it is aligned
// for them and the machine is little-endian; else a copy in room, which grows
// as needed. Bytes of something else may end within an element: zeros follow.
func Floats(b []byte, room *[]float32) (x []float32, shared bool) {
	if rest := len(b) % 4; rest > 0 {
		b = append(b[:len(b):len(b)], make([]byte, 4-rest)...)
	} else if x, ok := view[float32](b); ok {
		return x, true
	}
	n := len(b) / 4
	if cap(*room) < n {
		*room = make([]float32, n)
	}
	x = (*room)[:n]
	decode(x, b)
	return x, false
}

// PutFloats sets b to the elements of x.
func PutFloats(b []byte, x []float32) { encode(b, x) }

// readable reports whether a view of T's may be read.
func readable[T element]() bool {
	var x T
	_, isBool := any(x).(bool)
	return !isBool
}

// elements returns buffer k of fr as elements to read, nil if they have to be
// decoded one by one.
func elements[T element](fr *frame, k int) []T {
	if !readable[T]() {
		return nil
	}
	x, _ := view[T](fr.bufs[k])
	return x
}

// within fails if one of n elements from first on, step apart, is outside of
// buffer k.
func (v *vectors) within(fr *frame, k int, first, step int64, n int) {
	last := first + int64(n-1)*step
	if n > 0 && (min(first, last) < 0 || max(first, last) >= fr.lens[k] || step > math.MaxInt32 ||
		step < math.MinInt32) {
		fail("access to elements %d to %d of buffer %s, which has %d", first, last,
			v.p.f.Bufs[k].Name, fr.lens[k])
	}
}
