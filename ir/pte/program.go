package pte

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// Program is what one .pte file holds.
type Program struct {
	Version uint32
	Plans   []*ExecutionPlan // the methods

	// Constants holds the data of constant tensors: a tensor's DataIndex is an
	// index here. Entry 0 is reserved and nil. The file stores offsets without
	// sizes, so that a blob that was read may be longer than its tensor.
	Constants []ir.Blob
	// Mutable holds initial data of tensors in planned memory, a list per
	// segment: of a tensor with an Allocation, DataIndex is an index into the
	// list that its ExtraInfo selects (else the first). Entry 0 is reserved.
	Mutable [][]ir.Blob
	// Named is data by name, as delegates use it.
	Named []ir.NamedData

	// Defects are what Read found in the file itself that runtimes refuse or trip
	// over: "execution_plan[0].delegates is absent", constants without alignment.
	// In the structs a list that is absent and one that is empty are the same, nil.
	// What Write writes has no defects.
	Defects []string
}

// ExecutionPlan is a method.
type ExecutionPlan struct {
	Name      string
	Container *ContainerMeta // how inputs and outputs nest in Python; nil if the file does not say
	Values    []EValue
	Inputs    []int32 // indices into Values
	Outputs   []int32
	Chains    []*Chain
	Operators []Operator
	Delegates []Delegate
	// BufferSizes are the bytes of each planned memory buffer, by memory id.
	// Entry 0 is reserved.
	BufferSizes []int64
	// BufferDevices says where planned memory buffers lie; one that is not in the
	// list is the CPU's.
	BufferDevices []BufferDevice
}

// BufferDevice places a planned memory buffer on a device.
type BufferDevice struct {
	Buffer      int32 // memory id
	DeviceType  int8  // 0 is the CPU
	DeviceIndex int8
}

// ContainerMeta are the pytree specifications of a method's inputs and outputs.
type ContainerMeta struct{ Input, Output string }

// Chain is a list of instructions; the chains of a plan run one after another.
type Chain struct {
	Inputs, Outputs []int32 // no runtime uses them
	Instructions    []Instruction
	// Stacktrace is nil or parallel to Instructions: for each the frames of the
	// model's Python source, the innermost last.
	Stacktrace [][]Frame
}

// Frame is a place in Python source.
type Frame struct {
	Filename string
	Line     int32
	Name     string // of the function
	Context  string // the source line
}

// Operator is an entry of a plan's operator table.
type Operator struct{ Name, Overload string } // "aten::add", "out"

// String returns "aten::add.out"; without overload "aten::copy_".
func (o Operator) String() string {
	if o.Overload == "" {
		return o.Name
	}
	return o.Name + "." + o.Overload
}

// NodeName returns the operator's name as the nodes of a graph have it:
// "aten.add.out", "aten.copy_.default". A name may have its overload in it.
func (o Operator) NodeName() string {
	name := strings.Replace(o.Name, "::", ".", 1)
	switch _, local, _ := strings.Cut(o.Name, "::"); {
	case o.Overload != "":
		return name + "." + o.Overload
	case !strings.Contains(local, "."):
		return name + ".default"
	}
	return name
}

// Delegate is a part of a method that a backend runs.
type Delegate struct {
	ID        string
	Processed ir.Blob
	Inline    bool // the blob is stored in the flatbuffer and not in a segment
	Specs     []ir.CompileSpec
}

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

// IsExternal reports whether the tensor's data is in a .ptd file.
func (t *Tensor) IsExternal() bool { return t.ExtraInfo != nil && t.ExtraInfo.External }

// IsConstant reports whether the tensor has data that nothing may write.
func (t *Tensor) IsConstant() bool {
	return t.Allocation == nil && (t.DataIndex > 0 || t.IsExternal())
}

// segment returns which list of Program.Mutable has the tensor's initial data.
func (t *Tensor) segment() uint64 {
	if t.ExtraInfo == nil {
		return 0
	}
	return t.ExtraInfo.MutableSegment
}

