package pte

import (
	"strings"

	"github.com/etgen/etgen/ir"
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
	Named []NamedData

	// Defects are what Read found in the file itself that runtimes refuse or trip
	// over: "execution_plan[0].delegates is absent", constants without alignment.
	// In the structs a list that is absent and one that is empty are the same, nil.
	// What Write writes has no defects.
	Defects []string
}

// NamedData is a blob with its name.
type NamedData struct {
	Key  string
	Data ir.Blob
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
	Specs     []CompileSpec
}

// CompileSpec is an option of a delegate.
type CompileSpec struct {
	Key   string
	Value []byte
}
