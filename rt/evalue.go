package rt

import "github.com/etgen/etgen/ir"

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
}

// Resizable reports whether the sizes may change.
func (t *Tensor) Resizable() bool { return t.bound != nil }
