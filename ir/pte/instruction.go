package pte

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
