package pte

import (
	"encoding/binary"
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/bundle"
	"github.com/etgen/etgen/ir/pte/fb/flattensor"
)

// Bundle is what one .bpte file holds: a program and test cases for its methods.
type Bundle struct {
	Version uint32
	Program *Program
	Suites  []TestSuite
}

// TestSuite are the test cases of a method.
type TestSuite struct {
	Method string
	Cases  []TestCase
}

// TestCase is one call of a method.
type TestCase struct {
	Inputs, Outputs []TestValue // the outputs are those expected
}

// TestValue is one of *TestTensor, Int, Bool and Double.
type TestValue interface{ testValue() }

// TestTensor is a tensor with its data.
type TestTensor struct {
	ScalarType ScalarType
	Sizes      []int32
	DimOrder   []uint8
	Data       ir.Blob // of exactly the bytes that type and sizes need
}

func (*TestTensor) testValue() {}
func (Int) testValue()         {}
func (Bool) testValue()        {}
func (Double) testValue()      {}

// ReadBundle reads a .bpte file of size bytes. A bundle is a flatbuffer whole,
// so while it is read the file is in memory; afterwards the program's blobs and
// the test cases' data are ranges of r.
func ReadBundle(r io.ReaderAt, size int64) (*Bundle, error) {
	b, err := readBundle(r, size)
	if err != nil {
		return nil, fmt.Errorf("bpte: %w", err)
	}
	return b, nil
}

// OpenBundle reads the .bpte file at path, which stays open until the Closer
// closes it.
func OpenBundle(path string) (*Bundle, io.Closer, error) { return open(path, ReadBundle) }

func readBundle(r io.ReaderAt, size int64) (*Bundle, error) {
	f, err := openFile(r, size, "")
	if err != nil {
		return nil, err
	}
	if err := bundledSchema().Check(f.flat); err != nil {
		return nil, err
	}
	s := bundle.GetRootAsBundledProgram(f.flat, 0)
	tab := s.Table()
	embedded := f.inline(tab, 2)
	b := &Bundle{Version: s.Version()}
	if b.Program, err = Read(embedded, embedded.Size()); err != nil {
		return nil, err
	}
	b.Suites, err = each(s.MethodTestSuitesLength(), s.MethodTestSuites,
		func(x *bundle.BundledMethodTestSuite, i int) (TestSuite, error) {
			suite := TestSuite{Method: string(x.MethodName())}
			var err error
			suite.Cases, err = each(x.TestCasesLength(), x.TestCases,
				func(x *bundle.BundledMethodTestCase, j int) (TestCase, error) {
					at := path{&path{nil, "method_test_suites", i}, "test_cases", j}
					var c TestCase
					var err error
					c.Inputs, err = each(x.InputsLength(), x.Inputs, func(x *bundle.Value,
						k int) (TestValue, error) {
						return f.testValue(x, path{&at, "inputs", k})
					})
					if err != nil {
						return c, err
					}
					c.Outputs, err = each(x.ExpectedOutputsLength(), x.ExpectedOutputs,
						func(x *bundle.Value, k int) (TestValue, error) {
							return f.testValue(x, path{&at, "expected_outputs", k})
						})
					return c, err
				})
			return suite, err
		})
	return b, err
}

func (f *file) testValue(s *bundle.Value, at path) (TestValue, error) {
	var tab flatbuffers.Table
	if !s.Val(&tab) {
		return nil, fmt.Errorf("%v: a value without contents", at)
	}
	switch s.ValType() {
	case bundle.ValueUnionInt:
		var x bundle.Int
		x.Init(tab.Bytes, tab.Pos)
		return Int(x.IntVal()), nil
	case bundle.ValueUnionBool:
		var x bundle.Bool
		x.Init(tab.Bytes, tab.Pos)
		return Bool(x.BoolVal()), nil
	case bundle.ValueUnionDouble:
		var x bundle.Double
		x.Init(tab.Bytes, tab.Pos)
		return Double(x.DoubleVal()), nil
	}
	var x bundle.Tensor // the one type left that the schema's check lets through
	x.Init(tab.Bytes, tab.Pos)
	t := &TestTensor{
		ScalarType: ScalarType(x.ScalarType()),
		Sizes:      list(x.SizesLength(), x.Sizes),
		DimOrder:   append([]uint8(nil), x.DimOrderBytes()...),
		Data:       f.inline(tab, 2),
	}
	if n, ok := (&Tensor{ScalarType: t.ScalarType, Sizes: t.Sizes}).NBytes(); !ok ||
		n != t.Data.Size() {
		return nil, fmt.Errorf("%v: %d bytes for a tensor of %v %v", at, t.Data.Size(),
			t.ScalarType, t.Sizes)
	}
	return t, nil
}

// DataFile is what one .ptd file holds: data by name, for the tensors of a
// program that say External.
type DataFile struct {
	Version uint32
	Entries []DataEntry
}

// DataEntry is a blob with its name.
type DataEntry struct {
	Key    string
	Layout *TensorLayout // nil if the data is no tensor
	Data   ir.Blob
}

// TensorLayout describes the data of a tensor.
type TensorLayout struct {
	ScalarType ScalarType
	Sizes      []int32
	DimOrder   []uint8
}

