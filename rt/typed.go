package rt

import (
	"fmt"
	"unsafe"

	"github.com/etgen/etgen/ir"
)

// Element are the Go types that stand for element types of tensors. Of
// those without a Go type (float16, bfloat16, the 8-bit floats) use NewTensor
// and Tensor.Data.
type Element interface {
	bool | uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64 | float32 | float64 |
		complex64 | complex128
}

// DTypeOf returns the element type that T stands for.
func DTypeOf[T Element]() ir.DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return ir.Bool
	case uint8:
		return ir.Uint8
	case int8:
		return ir.Int8
	case int16:
		return ir.Int16
	case int32:
		return ir.Int32
	case int64:
		return ir.Int64
	case uint16:
		return ir.Uint16
	case uint32:
		return ir.Uint32
	case uint64:
		return ir.Uint64
	case float32:
		return ir.Float32
	case float64:
		return ir.Float64
	case complex64:
		return ir.Complex64
	}
	return ir.Complex128
}

// TensorOf returns a row-major tensor of fixed sizes whose elements are data:
// not a copy, later changes of data are seen.
func TensorOf[T Element](sizes []int64, data []T) (*Tensor, error) {
	if !littleEndian {
		return nil, fmt.Errorf(
			"%w: this machine is big-endian; use NewTensor with little-endian bytes",
			ErrNotSupported)
	}
	n, ok := numel(sizes)
	if !ok || n != int64(len(data)) {
		return nil, fmt.Errorf("%w: sizes %v do not have %d elements", ErrInvalidArgument,
			sizes, len(data))
	}
	var zero T
	bytes := []byte{} // not nil, for which NewTensor allocates
	if len(data) > 0 {
		bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))),
			len(data)*int(unsafe.Sizeof(zero)))
	}
	return NewTensor(DTypeOf[T](), sizes, nil, bytes)
}

// Data returns the elements of t in memory order: not a copy. Those of an
// output stay what they are until an input is set or the method executes again. The error says
// that t has other elements than T, or no memory.
func Data[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no tensor", ErrInvalidArgument)
	}
	if want := DTypeOf[T](); t.DType != want {
		return nil, fmt.Errorf("%w: the tensor has %v elements, not %v", ErrInvalidArgument,
			t.DType, want)
	}
	if !littleEndian {
		return nil, fmt.Errorf("%w: this machine is big-endian; use Tensor.Data", ErrNotSupported)
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	switch n := len(t.Data) / size; {
	case int64(n) != t.Numel():
		return nil, fmt.Errorf("%w: a tensor of sizes %v has %d bytes of memory",
			ErrInvalidArgument, t.Sizes, len(t.Data))
	case n == 0:
		return []T{}, nil
	case !aligned(t.Data, t.DType):
		return nil, fmt.Errorf("%w: the tensor's memory is not aligned for %v",
			ErrNotSupported, t.DType)
	default:
		return unsafe.Slice((*T)(unsafe.Pointer(&t.Data[0])), n), nil
	}
}

// aligned reports whether elements of the type may lie at the beginning of b.
func aligned(b []byte, dtype ir.DType) bool {
	return len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%uintptr(min(dtype.Size(), 8)) == 0
}

// littleEndian tells this machine's byte order.
var littleEndian = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}()

// memoryAlign is what planned memory is aligned to: a cache line, which is also
// the widest vector.
const memoryAlign = 64

// alignedBytes returns n zero bytes, the first at a multiple of memoryAlign.
func alignedBytes(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	b := make([]byte, n+memoryAlign-1)
	skip := -uintptr(unsafe.Pointer(&b[0])) & (memoryAlign - 1)
	return b[skip : int(skip)+n : int(skip)+n]
}
