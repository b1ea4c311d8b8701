package pte

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
	"github.com/etgen/etgen/ir/seq"
)

// programTables are the tables of a program, each with its fields in the order in which they
// are written: those of a tensor by size, so that nothing is padded in between.
var programTables = flat.Layouts(programSchema, `
	Null
	Int int_val
	Bool bool_val
	Double double_val
	String string_val
	AllocationDetails memory_id memory_offset_low memory_offset_high
	ExtraTensorInfo mutable_data_segments_idx fully_qualified_name location device_type
		device_index
	Tensor sizes dim_order allocation_info extra_tensor_info storage_offset data_buffer_idx
		scalar_type requires_grad layout shape_dynamism
	IntList items
	DoubleList items
	BoolList items
	TensorList items
	OptionalTensorList items
	EValue val val_type
	KernelCall op_index args
	DelegateCall delegate_index args
	MoveCall move_from move_to
	JumpFalseCall cond_value_index destination_instruction
	FreeCall value_index
	Instruction instr_args instr_args_type
	Frame filename lineno name context
	FrameList items
	Chain inputs outputs instructions stacktrace
	Operator name overload
	CompileSpec key value
	BackendDelegateDataReference index location
	BackendDelegate id processed compile_specs
	NonConstBufferDevice buffer_idx device_type device_index
	ContainerMetadata encoded_inp_str encoded_out_str
	ExecutionPlan name container_meta_type values inputs outputs chains operators delegates
		non_const_buffer_sizes non_const_buffer_device
	BackendDelegateInlineData data
	DataSegment offset size
	SubsegmentOffsets segment_index offsets
	NamedData key segment_index
	Program version execution_plan backend_delegate_data segments constant_segment
		mutable_data_segments named_data`)

// maxInline bounds the data of inline delegates: a flatbuffer ends at 2 GiB.
const maxInline = 1 << 30

// offset is the place of something already written, from the buffer's end.
type offset = flatbuffers.UOffsetT

// encoder writes a flatbuffer in which nothing is written twice. What is equal
// has an equal key, made of its kind and contents, in which a reference counts
// as the place it refers to: equal contents have one place.
type encoder struct {
	*flat.Encoder
	written map[string]offset
	key     []byte
}

func newEncoder() *encoder { return newEncoderOf(programTables()) }

func newEncoderOf(tables map[string]*flat.Layout) *encoder {
	return &encoder{Encoder: flat.NewEncoder(tables), written: map[string]offset{}}
}

// shared is the place of a table of these fields, which is written if it is the first.
func (e *encoder) shared(name string, values ...uint64) offset {
	return e.share(name, values, func() offset { return e.Table(name, values...) })
}

