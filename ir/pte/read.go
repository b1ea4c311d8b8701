package pte

import (
	"fmt"
	"io"
	"math/bits"
	"os"
	"reflect"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/program"
)

// ReadExpansion bounds what Read allocates: at most ReadExpansion times the
// bytes of the file's flatbuffer, whatever they say, and a constant. (For files
// that exporters write it is less than 10 times.) The data of tensors and
// delegates is not part of it, since nothing of it is read.
const ReadExpansion = 128

// Read reads a program from a .pte file of size bytes. The program's blobs are
// ranges of r, which has to stay readable. Read accepts all forms of ET12: with
// and without extended header, constants in a segment or in the flatbuffer. What
// it returns is consistent as a file; whether it is as a program is Verify's
// business.
func Read(r io.ReaderAt, size int64) (*Program, error) {
	p, err := read(r, size)
	if err != nil {
		return nil, fmt.Errorf("pte: %w", err)
	}
	return p, nil
}

func read(r io.ReaderAt, size int64) (*Program, error) {
	f, err := openFile(r, size, "eh00")
	if err != nil {
		return nil, err
	}
	if err := programSchema().Check(f.flat, "FrameList"); err != nil {
		return nil, err
	}
	d := &decoder{file: f, strings: map[string]string{}, frames: map[flatbuffers.UOffsetT][]Frame{}}
	return d.program(program.GetRootAsProgram(f.flat, 0))
}

// Open reads the program in the file at path. The file has to stay open, until
// the Closer closes it, for as long as blobs of the program are read.
func Open(path string) (*Program, io.Closer, error) { return open(path, Read) }