// Find returns the entry called key.
func (f *DataFile) Find(key string) (*DataEntry, bool) {
	for i := range f.Entries {
		if f.Entries[i].Key == key {
			return &f.Entries[i], true
		}
	}
	return nil, false
}

// ReadData reads a .ptd file of size bytes, with or without extended header. Its
// blobs are ranges of r. What it allocates is bounded as [Read] is.
func ReadData(r io.ReaderAt, size int64) (*DataFile, error) {
	f, err := readData(r, size)
	if err != nil {
		return nil, fmt.Errorf("ptd: %w", err)
	}
	return f, nil
}

// OpenData reads the .ptd file at path, which stays open until the Closer closes
// it.
func OpenData(path string) (*DataFile, io.Closer, error) { return open(path, ReadData) }

func readData(r io.ReaderAt, size int64) (*DataFile, error) {
	f, err := openFile(r, size, "FH01")
	if err != nil {
		return nil, err
	}
	if err := flatTensorSchema().Check(f.flat); err != nil {
		return nil, err
	}
	s := flattensor.GetRootAsFlatTensor(f.flat, 0)
	segments, err := each(s.SegmentsLength(), s.Segments, func(x *flattensor.DataSegment,
		i int) (ir.Blob, error) {
		b, err := f.segment(x.Offset(), x.Size())
		if err != nil {
			return nil, fmt.Errorf("segments[%d]: %w", i, err)
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	d := &DataFile{Version: s.Version()}
	d.Entries, err = each(s.NamedDataLength(), s.NamedData, func(x *flattensor.NamedData,
		i int) (DataEntry, error) {
		v := DataEntry{Key: string(x.Key())}
		if int64(x.SegmentIndex()) >= int64(len(segments)) {
			return v, fmt.Errorf("named_data[%d]: segment %d of %d", i, x.SegmentIndex(),
				len(segments))
		}
		v.Data = segments[x.SegmentIndex()]
		if l := x.TensorLayout(nil); l != nil {
			v.Layout = &TensorLayout{
				ScalarType: ScalarType(l.ScalarType()),
				Sizes:      list(l.SizesLength(), l.Sizes),
				DimOrder:   append([]uint8(nil), l.DimOrderBytes()...),
			}
			t := Tensor{ScalarType: v.Layout.ScalarType, Sizes: v.Layout.Sizes,
				DimOrder: v.Layout.DimOrder}
			if n, ok := t.NBytes(); !ok || n > v.Data.Size() {
				return v, fmt.Errorf("named_data[%d] %q: %d bytes for a tensor of %v %v", i, v.Key,
					v.Data.Size(), t.ScalarType, t.Sizes)
			}
		}
		return v, nil
	})
	return d, err
}

// WriteData writes f as a .ptd file, each blob in a segment, equal blobs once.
func WriteData(w io.Writer, f *DataFile) error {
	if err := (Layout{}).writeData(w, f); err != nil {
		return fmt.Errorf("ptd: %w", err)
	}
	return nil
}

func (l Layout) writeData(w io.Writer, f *DataFile) error {
	l, err := l.complete()
	if err != nil {
		return err
	}
	// Segments of a .ptd are as the named data of a program.
	p := &Program{}
	for _, n := range f.Entries {
		p.Named = append(p.Named, NamedData{Key: n.Key, Data: n.Data})
	}
	ids := newIdentities()
	ids.expectAll(p)
	data := &fileData{delegates: map[*Delegate]int{}}
	if err := l.wholeSegments(p, data, ids); err != nil {
		return err
	}
	flat := encodeData(f, data)
	const length = 40
	room := headerSize(length)
	base := align(int64(room+len(flat)), l.SegmentAlignment)
	header := append([]byte("FH01"), make([]byte, room-4)...)
	binary.LittleEndian.PutUint32(header[4:], length)
	binary.LittleEndian.PutUint64(header[8:], uint64(room))
	binary.LittleEndian.PutUint64(header[16:], uint64(len(flat)))
	binary.LittleEndian.PutUint64(header[24:], uint64(base))
	binary.LittleEndian.PutUint64(header[32:], uint64(data.segments.size()))
	return writeFile(w, flat, header, base, data.segments)
}

// dataTables are the tables of a .ptd file, see programTables.
var dataTables = layouts(flatTensorSchema, `
	TensorLayout sizes dim_order scalar_type
	NamedData key segment_index tensor_layout
	DataSegment offset size
	FlatTensor version segments named_data`)

func encodeData(f *DataFile, d *fileData) []byte {
	e := newEncoderOf(dataTables())
	named := listOf(e, f.Entries, func(i int, v *DataEntry) offset {
		layout := offset(0)
		if l := v.Layout; l != nil {
			layout = e.shared("TensorLayout", uint64(e.int32s(l.Sizes)),
				uint64(e.bytes(l.DimOrder)), uint64(l.ScalarType))
		}
		return e.table("NamedData", uint64(e.text(v.Key)), uint64(d.named[i]), uint64(layout))
	})
	segments := e.segments(d.segments)
	e.FinishWithFileIdentifier(e.table("FlatTensor", uint64(f.Version), segments, named),
		[]byte(flatTensorSchema().Identifier))
	return e.FinishedBytes()
}
