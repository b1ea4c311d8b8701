package rt

import (
	"fmt"

	"github.com/etgen/etgen/ir"
)

// Kind is what an EValue holds.
type Kind uint8

// The kinds of values.
const (
	None Kind = iota
	Int
	Bool
	Double
	String
	TensorKind
	IntList
	DoubleList
	BoolList
	TensorList // optional tensors included
)

var kindNames = [...]string{
	None: "None", Int: "Int", Bool: "Bool", Double: "Double", String: "String",
	TensorKind: "Tensor",
	IntList:    "IntList", DoubleList: "DoubleList", BoolList: "BoolList", TensorList: "TensorList",
}

// String returns the name of k, as "Tensor".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// EValue is a slot of a method's value table. Slots keep their place while a
// method lives; instructions change what is in them.
type EValue struct {
	Kind    Kind
	Int     int64
	Double  float64
	Bool    bool
	String  string
	Tensor  *Tensor
	Doubles []float64
	Bools   []bool
	// List are the slots that an IntList or TensorList is made of; in the latter
	// nil stands for None.
	List []*EValue
}

// Tensor is a tensor at run time. Its elements lie dense in the order that
// DimOrder tells.
type Tensor struct {
	DType ir.DType
	// Sizes are the present sizes. Of a tensor with dynamic bounds they change,
	// by Resize only.
	Sizes []int64
	// DimOrder lists the dimensions from the outermost in memory to the
	// innermost: 0, 1, 2, … unless the program says otherwise, as 0, 2, 3, 1
	// for channels last.
	DimOrder []uint8
	// Data are the little-endian elements, exactly as many bytes as the sizes
	// say. Kernels read the field at every call: an input's memory is its
	// caller's and may be another one each time.
	Data []byte

	bound   []int64 // what the sizes may grow to; nil if they are fixed
	storage []byte  // Data is its beginning
	// own is the memory that is the tensor's by the program; storage is another
	// one while the tensor is a view of another tensor. Nil if the memory is the
	// caller's, or is allocated when needed and is not yet.
	own      []byte
	readOnly bool // the memory is a constant's, shared by methods
	onDemand bool // own is allocated when needed, and FreeCall gives it back
}

// Resizable reports whether the sizes may change.
func (t *Tensor) Resizable() bool { return t.bound != nil }

// AppendInts appends the present elements of an IntList to dst. Kernels call it
// at every execution, as programs compute elements at run time. With room in
// dst it does not allocate. The error is ErrInvalidArgument.
func (v *EValue) AppendInts(dst []int64) ([]int64, error) {
	if v.Kind != IntList {
		return dst, fmt.Errorf("%w: a %v stands for a list of integers", ErrInvalidArgument, v.Kind)
	}
	for i, e := range v.List {
		if e == nil || e.Kind != Int {
			return dst, fmt.Errorf("%w: element %d of a list of integers is no Int",
				ErrInvalidArgument, i)
		}
		dst = append(dst, e.Int)
	}
	return dst, nil
}