// open opens the file at path and reads it; errors name the file.
func open[T any](path string, read func(io.ReaderAt,
	int64) (T, error)) (t T, _ io.Closer, err error) {
	// Others are not opened: a pipe waits for who writes to it.
	info, err := os.Stat(path)
	if err != nil {
		return t, nil, err
	}
	if !info.Mode().IsRegular() {
		return t, nil, fmt.Errorf("%s: it is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return t, nil, err
	}
	if info, err = f.Stat(); err == nil {
		t, err = read(f, info.Size())
	}
	if err != nil {
		f.Close()
		return t, nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, f, nil
}

// decoder makes a Program of a checked flatbuffer.
type decoder struct {
	*file
	strings map[string]string // those met, so that equal ones are stored once
	// lists met, by position; several instructions share one
	frames   map[flatbuffers.UOffsetT][]Frame
	defects  []string
	segments []ir.Blob
}

func (d *decoder) string(b []byte) string {
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}

// need notes that the field id of tab, which a runtime requires, is absent. It is
// called name in the table at path.
func (d *decoder) need(tab flatbuffers.Table, id int, path path, name string) {
	if tab.Offset(flatbuffers.VOffsetT(4+2*id)) == 0 && len(d.defects) < maxProblems {
		d.defects = append(d.defects, path.String()+"."+name+" is absent")
	}
}

// path is where a table is in its parent: member[index]. It is made for every
// table and becomes a text for few.
type path struct {
	parent *path
	member string
	index  int
}

func (p path) String() string {
	s := fmt.Sprintf("%s[%d]", p.member, p.index)
	if p.parent != nil {
		s = p.parent.String() + "." + s
	}
	return s
}

// list returns the n elements that at returns; nil for none.
func list[T any](n int, at func(int) T) []T {
	if n == 0 {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		l[i] = at(i)
	}
	return l
}

// each returns the n tables that at sets, decoded; nil for none. Errors name
// their place themselves.
func each[E, T any](n int, at func(*E, int) bool, decode func(*E, int) (T, error)) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	l := make([]T, n)
	var e E
	for i := range l {
		at(&e, i)
		t, err := decode(&e, i)
		if err != nil {
			return nil, err
		}
		l[i] = t
	}
	return l, nil
}

func (d *decoder) program(s *program.Program) (*Program, error) {
	p := &Program{Version: s.Version()}
	if tab := s.Table(); tab.Offset(4+2) == 0 {
		d.defects = append(d.defects, "execution_plan is absent")
	}
	var err error
	d.segments, err = each(s.SegmentsLength(), s.Segments, func(x *program.DataSegment,
		i int) (ir.Blob, error) {
		b, err := d.segment(x.Offset(), x.Size())
		if err != nil {
			return nil, fmt.Errorf("segments[%d]: %w", i, err)
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	p.Plans, err = each(s.ExecutionPlanLength(), s.ExecutionPlan, func(x *program.ExecutionPlan,
		i int) (*ExecutionPlan, error) {
		return d.plan(x, s, path{nil, "execution_plan", i})
	})
	if err != nil {
		return nil, err
	}
	p.Named, err = each(s.NamedDataLength(), s.NamedData, func(x *program.NamedData,
		i int) (NamedData, error) {
		d.need(x.Table(), 0, path{nil, "named_data", i}, "key")
		if int64(x.SegmentIndex()) >= int64(len(d.segments)) {
			return NamedData{}, fmt.Errorf("named_data[%d]: segment %d of %d", i, x.SegmentIndex(),
				len(d.segments))
		}
		return NamedData{Key: d.string(x.Key()), Data: d.segments[x.SegmentIndex()]}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := d.data(s, p); err != nil {
		return nil, err
	}
	p.Defects = d.defects
	return p, nil
}

// plan reads the method at a place.
func (d *decoder) plan(s *program.ExecutionPlan, root *program.Program,
	at path) (*ExecutionPlan, error) {
	for _, f := range []struct {
		id   int
		name string
	}{{0, "name"}, {2, "values"}, {3, "inputs"}, {4, "outputs"}, {5, "chains"}, {6, "operators"},
		{7, "delegates"}, {8, "non_const_buffer_sizes"}} {
		d.need(s.Table(), f.id, at, f.name)
	}
	p := &ExecutionPlan{
		Name:        d.string(s.Name()),
		Inputs:      list(s.InputsLength(), s.Inputs),
		Outputs:     list(s.OutputsLength(), s.Outputs),
		BufferSizes: list(s.NonConstBufferSizesLength(), s.NonConstBufferSizes),
	}
	if c := s.ContainerMetaType(nil); c != nil {
		p.Container = &ContainerMeta{Input: d.string(c.EncodedInpStr()),
			Output: d.string(c.EncodedOutStr())}
	}
	var err error
	p.Values, err = each(s.ValuesLength(), s.Values, func(x *program.EValue,
		i int) (EValue, error) {
		return d.value(x, path{&at, "values", i})
	})
	if err != nil {
		return nil, err
	}
	p.Chains, err = each(s.ChainsLength(), s.Chains, func(x *program.Chain, i int) (*Chain, error) {
		return d.chain(x, path{&at, "chains", i})
	})
	if err != nil {
		return nil, err
	}
	p.Operators, _ = each(s.OperatorsLength(), s.Operators, func(x *program.Operator,
		i int) (Operator, error) {
		d.need(x.Table(), 0, path{&at, "operators", i}, "name")
		return Operator{Name: d.string(x.Name()), Overload: d.string(x.Overload())}, nil
	})
	p.Delegates, err = each(s.DelegatesLength(), s.Delegates, func(x *program.BackendDelegate,
		i int) (Delegate, error) {
		return d.delegate(x, root, path{&at, "delegates", i})
	})
	p.BufferDevices, _ = each(s.NonConstBufferDeviceLength(), s.NonConstBufferDevice,
		func(x *program.NonConstBufferDevice, _ int) (BufferDevice, error) {
			return BufferDevice{Buffer: x.BufferIdx(), DeviceType: x.DeviceType(),
				DeviceIndex: x.DeviceIndex()}, nil
		})
	return p, err
}

func (d *decoder) delegate(s *program.BackendDelegate, root *program.Program,
	at path) (Delegate, error) {
	d.need(s.Table(), 0, at, "id")
	d.need(s.Table(), 1, at, "processed")
	v := Delegate{ID: d.string(s.Id()), Processed: ir.Bytes(nil), Inline: true}
	v.Specs, _ = each(s.CompileSpecsLength(), s.CompileSpecs, func(x *program.CompileSpec,
		i int) (CompileSpec, error) {
		d.need(x.Table(), 0, path{&at, "compile_specs", i}, "key")
		d.need(x.Table(), 1, path{&at, "compile_specs", i}, "value")
		return CompileSpec{Key: d.string(x.Key()), Value: append([]byte(nil), x.ValueBytes()...)},
			nil
	})
	ref := s.Processed(nil)
	if ref == nil {
		return v, nil
	}
	index := int64(ref.Index())
	switch ref.Location() {
	case 0:
		var x program.BackendDelegateInlineData
		if index >= int64(root.BackendDelegateDataLength()) {
			return v, fmt.Errorf("%v: backend_delegate_data %d of %d", at, index,
				root.BackendDelegateDataLength())
		}
		root.BackendDelegateData(&x, int(index))
		v.Processed = d.inline(x.Table(), 0)
	case 1:
		if index >= int64(len(d.segments)) {
			return v, fmt.Errorf("%v: segment %d of %d", at, index, len(d.segments))
		}
		v.Inline, v.Processed = false, d.segments[index]
	default:
		return v, fmt.Errorf("%v: unknown data location %d", at, ref.Location())
	}
	return v, nil
}

func (d *decoder) chain(s *program.Chain, at path) (*Chain, error) {
	d.need(s.Table(), 2, at, "instructions")
	c := &Chain{Inputs: list(s.InputsLength(), s.Inputs), Outputs: list(s.OutputsLength(),
		s.Outputs)}
	var err error
	c.Instructions, err = each(s.InstructionsLength(), s.Instructions, func(x *program.Instruction,
		i int) (Instruction, error) {
		return d.instruction(x, path{&at, "instructions", i})
	})
	if err != nil {
		return nil, err
	}
	c.Stacktrace, _ = each(s.StacktraceLength(), s.Stacktrace, d.frameList)
	return c, nil
}

func (d *decoder) frameList(s *program.FrameList, _ int) ([]Frame, error) {
	pos := s.Table().Pos
	frames, ok := d.frames[pos]
	if !ok {
		frames, _ = each(s.ItemsLength(), s.Items, func(x *program.Frame, _ int) (Frame, error) {
			return Frame{Filename: d.string(x.Filename()), Line: x.Lineno(),
				Name: d.string(x.Name()), Context: d.string(x.Context())}, nil
		})
		d.frames[pos] = frames
	}
	return frames, nil
}

func (d *decoder) instruction(s *program.Instruction, at path) (Instruction, error) {
	var tab flatbuffers.Table
	if !s.InstrArgs(&tab) {
		return nil, fmt.Errorf("%v: an instruction without arguments", at)
	}
	switch s.InstrArgsType() {
	case program.InstructionArgumentsKernelCall:
		var x program.KernelCall
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 1, at, "args")
		return KernelCall{Op: x.OpIndex(), Args: list(x.ArgsLength(), x.Args)}, nil
	case program.InstructionArgumentsDelegateCall:
		var x program.DelegateCall
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 1, at, "args")
		return DelegateCall{Delegate: x.DelegateIndex(), Args: list(x.ArgsLength(), x.Args)}, nil
	case program.InstructionArgumentsMoveCall:
		var x program.MoveCall
		x.Init(tab.Bytes, tab.Pos)
		return MoveCall{From: x.MoveFrom(), To: x.MoveTo()}, nil
	case program.InstructionArgumentsJumpFalseCall:
		var x program.JumpFalseCall
		x.Init(tab.Bytes, tab.Pos)
		return JumpFalseCall{Cond: x.CondValueIndex(), Destination: x.DestinationInstruction()}, nil
	default: // a type that the schema's check let through
		var x program.FreeCall
		x.Init(tab.Bytes, tab.Pos)
		return FreeCall{Value: x.ValueIndex()}, nil
	}
}

func (d *decoder) value(s *program.EValue, at path) (EValue, error) {
	var tab flatbuffers.Table
	if !s.Val(&tab) {
		if s.ValType() == program.KernelTypesNull { // it has no contents to be absent
			return Null{}, nil
		}
		return nil, fmt.Errorf("%v: a value without contents", at)
	}
	switch s.ValType() {
	case program.KernelTypesNull:
		return Null{}, nil
	case program.KernelTypesInt:
		var x program.Int
		x.Init(tab.Bytes, tab.Pos)
		return Int(x.IntVal()), nil
	case program.KernelTypesBool:
		var x program.Bool
		x.Init(tab.Bytes, tab.Pos)
		return Bool(x.BoolVal()), nil
	case program.KernelTypesDouble:
		var x program.Double
		x.Init(tab.Bytes, tab.Pos)
		return Double(x.DoubleVal()), nil
	case program.KernelTypesString:
		var x program.String
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 0, at, "string_val")
		return String(d.string(x.StringVal())), nil
	case program.KernelTypesTensor:
		var x program.Tensor
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 2, at, "sizes")
		d.need(tab, 3, at, "dim_order")
		return d.tensor(&x, at)
	}
	d.need(tab, 0, at, "items")
	switch s.ValType() {
	case program.KernelTypesIntList:
		var x program.IntList
		x.Init(tab.Bytes, tab.Pos)
		return IntList(list(x.ItemsLength(), x.Items)), nil
	case program.KernelTypesDoubleList:
		var x program.DoubleList
		x.Init(tab.Bytes, tab.Pos)
		return DoubleList(list(x.ItemsLength(), x.Items)), nil
	case program.KernelTypesBoolList:
		var x program.BoolList
		x.Init(tab.Bytes, tab.Pos)
		return BoolList(list(x.ItemsLength(), x.Items)), nil
	case program.KernelTypesTensorList:
		var x program.TensorList
		x.Init(tab.Bytes, tab.Pos)
		return TensorList(list(x.ItemsLength(), x.Items)), nil
	default: // a type that the schema's check let through
		var x program.OptionalTensorList
		x.Init(tab.Bytes, tab.Pos)
		return OptionalTensorList(list(x.ItemsLength(), x.Items)), nil
	}
}

func (d *decoder) tensor(s *program.Tensor, at path) (EValue, error) {
	t := &Tensor{
		ScalarType:    ScalarType(s.ScalarType()),
		StorageOffset: s.StorageOffset(),
		Sizes:         list(s.SizesLength(), s.Sizes),
		DimOrder:      append([]uint8(nil), s.DimOrderBytes()...),
		RequiresGrad:  s.RequiresGrad(),
		DataIndex:     s.DataBufferIdx(),
		Layout:        s.Layout(),
		Dynamism:      Dynamism(s.ShapeDynamism()),
	}
	if a := s.AllocationInfo(nil); a != nil {
		t.Allocation = &Allocation{MemoryID: a.MemoryId(),
			Offset: uint64(a.MemoryOffsetHigh())<<32 | uint64(a.MemoryOffsetLow())}
	}
	if e := s.ExtraTensorInfo(nil); e != nil {
		if loc := e.Location(); loc != 0 && loc != 1 {
			return nil, fmt.Errorf("%v: data at the unknown location %d", at, loc)
		}
		t.ExtraInfo = &ExtraTensorInfo{
			MutableSegment: e.MutableDataSegmentsIdx(),
			Name:           d.string(e.FullyQualifiedName()),
			External:       e.Location() == 1,
			DeviceType:     e.DeviceType(),
			DeviceIndex:    e.DeviceIndex(),
		}
	}
	return t, nil
}

// data reads the tables of constants and of initial data.
func (d *decoder) data(s *program.Program, p *Program) error {
	sizes := dataSizes(p)
	offsets := 0
	subsegments := func(x *program.SubsegmentOffsets, what string,
		sizes map[uint32]int64) ([]ir.Blob, error) {
		n := x.OffsetsLength()
		// A blob is several times the size of its offset. No exporter shares a list
		// of offsets; sharing is the one way to have more of them than bytes.
		if offsets += n; 8*offsets > len(d.flat) {
			return nil, fmt.Errorf("%s: a shared list of offsets", what)
		}
		if n <= 1 { // the reserved entry alone
			return make([]ir.Blob, n), nil
		}
		if int64(x.SegmentIndex()) >= int64(len(d.segments)) {
			return nil, fmt.Errorf("%s: segment %d of %d", what, x.SegmentIndex(), len(d.segments))
		}
		blobs, err := slice(d.segments[x.SegmentIndex()], list(n, x.Offsets), sizes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return blobs, nil
	}
	var err error
	if x := s.ConstantSegment(nil); x != nil && x.OffsetsLength() > 0 {
		if s.ConstantBufferLength() > 0 && x.OffsetsLength() > 1 {
			return fmt.Errorf("constants both in constant_buffer and in constant_segment")
		}
		p.Constants, err = subsegments(x, "constant_segment", sizes.constants)
		for i, b := range p.Constants {
			if at := d.position(b); at%alignment != 0 && len(d.defects) < maxProblems {
				d.defects = append(d.defects,
					fmt.Sprintf("constant %d is at offset %d, not aligned to %d bytes", i, at,
						alignment))
			}
		}
	}
	if err == nil && s.ConstantBufferLength() > 0 && len(p.Constants) <= 1 {
		p.Constants, err = each(s.ConstantBufferLength(), s.ConstantBuffer, func(x *program.Buffer,
			i int) (ir.Blob, error) {
			if i == 0 {
				return nil, nil
			}
			return d.inline(x.Table(), 0), nil
		})
	}
	if err != nil {
		return err
	}
	p.Mutable, err = each(s.MutableDataSegmentsLength(), s.MutableDataSegments,
		func(x *program.SubsegmentOffsets, i int) ([]ir.Blob, error) {
			return subsegments(x, fmt.Sprintf("mutable_data_segments[%d]", i),
				sizes.mutable[uint64(i)])
		})
	return err
}

// alignment is what kernels expect of the data of tensors, in bytes.
const alignment = 16

// position returns the place in the file of a blob that was read from it.
func (d *decoder) position(b ir.Blob) int64 {
	at := int64(0)
	for {
		section, ok := b.(*io.SectionReader)
		if !ok {
			return at
		}
		outer, offset, _ := section.Outer()
		if at += offset; !reflect.ValueOf(outer).Comparable() || outer == d.r {
			return at // the first holds of the reader of the whole file only
		}
		b, _ = outer.(ir.Blob)
	}
}

// slice cuts a segment at offsets. A blob's size is given by the tensors it is
// for, as far as the segment goes, else by those for a blob at the same place;
// where there are none either it ends at the next offset. Entry 0 is reserved.
func slice(segment ir.Blob, offsets []uint64, sizes map[uint32]int64) ([]ir.Blob, error) {
	sorted := slices.Clone(offsets)
	slices.Sort(sorted)
	known := map[uint64]int64{} // by offset, which equal blobs share
	for i, off := range offsets {
		if size, ok := sizes[uint32(i)]; ok {
			known[off] = max(known[off], size)
		}
	}
	blobs := make([]ir.Blob, len(offsets))
	for i, off := range offsets {
		if i == 0 {
			continue
		}
		if off > uint64(segment.Size()) {
			return nil, fmt.Errorf("offset %d of entry %d leaves the segment of %d bytes", off, i,
				segment.Size())
		}
		room := segment.Size() - int64(off)
		size, ok := sizes[uint32(i)]
		if !ok {
			size, ok = known[off]
		}
		if !ok {
			next, _ := slices.BinarySearch(sorted, off+1)
			if size = room; next < len(sorted) {
				size = int64(min(sorted[next], uint64(segment.Size())) - off)
			}
		}
		blobs[i] = io.NewSectionReader(segment, int64(off), min(size, room))
	}
	return blobs, nil
}

// tensorSizes are the bytes that entries of the tables of data need.
type tensorSizes struct {
	constants map[uint32]int64
	mutable   map[uint64]map[uint32]int64
}

func dataSizes(p *Program) tensorSizes {
	s := tensorSizes{map[uint32]int64{}, map[uint64]map[uint32]int64{}}
	for _, plan := range p.Plans {
		for _, v := range plan.Values {
			t, ok := v.(*Tensor)
			if !ok || t.DataIndex == 0 {
				continue
			}
			table := s.constants
			if t.Allocation != nil {
				segment := uint64(0)
				if t.ExtraInfo != nil {
					segment = t.ExtraInfo.MutableSegment
				}
				if table = s.mutable[segment]; table == nil {
					table = map[uint32]int64{}
					s.mutable[segment] = table
				}
			}
			if n, ok := t.NBytes(); ok {
				table[t.DataIndex] = max(table[t.DataIndex], n)
			}
		}
	}
	return s
}

// NBytes returns the bytes of the tensor's data, for a tensor of dynamic shape
// its bound. It is not ok if a size is negative, the type has no element size,
// or the number does not fit.
func (t *Tensor) NBytes() (n int64, ok bool) {
	dtype, ok := t.ScalarType.DType()
	if !ok {
		return 0, false
	}
	total := uint64(dtype.Size())
	for _, s := range t.Sizes {
		hi, lo := bits.Mul64(total, uint64(max(s, 0)))
		if s < 0 || hi != 0 || lo > 1<<62 {
			return 0, false
		}
		total = lo
	}
	return int64(total), true
}
