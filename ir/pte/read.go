package pte

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"reflect"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
	"github.com/etgen/etgen/ir/seq"
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
	return reading("pte", func() *Program {
		f := openFile(r, size, "eh00")
		must.Check(programSchema().Check(f.flat, "FrameList"))
		d := &decoder{file: f, strings: map[string]string{}, frames: map[uint32][]Frame{}}
		return d.program(programSchema().Root(f.flat))
	})
}

// reading returns what read reads; errors name the kind of file.
func reading[T any](kind string, read func() T) (t T, err error) {
	defer must.Catch(&err)
	return must.At(read, "%s", kind), nil
}

// Open reads the program in the file at path. The file has to stay open, until
// the Closer closes it, for as long as blobs of the program are read.
func Open(path string) (*Program, io.Closer, error) { return open(path, Read) }

// open opens the file at path and reads it; errors name the file.
func open[T any](path string, read func(io.ReaderAt,
	int64) (T, error)) (t T, _ io.Closer, err error) {
	// Other files are not opened: opening a pipe would wait for its writer.
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
	frames   map[uint32][]Frame
	defects  []string
	segments []ir.Blob
}

// text returns a string.
func (d *decoder) text(t flat.Table, name string) string {
	b := t.Bytes(name)
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}

// defect notes what a runtime refuses or trips over.
func (d *decoder) defect(format string, args ...any) {
	if len(d.defects) < maxProblems {
		d.defects = append(d.defects, fmt.Sprintf(format, args...))
	}
}

