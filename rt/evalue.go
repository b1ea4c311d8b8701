package rt

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
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

func isConstant(v pte.EValue) bool {
	t, ok := v.(*pte.Tensor)
	return ok && t.IsConstant()
}

// declare returns the tensor that v describes, without memory, and the bytes
// that it takes, of a tensor with dynamic bounds at the bound.
func declare(v *pte.Tensor) (*Tensor, int) {
	switch {
	case v.StorageOffset != 0:
		panic(fmt.Errorf("%w: a tensor with storage offset %d", ErrNotSupported,
			v.StorageOffset))
	case v.Dynamism != pte.Static && v.Dynamism != pte.DynamicBound:
		panic(fmt.Errorf("%w: a tensor whose sizes have no bound; export with upper bounds",
			ErrNotSupported))
	case v.ExtraInfo != nil && v.ExtraInfo.DeviceType != 0:
		panic(fmt.Errorf("%w: a tensor in the memory of device type %d", ErrNotSupported,
			v.ExtraInfo.DeviceType))
	}
	dtype, ok := v.ScalarType.DType()
	if !ok {
		panic(fmt.Errorf("%w: tensors of %v", ErrNotSupported, v.ScalarType))
	}
	sizes := make([]int64, len(v.Sizes))
	for i, s := range v.Sizes {
		sizes[i] = int64(s)
	}
	order := v.DimOrder
	if order == nil {
		order = []uint8{}
	}
	t, n, err := describe(dtype, sizes, order)
	if err != nil {
		panic(fmt.Errorf("%w: %w", ErrInvalidProgram, err))
	}
	if v.Dynamism == pte.DynamicBound {
		t.bound = sizes
	}
	return t, n
}

// value fills slot i.
func (b *binder) value(i int) {
	slot := &b.slots[i]
	slot.Kind = kindOf(b.plan.Values[i])

	switch v := b.plan.Values[i].(type) {
	case nil, pte.Null:
	case pte.Int:
		slot.Int = int64(v)
	case pte.Bool:
		slot.Bool = bool(v)
	case pte.Double:
		slot.Double = float64(v)
	case pte.String:
		slot.String = string(v)
	case pte.IntList:
		slot.List = make([]*EValue, len(v))
		for j, index := range v {
			must.Do(func() { slot.List[j] = b.slot(index) }, "element %d of a list", j)
		}
	case pte.DoubleList:
		slot.Doubles = v
	case pte.BoolList:
		slot.Bools = v
	case pte.TensorList:
		slot.List = b.tensorList(v, false)
	case pte.OptionalTensorList:
		slot.List = b.tensorList(v, true)
	case *pte.Tensor:
		slot.Tensor = b.tensor(i, v)
	default:
		panic(fmt.Errorf("%w: a value of type %T", ErrInvalidProgram, v))
	}
}

func (b *binder) tensorList(indices []int32, optional bool) []*EValue {
	list := make([]*EValue, len(indices))
	for j, index := range indices {
		if optional && index == -1 {
			continue
		}
		must.Do(func() { list[j] = b.slot(int64(index)) }, "element %d of a list of tensors", j)
		switch k := kindOf(b.plan.Values[index]); {
		case k == TensorKind:
		case k == None && optional:
			list[j] = nil
		default:
			panic(fmt.Errorf("%w: element %d of a list of tensors is a %v", ErrInvalidProgram, j, k))
		}
	}
	return list
}

// tensor makes the tensor of value i and gives it its memory.
func (b *binder) tensor(i int, v *pte.Tensor) *Tensor {
	t, n := declare(v)
	switch {
	case v.IsConstant():
		t.readOnly, t.own = true, b.constant(v, t, n)
	case v.Allocation == nil || b.boundary:
		b.uses[i].kept = v.Allocation != nil // the plan's memory is for its instructions
		b.unplanned(i, t, n)
		return t
	default:
		t.own = must.Get(b.memory.at(v.Allocation, n))
		if !aligned(t.own, t.DType) {
			panic(fmt.Errorf("%w: planned buffer %d is not aligned for %v at offset %d",
				ErrInvalidProgram, v.Allocation.MemoryID, t.DType, v.Allocation.Offset))
		}
		b.initial(v, t)
	}
	t.setStorage(t.own)
	return t
}

// constant returns the n bytes of a constant, which nobody may write.
func (b *binder) constant(v *pte.Tensor, t *Tensor, n int) []byte {
	if v.IsExternal() {
		return b.data.constant(v.ExtraInfo.Name, t, n)
	}
	return b.program.constant(v.DataIndex, n)
}

// initial fills planned memory with the data that the tensor starts with.
func (b *binder) initial(v *pte.Tensor, t *Tensor) {
	if v.IsExternal() {
		b.data.copy(v.ExtraInfo.Name, t, t.own)
		return
	}
	blob, err := b.program.file.Initial(v)
	if err != nil {
		panic(fmt.Errorf("%w: %w", ErrInvalidProgram, err))
	}
	if v.DataIndex > 0 {
		must.Check(readBlob(blob, t.own))
	}
}

// unplanned decides about the memory, n bytes, of a tensor that the program
// plans none for.
func (b *binder) unplanned(i int, t *Tensor, n int) {
	use := &b.uses[i]
	if use.input && !use.kept {
		return // comes with SetInput
	}
	must.Check(b.memory.reserve(int64(n)))
	t.onDemand = true
	switch {
	case use.kept:
		t.restore() // no instruction frees it or moves it away
	case use.freed:
	case use.viewed && !use.written:
	case use.output:
		b.callers = append(b.callers, t)
	default:
		t.restore()
	}
}
