// Package etdump reads and writes ETDump files, in which ExecuTorch's runtime notes what happened
// when a program ran: when instructions began and ended, and what tensors held. ExecuTorch's
// Inspector and etgen profile read them.
//
// Read and Write are the doors. The form is a flatbuffer behind its size, with the identifier ED00:
// see etdump.fbs.
package etdump

// Dump is a file.
type Dump struct {
	Version uint32 // 0
	Runs    []Run
}

// Run is a block of events: "Default" of loading, "Execute" of a call.
type Run struct {
	Name       string
	Input      int32 // which of a bundle's test cases; -1 if it is none
	Allocators []string
	Events     []Event // in the order in which they ended
}

// Event is one of [*Profile], [*Allocation] and [*Debug].
type Event interface{ event() }

// Origin is where an event happened. Instructions are those of a chain of the method, and events of
// the whole method have the chain -1. A delegate's own events have an ID that the delegate gave,
// a number or a text.
type Origin struct {
	Chain       int64
	Instruction int32  // -1 if there is none
	Delegate    int32  // -1 if there is none
	DelegateID  string // "" if there is none
}

// Profile is something that took time.
type Profile struct {
	Name string // "native_call_add.out", "OPERATOR_CALL", "Method::execute"; "" of a delegate's
	Origin
	Metadata   []byte // of a delegate's events
	Start, End uint64 // in ticks of the platform's clock
}

// Allocation is memory that was taken.
type Allocation struct {
	Allocator int32 // index among the run's
	Bytes     uint64
}

// Debug is what a value held.
type Debug struct {
	Name string
	Origin
	Value  Value
	Output bool // it is the program's output
}

func (*Profile) event()    {}
func (*Allocation) event() {}
func (*Debug) event()      {}

// Value is one of Null, Int, Bool, Float, Double, *Tensor and TensorList.
type Value interface{ value() }

// The kinds of values.
type (
	Null       struct{}
	Int        int64
	Bool       bool
	Float      float32
	Double     float64
	TensorList []*Tensor
)

// Tensor is where a tensor's bytes are in the file of debug data, which lies beside the dump.
type Tensor struct {
	ScalarType int8 // PyTorch's number
	Sizes      []int64
	Strides    []int64
	Offset     int64
}

func (Null) value()       {}
func (Int) value()        {}
func (Bool) value()       {}
func (Float) value()      {}
func (Double) value()     {}
func (*Tensor) value()    {}
func (TensorList) value() {}

// The numbers of the kinds in files.
const (
	nullValue = iota
	intValue
	boolValue
	floatValue
	doubleValue
	tensorValue
	listValue
)