// need notes which fields of the table at path, which a runtime requires, are absent.
func (d *decoder) need(t flat.Table, at path, names ...string) {
	for _, name := range names {
		if !t.Has(name) && len(d.defects) < maxProblems { // the error costs memory
			d.defect("%v.%s is absent", at, name)
		}
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

// each returns the tables of a vector, decoded; nil for none.
func each[T any](t flat.Table, parent *path, name string, decode func(flat.Table, path) T) []T {
	n, get := t.Tables(name)
	if n == 0 {
		return nil
	}
	return seq.Of(n, func(i int) T { return decode(get(i), path{parent, name, i}) })
}

// dataSegments are the segments that a file says it has.
func (f *file) dataSegments(t flat.Table) []ir.Blob {
	return each(t, nil, "segments", func(x flat.Table, at path) ir.Blob {
		b, err := f.segment(x.Number("offset"), x.Number("size"))
		must.In(err, "%v", at)
		return b
	})
}

// indexed returns a segment by the index in a field of the table at a place.
func indexed(segments []ir.Blob, t flat.Table, field string, at any) ir.Blob {
	i := t.Number(field)
	if i >= uint64(len(segments)) {
		panic(fmt.Errorf("%v: segment %d of %d", at, i, len(segments)))
	}
	return segments[i]
}

func (d *decoder) program(s flat.Table) *Program {
	p := &Program{Version: uint32(s.Number("version"))}
	if !s.Has("execution_plan") {
		d.defect("execution_plan is absent")
	}
	d.segments = d.dataSegments(s)
	p.Plans = each(s, nil, "execution_plan", func(x flat.Table, at path) *ExecutionPlan {
		return d.plan(x, s, at)
	})
	p.Named = each(s, nil, "named_data", func(x flat.Table, at path) ir.NamedData {
		d.need(x, at, "key")
		return ir.NamedData{Key: d.text(x, "key"), Data: indexed(d.segments, x, "segment_index", at)}
	})
	d.data(s, p)
	p.Defects = d.defects
	return p
}

// plan reads the method at a place.
func (d *decoder) plan(s, root flat.Table, at path) *ExecutionPlan {
	d.need(s, at, "name", "values", "inputs", "outputs", "chains", "operators", "delegates",
		"non_const_buffer_sizes")
	p := &ExecutionPlan{
		Name:        d.text(s, "name"),
		Inputs:      flat.List[int32](s, "inputs"),
		Outputs:     flat.List[int32](s, "outputs"),
		BufferSizes: flat.List[int64](s, "non_const_buffer_sizes"),
	}
	if c, ok := s.Sub("container_meta_type"); ok {
		p.Container = &ContainerMeta{Input: d.text(c, "encoded_inp_str"),
			Output: d.text(c, "encoded_out_str")}
	}
	p.Values = each(s, &at, "values", d.value)
	p.Chains = each(s, &at, "chains", d.chain)
	p.Operators = each(s, &at, "operators", func(x flat.Table, at path) Operator {
		d.need(x, at, "name")
		return Operator{Name: d.text(x, "name"), Overload: d.text(x, "overload")}
	})
	p.Delegates = each(s, &at, "delegates", func(x flat.Table, at path) Delegate {
		return d.delegate(x, root, at)
	})
	p.BufferDevices = each(s, &at, "non_const_buffer_device",
		func(x flat.Table, _ path) BufferDevice {
			return BufferDevice{Buffer: int32(x.Number("buffer_idx")),
				DeviceType:  int8(x.Number("device_type")),
				DeviceIndex: int8(x.Number("device_index"))}
		})
	return p
}

func (d *decoder) delegate(s, root flat.Table, at path) Delegate {
	d.need(s, at, "id", "processed")
	v := Delegate{ID: d.text(s, "id"), Processed: ir.Bytes(nil), Inline: true}
	v.Specs = each(s, &at, "compile_specs", func(x flat.Table, at path) ir.CompileSpec {
		d.need(x, at, "key", "value")
		return ir.CompileSpec{Key: d.text(x, "key"), Value: flat.List[uint8](x, "value")}
	})
	ref, ok := s.Sub("processed")
	if !ok {
		return v
	}
	switch location := ref.Number("location"); location {
	case 0:
		n, get := root.Tables("backend_delegate_data")
		index := int(ref.Number("index"))
		if index >= n {
			panic(fmt.Errorf("%v: backend_delegate_data %d of %d", at, index, n))
		}
		v.Processed = d.inline(get(index), "data")
	case 1:
		v.Inline, v.Processed = false, indexed(d.segments, ref, "index", at)
	default:
		panic(fmt.Errorf("%v: unknown data location %d", at, location))
	}
	return v
}

func (d *decoder) chain(s flat.Table, at path) *Chain {
	d.need(s, at, "instructions")
	return &Chain{
		Inputs: flat.List[int32](s, "inputs"), Outputs: flat.List[int32](s, "outputs"),
		Instructions: each(s, &at, "instructions", d.instruction),
		Stacktrace:   each(s, &at, "stacktrace", d.frameList),
	}
}

func (d *decoder) frameList(s flat.Table, at path) []Frame {
	frames, ok := d.frames[s.Pos()]
	if !ok {
		frames = each(s, &at, "items", func(x flat.Table, _ path) Frame {
			return Frame{Filename: d.text(x, "filename"), Line: int32(x.Number("lineno")),
				Name: d.text(x, "name"), Context: d.text(x, "context")}
		})
		d.frames[s.Pos()] = frames
	}
	return frames
}

func (d *decoder) instruction(s flat.Table, at path) Instruction {
	x, kind, ok := s.Union("instr_args")
	if !ok {
		panic(fmt.Errorf("%v: an instruction without arguments", at))
	}
	index := func(name string) int32 { return int32(x.Number(name)) }
	switch kind {
	case "KernelCall":
		d.need(x, at, "args")
		return KernelCall{Op: index("op_index"), Args: flat.List[int32](x, "args")}
	case "DelegateCall":
		d.need(x, at, "args")
		return DelegateCall{Delegate: index("delegate_index"), Args: flat.List[int32](x, "args")}
	case "MoveCall":
		return MoveCall{From: index("move_from"), To: index("move_to")}
	case "JumpFalseCall":
		return JumpFalseCall{Cond: index("cond_value_index"),
			Destination: index("destination_instruction")}
	}
	return FreeCall{Value: index("value_index")}
}

func (d *decoder) value(s flat.Table, at path) EValue {
	x, kind, ok := s.Union("val")
	switch {
	case kind == "Null": // it has no contents to be absent
		return Null{}
	case !ok:
		panic(fmt.Errorf("%v: a value without contents", at))
	}
	switch kind {
	case "Int", "Bool", "Double":
		return scalarOf(x, kind).(EValue)
	case "String":
		d.need(x, at, "string_val")
		return String(d.text(x, "string_val"))
	case "Tensor":
		d.need(x, at, "sizes", "dim_order")
		return d.tensor(x, at)
	}
	d.need(x, at, "items")
	switch kind {
	case "IntList":
		return IntList(flat.List[int64](x, "items"))
	case "DoubleList":
		return DoubleList(flat.List[float64](x, "items"))
	case "BoolList":
		return BoolList(flat.List[bool](x, "items"))
	case "TensorList":
		return TensorList(flat.List[int32](x, "items"))
	}
	return OptionalTensorList(flat.List[int32](x, "items"))
}

// scalarOf returns the number in a table of a kind, nil of other kinds.
func scalarOf(x flat.Table, kind string) TestValue {
	switch kind {
	case "Int":
		return Int(x.Number("int_val"))
	case "Bool":
		return Bool(x.Number("bool_val") != 0)
	case "Double":
		return Double(math.Float64frombits(x.Number("double_val")))
	}
	return nil
}

func (d *decoder) tensor(s flat.Table, at path) EValue {
	t := &Tensor{
		ScalarType:    ScalarType(s.Number("scalar_type")),
		StorageOffset: int32(s.Number("storage_offset")),
		Sizes:         flat.List[int32](s, "sizes"),
		DimOrder:      flat.List[uint8](s, "dim_order"),
		RequiresGrad:  s.Number("requires_grad") != 0,
		DataIndex:     uint32(s.Number("data_buffer_idx")),
		Layout:        int8(s.Number("layout")),
		Dynamism:      Dynamism(s.Number("shape_dynamism")),
	}
	if a, ok := s.Sub("allocation_info"); ok {
		t.Allocation = &Allocation{MemoryID: uint32(a.Number("memory_id")),
			Offset: a.Number("memory_offset_high")<<32 | a.Number("memory_offset_low")}
	}
	if e, ok := s.Sub("extra_tensor_info"); ok {
		location := e.Number("location")
		if location > 1 {
			panic(fmt.Errorf("%v: data at the unknown location %d", at, int8(location)))
		}
		t.ExtraInfo = &ExtraTensorInfo{
			MutableSegment: e.Number("mutable_data_segments_idx"),
			Name:           d.text(e, "fully_qualified_name"),
			External:       location == 1,
			DeviceType:     int8(e.Number("device_type")),
			DeviceIndex:    int8(e.Number("device_index")),
		}
	}
	return t
}

// data reads the tables of constants and of initial data.
func (d *decoder) data(s flat.Table, p *Program) {
	sizes := dataSizes(p)
	total := 0
	subsegments := func(x flat.Table, what any, sizes map[uint32]int64) []ir.Blob {
		offsets := flat.List[uint64](x, "offsets")
		// A blob is several times the size of its offset. No exporter shares a list
		// of offsets; sharing is the one way to have more of them than bytes.
		if total += len(offsets); 8*total > len(d.flat) {
			panic(fmt.Errorf("%v: a shared list of offsets", what))
		}
		if len(offsets) <= 1 { // the reserved entry alone
			return make([]ir.Blob, len(offsets))
		}
		blobs, err := slice(indexed(d.segments, x, "segment_index", what), offsets, sizes)
		must.In(err, "%v", what)
		return blobs
	}
	inline, _ := s.Tables("constant_buffer")
	if x, ok := s.Sub("constant_segment"); ok && len(x.Bytes("offsets")) > 0 {
		p.Constants = subsegments(x, "constant_segment", sizes.constants)
		if len(p.Constants) > 1 && inline > 0 {
			panic(fmt.Errorf("constants both in constant_buffer and in constant_segment"))
		}
		for i, b := range p.Constants {
			if at := d.position(b); at%alignment != 0 {
				d.defect("constant %d is at offset %d, not aligned to %d bytes", i, at, alignment)
			}
		}
	}
	if len(p.Constants) <= 1 && inline > 0 {
		p.Constants = each(s, nil, "constant_buffer", func(x flat.Table, at path) ir.Blob {
			if at.index == 0 {
				return nil
			}
			return d.inline(x, "storage")
		})
	}
	p.Mutable = each(s, nil, "mutable_data_segments", func(x flat.Table, at path) []ir.Blob {
		return subsegments(x, at, sizes.mutable[uint64(at.index)])
	})
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
				if table = s.mutable[t.segment()]; table == nil {
					table = map[uint32]int64{}
					s.mutable[t.segment()] = table
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
