package eval

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
)

// Value is a scalar at run time.
type Value = expr.Value

// Operand is a dense tensor.
type Operand struct {
	DType ir.DType
	Sizes []int64
	Data  []byte
}

// Get returns element i of buf, which must have it.
func Get(d ir.DType, buf []byte, i int64) Value {
	size := int64(d.Size())
	b := buf[i*size : (i+1)*size]
	var u uint64
	switch size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		u = uint64(binary.LittleEndian.Uint32(b))
	default:
		u = binary.LittleEndian.Uint64(b)
	}
	return expr.FromBits(d, u)
}

// Put sets element i of buf, which must have it.
func Put(d ir.DType, buf []byte, i int64, v Value) {
	size := int64(d.Size())
	b := buf[i*size : (i+1)*size]
	switch u := expr.Bits(d, v); size {
	case 1:
		b[0] = byte(u)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(u))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(u))
	default:
		binary.LittleEndian.PutUint64(b, u)
	}
}

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
// for them and the machine is little-endian; else a copy in scratch, which grows
// as needed. If b ends within an element, zeros complete it.
func Floats(b []byte, scratch *[]float32) (x []float32, shared bool) {
	if rest := len(b) % 4; rest > 0 {
		b = append(b[:len(b):len(b)], make([]byte, 4-rest)...)
	} else if x, ok := view[float32](b); ok {
		return x, true
	}
	n := len(b) / 4
	if cap(*scratch) < n {
		*scratch = make([]float32, n)
	}
	x = (*scratch)[:n]
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
		v.outside(fr, k, first, last)
	}
}

func (v *vectors) outside(fr *frame, k int, first, last int64) {
	must.Fail("access to elements %d to %d of buffer %s, which has %d", first, last,
		v.p.f.Bufs[k].Name, fr.lens[k])
}

// decode sets x to the elements that b holds.
func decode[T element](x []T, b []byte) {
	if x, ok := any(x).([]bool); ok {
		for i := range x {
			x[i] = b[i] != 0
		}
		return
	}
	swapped(bytesOf(x), b, x)
}

// encode sets b to the elements of x. It is not inlined, so that store is.
//
//go:noinline
func encode[T element](b []byte, x []T) { swapped(b, bytesOf(x), x) }

// bytesOf returns the memory of x.
func bytesOf[T element](x []T) []byte {
	var e T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(e)))
}

// swapped copies the bytes of elements like those of x, their order turned round on a
// machine that does not hold numbers as buffers do.
func swapped[T element](to, from []byte, x []T) {
	n := len(x) * int(unsafe.Sizeof(*new(T)))
	copy(to[:n], from[:n])
	if size := int(unsafe.Sizeof(*new(T))); !littleEndian {
		for i := 0; i < n; i += size { // no iterator: what is on the stack stays there
			slices.Reverse(to[i : i+size])
		}
	}
}
