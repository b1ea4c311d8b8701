package pte

// EValue is an entry of a plan's value table: one of Null, Int, Bool, Double,
// String, *Tensor, IntList, DoubleList, BoolList, TensorList and
// OptionalTensorList.
type EValue interface{ evalue() }

// The kinds of values. The lists of tensors and of ints hold indices into the
// value table; in an OptionalTensorList -1 is None.
type (
	Null               struct{}
	Int                int64
	Bool               bool
	Double             float64
	String             string
	IntList            []int64 // indices of Int values
	DoubleList         []float64
	BoolList           []bool
	TensorList         []int32
	OptionalTensorList []int32
)

// Tensor describes a tensor value. Its data is one of: a constant (DataIndex
// over 0 and no Allocation), planned memory (Allocation; with a DataIndex it
// starts with that data), the caller's (neither; an input or an output), or
// external (ExtraInfo.External).
type Tensor struct {
	ScalarType    ScalarType
	StorageOffset int32 // runtimes take 0 only
	Sizes         []int32
	DimOrder      []uint8 // dimensions from the outermost in memory to the innermost
	RequiresGrad  bool
	DataIndex     uint32
	Allocation    *Allocation
	Layout        int8
	Dynamism      Dynamism
	ExtraInfo     *ExtraTensorInfo
}

// Allocation is a place in planned memory.
type Allocation struct {
	MemoryID uint32 // from 1
	Offset   uint64 // in bytes
}

// ExtraTensorInfo says where a tensor's data is found otherwise.
type ExtraTensorInfo struct {
	MutableSegment uint64 // index into Program.Mutable
	Name           string // fully qualified name
	External       bool   // the data is in a .ptd file under Name
	DeviceType     int8
	DeviceIndex    int8
}

// Dynamism tells whether a tensor's sizes may change.
type Dynamism int8

// The kinds of Dynamism. With DynamicBound the sizes given are upper bounds.
const (
	Static Dynamism = iota
	DynamicBound
	DynamicUnbound
)

func (Null) evalue()               {}
func (Int) evalue()                {}
func (Bool) evalue()               {}
func (Double) evalue()             {}
func (String) evalue()             {}
func (IntList) evalue()            {}
func (DoubleList) evalue()         {}
func (BoolList) evalue()           {}
func (TensorList) evalue()         {}
func (OptionalTensorList) evalue() {}
func (*Tensor) evalue()            {}