// share returns the place of an object of a kind with these contents and writes
// it if it is the first.
func (e *encoder) share(kind string, contents []uint64, write func() offset) offset {
	e.key = append(append(e.key[:0], kind...), 0)
	for _, c := range contents {
		e.key = binary.AppendUvarint(e.key, c)
	}
	if at, ok := e.written[string(e.key)]; ok {
		return at
	}
	key := string(e.key)
	at := write()
	e.written[key] = at
	return at
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// maxShared is the size up to which vectors are shared. Who reads a file makes
// as many of a vector as there are references to it, and bounds what that costs
// by the size of the file: see flat.Expansion. Short ones stay far below.
const maxShared = 128

// vector writes a vector of n elements of a size; bits returns one.
func (e *encoder) vector(size, n int, bits func(int) uint64) offset {
	write := func() offset { return e.Vector(size, n, bits) }
	if size*n > maxShared {
		return write()
	}
	contents := seq.Of(n, func(i int) uint64 { return bits(i) })
	return e.share("vector"+string(rune('0'+size)), contents, write)
}

func (e *encoder) int32s(v []int32) offset {
	return e.vector(4, len(v), func(i int) uint64 { return uint64(uint32(v[i])) })
}

func (e *encoder) int64s(v []int64) offset {
	return e.vector(8, len(v), func(i int) uint64 { return uint64(v[i]) })
}

func (e *encoder) bytes(v []byte) offset {
	return e.vector(1, len(v), func(i int) uint64 { return uint64(v[i]) })
}

// refs writes a vector of tables. It is not shared: few are equal.
func (e *encoder) refs(v []offset) offset { return e.CreateVectorOfTables(v) }

// refsOf writes a vector of n tables; what names them in an error.
func (e *encoder) refsOf(what string, n int, table func(int) offset) uint64 {
	v := make([]offset, n)
	i := 0
	err := must.Try(func() {
		for ; i < n; i++ {
			v[i] = table(i)
		}
	})
	must.In(err, "%s %d", what, i)
	return uint64(e.refs(v))
}

// listOf writes a vector of tables, one of each of list.
func listOf[T any](e *encoder, list []T, table func(i int, x *T) offset) uint64 {
	v := seq.Of(len(list), func(i int) offset { return table(i, &list[i]) })
	return uint64(e.refs(v))
}

// someOf is listOf, and nothing for an empty list.
func someOf[T any](e *encoder, list []T, table func(i int, x *T) offset) uint64 {
	if len(list) == 0 {
		return 0
	}
	return listOf(e, list, table)
}

// text writes a string, also an empty one.
func (e *encoder) text(s string) offset { return e.CreateSharedString(s) }

// optional writes a string, nothing for an empty one.
func (e *encoder) optional(s string) uint64 {
	if s == "" {
		return 0
	}
	return uint64(e.text(s))
}

// aligned writes the data of a blob aligned to 16 bytes, as delegates get it.
func (e *encoder) aligned(b ir.Blob) offset { return e.alignedTo(16, b) }

func (e *encoder) alignedTo(alignment int, b ir.Blob) offset {
	n := int(b.Size())
	e.StartVector(1, n, alignment)
	// The builder has made room for n bytes before its head; it writes backwards.
	data := make([]byte, n)
	must.Get(io.ReadFull(&sized{r: io.NewSectionReader(b, 0, b.Size()), left: b.Size()}, data))
	for i := n - 1; i >= 0; i-- {
		e.PlaceByte(data[i])
	}
	return e.EndVector(n)
}

// encode makes the flatbuffer of p, whose data is placed.
func encode(p *Program, d *fileData) []byte {
	inline := int64(0)
	for _, b := range d.inline {
		if inline += b.Size(); inline > maxInline {
			panic(fmt.Errorf("more than %d bytes of inline delegates", int64(maxInline)))
		}
	}
	e := newEncoder()
	plans := make([]offset, len(p.Plans))
	for i, plan := range p.Plans {
		must.Do(func() { plans[i] = e.plan(plan, d) }, "method %s", foreign.Message(plan.Name))
	}
	methods, delegates := uint64(e.refs(plans)), uint64(0)
	if len(d.inline) > 0 {
		delegates = e.refsOf("inline delegate", len(d.inline), func(i int) offset {
			return e.Table("BackendDelegateInlineData", uint64(e.aligned(d.inline[i])))
		})
	}
	segments := e.segments(d.segments)
	constants := e.subsegment(d.constants)
	mutable := someOf(e, d.mutable, func(_ int, s *subsegment) offset { return e.subsegment(*s) })
	named := someOf(e, p.Named, func(i int, n *ir.NamedData) offset {
		return e.Table("NamedData", uint64(e.text(n.Key)), uint64(d.named[i]))
	})
	e.FinishWithFileIdentifier(e.Table("Program", uint64(p.Version), methods, delegates, segments,
		uint64(constants), mutable, named), []byte(programSchema().Identifier))
	return e.FinishedBytes()
}

func (e *encoder) segments(list segments) uint64 {
	return listOf(e, list, func(_ int, s *segment) offset {
		return e.Table("DataSegment", uint64(s.offset), uint64(s.size))
	})
}

func (e *encoder) subsegment(s subsegment) offset {
	return e.Table("SubsegmentOffsets", uint64(s.segment), uint64(e.int64s(s.offsets)))
}

func (e *encoder) plan(p *ExecutionPlan, d *fileData) offset {
	values := e.refsOf("value", len(p.Values), func(i int) offset { return e.value(p.Values[i]) })
	chains := e.refsOf("chain", len(p.Chains), func(i int) offset { return e.chain(p.Chains[i]) })
	operators := listOf(e, p.Operators, func(_ int, o *Operator) offset {
		// An overload is written even where there is none: runtimes print it
		// without looking when a call fails.
		return e.shared("Operator", uint64(e.text(o.Name)), uint64(e.text(o.Overload)))
	})
	delegates := listOf(e, p.Delegates, func(_ int, v *Delegate) offset {
		return e.delegate(v, d.delegates[v])
	})
	devices := someOf(e, p.BufferDevices, func(_ int, v *BufferDevice) offset {
		return e.Table("NonConstBufferDevice", uint64(v.Buffer), uint64(v.DeviceType),
			uint64(v.DeviceIndex))
	})
	container := offset(0)
	if c := p.Container; c != nil {
		container = e.Table("ContainerMetadata", e.optional(c.Input), e.optional(c.Output))
	}
	return e.Table("ExecutionPlan", uint64(e.text(p.Name)), uint64(container), values,
		uint64(e.int32s(p.Inputs)), uint64(e.int32s(p.Outputs)), chains, operators, delegates,
		uint64(e.int64s(p.BufferSizes)), devices)
}

func (e *encoder) delegate(v *Delegate, index int) offset {
	specs := someOf(e, v.Specs, func(_ int, s *ir.CompileSpec) offset {
		return e.Table("CompileSpec", uint64(e.text(s.Key)), uint64(e.bytes(s.Value)))
	})
	processed := e.Table("BackendDelegateDataReference", uint64(index), bit(!v.Inline))
	return e.Table("BackendDelegate", uint64(e.text(v.ID)), uint64(processed), specs)
}

func (e *encoder) chain(c *Chain) offset {
	if c == nil {
		panic(fmt.Errorf("it is nil"))
	}
	instructions := e.refsOf("instruction", len(c.Instructions), func(i int) offset {
		return e.instruction(c.Instructions[i])
	})
	stacktrace := someOf(e, c.Stacktrace, func(_ int, f *[]Frame) offset { return e.frames(*f) })
	inputs, outputs := offset(0), offset(0)
	if len(c.Inputs) > 0 {
		inputs = e.int32s(c.Inputs)
	}
	if len(c.Outputs) > 0 {
		outputs = e.int32s(c.Outputs)
	}
	return e.Table("Chain", uint64(inputs), uint64(outputs), instructions, stacktrace)
}

// frames writes a list of frames; lists of equal frames are one.
func (e *encoder) frames(frames []Frame) offset {
	refs, contents := make([]offset, len(frames)), make([]uint64, len(frames))
	for i, f := range frames {
		refs[i] = e.shared("Frame", e.optional(f.Filename), uint64(uint32(f.Line)),
			e.optional(f.Name), e.optional(f.Context))
		contents[i] = uint64(refs[i])
	}
	return e.share("FrameList", contents, func() offset {
		return e.Table("FrameList", uint64(e.refs(refs)))
	})
}

// instruction writes an instruction. Its arguments may be shared, itself it is
// not: a file is larger than its instructions are many.
func (e *encoder) instruction(i Instruction) offset {
	name, fields := "", [2]uint64{}
	switch i := i.(type) {
	case KernelCall:
		name, fields = "KernelCall", [2]uint64{uint64(i.Op), uint64(e.int32s(i.Args))}
	case DelegateCall:
		name, fields = "DelegateCall", [2]uint64{uint64(i.Delegate), uint64(e.int32s(i.Args))}
	case MoveCall:
		name, fields = "MoveCall", [2]uint64{uint64(i.From), uint64(i.To)}
	case JumpFalseCall:
		name, fields = "JumpFalseCall", [2]uint64{uint64(i.Cond), uint64(i.Destination)}
	case FreeCall:
		name, fields = "FreeCall", [2]uint64{uint64(i.Value)}
	default:
		panic(fmt.Errorf("no kind of instruction: %T", i))
	}
	args := e.Table(name, fields[:len(e.Tables[name].Fields)]...)
	return e.Table("Instruction", uint64(args), e.Tables["Instruction"].Selector(name))
}

// value writes an entry of a value table; equal ones are one. All lists are tables of one
// vector and may be the same table; long ones have a vector of their own, see maxShared.
func (e *encoder) value(v EValue) offset {
	switch v := v.(type) {
	case Null:
		return e.evalue("Null")
	case Int:
		return e.evalue("Int", uint64(v))
	case Bool:
		return e.evalue("Bool", bit(bool(v)))
	case Double:
		return e.evalue("Double", math.Float64bits(float64(v)))
	case String:
		return e.evalue("String", uint64(e.text(string(v))))
	case *Tensor:
		if v == nil {
			break
		}
		return e.tensor(v)
	case IntList:
		return e.evalue("IntList", uint64(e.int64s(v)))
	case DoubleList:
		return e.evalue("DoubleList", uint64(e.vector(8, len(v),
			func(i int) uint64 { return math.Float64bits(v[i]) })))
	case BoolList:
		return e.evalue("BoolList", uint64(e.vector(1, len(v),
			func(i int) uint64 { return bit(v[i]) })))
	case TensorList:
		return e.evalue("TensorList", uint64(e.int32s(v)))
	case OptionalTensorList:
		return e.evalue("OptionalTensorList", uint64(e.int32s(v)))
	}
	panic(fmt.Errorf("no kind of value: %T", v))
}

// evalue writes a value's table and the table of its contents.
func (e *encoder) evalue(kind string, contents ...uint64) offset {
	return e.shared("EValue", uint64(e.shared(kind, contents...)),
		e.Tables["EValue"].Selector(kind))
}

func (e *encoder) tensor(t *Tensor) offset {
	sizes, order := e.int32s(t.Sizes), e.bytes(t.DimOrder)
	allocation, extra := offset(0), offset(0)
	if a := t.Allocation; a != nil {
		allocation = e.shared("AllocationDetails", uint64(a.MemoryID), uint64(uint32(a.Offset)),
			a.Offset>>32)
	}
	if x := t.ExtraInfo; x != nil {
		extra = e.shared("ExtraTensorInfo", x.MutableSegment, e.optional(x.Name), bit(x.External),
			uint64(x.DeviceType), uint64(x.DeviceIndex))
	}
	return e.evalue("Tensor", uint64(sizes), uint64(order), uint64(allocation), uint64(extra),
		uint64(uint32(t.StorageOffset)), uint64(t.DataIndex), uint64(t.ScalarType),
		bit(t.RequiresGrad), uint64(t.Layout), uint64(t.Dynamism))
}
