package rt

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/etgen/etgen/ir"
)

// maxRank is the most dimensions a tensor has, as in ExecuTorch's runtime.
const maxRank = 16

// NewTensor returns a tensor of fixed sizes over data, which it keeps. Nil data
// is allocated, zero. A nil dimOrder is row-major order. The sizes and the order
// are copied. Errors are ErrInvalidArgument.
func NewTensor(dtype ir.DType, sizes []int64, dimOrder []uint8, data []byte) (*Tensor, error) {
	t, n, err := describe(dtype, sizes, dimOrder)
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = alignedBytes(n)
	}
	if len(data) != n {
		return nil, fmt.Errorf("%w: a %v tensor of sizes %v takes %d bytes, not %d",
			ErrInvalidArgument, dtype, sizes, n, len(data))
	}
	t.own = data
	t.setStorage(data)
	return t, nil
}

// NewBoundedTensor returns a Resizable tensor with zeroed memory for bound,
// which are its sizes at first. Nil dimOrder is row-major order.
func NewBoundedTensor(dtype ir.DType, bound []int64, dimOrder []uint8) (*Tensor, error) {
	t, err := NewTensor(dtype, bound, dimOrder, nil)
	if err != nil {
		return nil, err
	}
	t.bound = append([]int64{}, bound...)
	return t, nil
}

// describe returns a tensor without memory and the bytes it takes.
func describe(dtype ir.DType, sizes []int64, dimOrder []uint8) (*Tensor, int, error) {
	n, err := byteSize(dtype, sizes)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	if dimOrder == nil {
		dimOrder = rowMajor(len(sizes))
	}
	if err := checkDimOrder(dimOrder, len(sizes)); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	t := &Tensor{
		DType:    dtype,
		Sizes:    append([]int64{}, sizes...),
		DimOrder: append([]uint8{}, dimOrder...),
	}
	return t, n, nil
}

// byteSize returns the bytes that a tensor takes.
func byteSize(dtype ir.DType, sizes []int64) (int, error) {
	if dtype.Size() == 0 {
		return 0, fmt.Errorf("%v is no element type", dtype)
	}
	if len(sizes) > maxRank {
		return 0, fmt.Errorf("%d dimensions are more than %d", len(sizes), maxRank)
	}
	n, ok := numel(sizes)
	if !ok || n > math.MaxInt/int64(dtype.Size()) {
		return 0, fmt.Errorf("sizes %v are negative or too large", sizes)
	}
	return int(n) * dtype.Size(), nil
}

// numel returns the number of elements; not ok if a size is negative or a
// product overflows, be there a zero among the others or not.
func numel(sizes []int64) (n int64, ok bool) {
	n, zero := 1, false
	for _, s := range sizes {
		if s == 0 {
			zero = true
			continue
		}
		high, low := bits.Mul64(uint64(n), uint64(s))
		if s < 0 || high != 0 || low > math.MaxInt64 {
			return 0, false
		}
		n = int64(low)
	}
	if zero {
		n = 0
	}
	return n, true
}

func rowMajor(rank int) []uint8 {
	order := make([]uint8, rank)
	for i := range order {
		order[i] = uint8(i)
	}
	return order
}

func checkDimOrder(order []uint8, rank int) error {
	seen := 0
	for _, d := range order {
		if int(d) < rank {
			seen |= 1 << d
		}
	}
	if len(order) != rank || seen != 1<<rank-1 {
		return fmt.Errorf("dim order %v is no permutation of %d dimensions", order, rank)
	}
	return nil
}

// Numel returns the number of elements at the present sizes.
func (t *Tensor) Numel() int64 {
	n := int64(1)
	for _, s := range t.Sizes {
		n *= s
	}
	return n
}

// Bound returns the sizes that t had in the program, whose number of elements
// is the most it can have; of a tensor that is not Resizable its Sizes.
func (t *Tensor) Bound() []int64 {
	if t.bound == nil {
		return t.Sizes
	}
	return t.bound
}

// capacity is the most elements that t may have.
func (t *Tensor) capacity() int64 {
	n, _ := numel(t.Bound())
	return n
}

// Resize gives t new sizes of the same rank. Memory stays where it is; elements
// keep their bytes, not their indices. If t is not Resizable, sizes have to be
// its sizes; else they may be any that have no more elements than the bound, as
// in ExecuTorch's runtime. It does not allocate. The error names both sizes and is
// ErrNotSupported.
func (t *Tensor) Resize(sizes []int64) error {
	if len(sizes) != len(t.Sizes) {
		return t.misfit(sizes)
	}
	if t.bound == nil {
		for i, s := range sizes {
			if s != t.Sizes[i] {
				return t.misfit(sizes)
			}
		}
		return nil
	}
	n, ok := numel(sizes)
	if !ok || n > t.capacity() {
		return t.misfit(sizes)
	}
	bytes := n * int64(t.DType.Size())
	if t.storage != nil {
		if bytes > int64(len(t.storage)) {
			return fmt.Errorf("%w: sizes %v take %d bytes, the tensor's memory has %d",
				ErrNotSupported, sizes, bytes, len(t.storage))
		}
		t.Data = t.storage[:bytes]
	}
	copy(t.Sizes, sizes)
	return nil
}

func (t *Tensor) misfit(sizes []int64) error {
	given := append([]int64{}, sizes...) // what is formatted escapes
	if t.bound == nil {
		return fmt.Errorf("%w: sizes are %v, expected %v", ErrNotSupported, given, t.Sizes)
	}
	return fmt.Errorf("%w: sizes are %v, expected at most the elements of %v", ErrNotSupported,
		given, t.bound)
}

// setStorage makes t lie at the beginning of b, which has room for the present
// sizes.
func (t *Tensor) setStorage(b []byte) {
	t.storage = b
	t.Data = b[:t.Numel()*int64(t.DType.Size())]
}

// restore gives t the memory that is its own. If it has none, because that is
// allocated when needed, it is allocated.
func (t *Tensor) restore() {
	if t.own == nil {
		t.own = alignedBytes(int(t.capacity()) * t.DType.Size())
	}
	t.setStorage(t.own)
}

// lacksMemory reports whether t has elements but no memory for them.
func (t *Tensor) lacksMemory() bool { return t.storage == nil }

// sameLayout reports whether tensors of the sizes lie alike in memory with both
// orders: they list the dimensions that matter, of more than one element, in the
// same order. A nil order is row-major.
func sameLayout(sizes []int64, a, b []uint8) bool {
	i, j := 0, 0
	at := func(order []uint8, k int) int {
		if order == nil {
			return k
		}
		return int(order[k])
	}
	for {
		for i < len(sizes) && sizes[at(a, i)] == 1 {
			i++
		}
		for j < len(sizes) && sizes[at(b, j)] == 1 {
			j++
		}
		if i == len(sizes) || j == len(sizes) {
			return i == j
		}
		if at(a, i) != at(b, j) {
			return false
		}
		i, j = i+1, j+1
	}
}

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