// Initial returns the data that a tensor in planned memory starts with, unless it is
// external; nil if the program has none for it.
func (p *Program) Initial(t *Tensor) (ir.Blob, error) {
	if t.DataIndex == 0 {
		return nil, nil
	}
	segment := t.segment()
	if segment >= uint64(len(p.Mutable)) ||
		int64(t.DataIndex) >= int64(len(p.Mutable[segment])) {
		return nil, fmt.Errorf("entry %d of initial data %d is not in the file", t.DataIndex,
			segment)
	}
	return p.Mutable[segment][t.DataIndex], nil
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

// Instruction is one of KernelCall, DelegateCall, MoveCall, JumpFalseCall and
// FreeCall. What it names are indices into the value table.
type Instruction interface{ instruction() }

// KernelCall calls an operator. Args follow the operator's schema, defaults
// included, out arguments last; one more index is the call's result: for a
// single out argument that argument again, for several a TensorList of them.
type KernelCall struct {
	Op   int32 // index into Operators
	Args []int32
}

// DelegateCall runs a delegate.
type DelegateCall struct {
	Delegate int32
	Args     []int32
}

// MoveCall makes value To what From is: of a tensor its place and sizes, not a
// copy of its data.
type MoveCall struct{ From, To int32 }

// JumpFalseCall goes to instruction Destination of the chain if the bool, or
// bool tensor, Cond is false. A destination at the end of the chain ends it.
type JumpFalseCall struct{ Cond, Destination int32 }

// FreeCall gives back the memory of a dynamically allocated tensor.
type FreeCall struct{ Value int32 }

func (KernelCall) instruction()    {}
func (DelegateCall) instruction()  {}
func (MoveCall) instruction()      {}
func (JumpFalseCall) instruction() {}
func (FreeCall) instruction()      {}

// ScalarType is an element type by PyTorch's number.
type ScalarType int8

// DType returns the element type that s stands for, if there is one.
func (s ScalarType) DType() (d ir.DType, ok bool) {
	if s >= 0 && int(s) < len(aten.ScalarTypes) {
		d = aten.ScalarTypes[s]
	}
	return d, d != ir.InvalidDType
}

// ScalarTypeOf returns the number of d.
func ScalarTypeOf(d ir.DType) (ScalarType, bool) {
	n := slices.Index(aten.ScalarTypes, d)
	return ScalarType(n), n >= 0 && d != ir.InvalidDType
}

// String returns PyTorch's name of the type.
func (s ScalarType) String() string {
	if d, ok := s.DType(); ok {
		return d.String()
	}
	return fmt.Sprintf("scalar type %d", int8(s))
}

// Changed returns which values may hold something else after an instruction, by index in
// Values. Elements of tensors do not count.
func (ep *ExecutionPlan) Changed() map[int32]bool {
	changed := map[int32]bool{}
	for _, c := range ep.Chains {
		for _, in := range c.Instructions {
			switch in := in.(type) {
			case KernelCall:
				if n := len(in.Args); n > 0 && !ep.returnsNothing(in) { // the result
					changed[in.Args[n-1]] = true
				}
			case DelegateCall:
				for _, a := range in.Args {
					changed[a] = true
				}
			case MoveCall:
				changed[in.To] = true
			}
		}
	}
	return changed
}

// returnsNothing reports whether a call of a kernel has None as its result, which other calls may
// have as an argument.
func (ep *ExecutionPlan) returnsNothing(k KernelCall) bool {
	_, none := ep.Values[k.Args[len(k.Args)-1]].(Null)
	return none && RuntimeSchema(ep.Operators[k.Op]) == nil
}

// FixedBools returns the bools, by index in Values, that neither an instruction
// nor the caller changes, with what they are: a jump on one of them is decided.
func (ep *ExecutionPlan) FixedBools() map[int32]bool {
	fixed, changed := map[int32]bool{}, ep.Changed()
	for i, v := range ep.Values {
		if b, ok := v.(Bool); ok && !changed[int32(i)] {
			fixed[int32(i)] = bool(b)
		}
	}
	for _, i := range ep.Inputs {
		delete(fixed, i)
	}
	return fixed
}
