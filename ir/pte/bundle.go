package pte

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
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
	return reading("bpte", func() *Bundle { return readBundle(r, size) })
}

// OpenBundle reads the .bpte file at path, which stays open until the Closer
// closes it.
func OpenBundle(path string) (*Bundle, io.Closer, error) { return open(path, ReadBundle) }

func readBundle(r io.ReaderAt, size int64) *Bundle {
	f := openFile(r, size, "")
	must.Check(bundledSchema().Check(f.flat))
	s := bundledSchema().Root(f.flat)
	embedded := f.inline(s, "program")
	b := &Bundle{Version: uint32(s.Number("version")),
		Program: must.Get(Read(embedded, embedded.Size()))}
	b.Suites = each(s, nil, "method_test_suites", func(x flat.Table, at path) TestSuite {
		return TestSuite{Method: string(x.Bytes("method_name")),
			Cases: each(x, &at, "test_cases", func(x flat.Table, at path) TestCase {
				return TestCase{Inputs: each(x, &at, "inputs", f.testValue),
					Outputs: each(x, &at, "expected_outputs", f.testValue)}
			})}
	})
	return b
}

func (f *file) testValue(s flat.Table, at path) TestValue {
	x, kind, ok := s.Union("val")
	if !ok {
		panic(fmt.Errorf("%v: a value without contents", at))
	}
	if v := scalarOf(x, kind); v != nil {
		return v
	}
	l := layoutIn(x)
	t := &TestTensor{ScalarType: l.ScalarType, Sizes: l.Sizes, DimOrder: l.DimOrder,
		Data: f.inline(x, "data")}
	if n, ok := l.nbytes(); !ok || n != t.Data.Size() {
		panic(fmt.Errorf("%v: %d bytes for a tensor of %v %v", at, t.Data.Size(), t.ScalarType,
			t.Sizes))
	}
	return t
}

// layoutIn returns what a table says of the layout of a tensor.
func layoutIn(x flat.Table) *TensorLayout {
	return &TensorLayout{ScalarType: ScalarType(x.Number("scalar_type")),
		Sizes: flat.List[int32](x, "sizes"), DimOrder: flat.List[uint8](x, "dim_order")}
}

// nbytes returns the bytes of the elements, see Tensor.NBytes.
func (l *TensorLayout) nbytes() (int64, bool) {
	return (&Tensor{ScalarType: l.ScalarType, Sizes: l.Sizes}).NBytes()
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
	return reading("ptd", func() *DataFile { return readData(r, size) })
}

// OpenData reads the .ptd file at path, which stays open until the Closer closes
// it.
func OpenData(path string) (*DataFile, io.Closer, error) { return open(path, ReadData) }

func readData(r io.ReaderAt, size int64) *DataFile {
	f := openFile(r, size, "FH01")
	must.Check(flatTensorSchema().Check(f.flat))
	s := flatTensorSchema().Root(f.flat)
	segments := f.dataSegments(s)
	d := &DataFile{Version: uint32(s.Number("version"))}
	d.Entries = each(s, nil, "named_data", func(x flat.Table, at path) DataEntry {
		v := DataEntry{Key: string(x.Bytes("key")), Data: indexed(segments, x, "segment_index", at)}
		if l, ok := x.Sub("tensor_layout"); ok {
			v.Layout = layoutIn(l)
			if n, ok := v.Layout.nbytes(); !ok || n > v.Data.Size() {
				panic(fmt.Errorf("%v %q: %d bytes for a tensor of %v %v", at, v.Key,
					v.Data.Size(), v.Layout.ScalarType, v.Layout.Sizes))
			}
		}
		return v
	})
	return d
}

// WriteData writes f as a .ptd file, each blob in a segment, equal blobs once.
func WriteData(w io.Writer, f *DataFile) error {
	return saving("ptd", func() { Layout{}.writeData(w, f) })
}

func (l Layout) writeData(w io.Writer, f *DataFile) {
	l = l.complete()
	// Segments of a .ptd are as the named data of a program.
	p := &Program{}
	for _, n := range f.Entries {
		p.Named = append(p.Named, ir.NamedData{Key: n.Key, Data: n.Data})
	}
	ids := newIdentities()
	ids.expectAll(p)
	data := &fileData{delegates: map[*Delegate]int{}}
	l.wholeSegments(p, data, ids)
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
	must.Check(writeFile(w, flat, header, base, data.segments))
}

// dataTables are the tables of a .ptd file, see programTables.
var dataTables = flat.Layouts(flatTensorSchema, `
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
		return e.Table("NamedData", uint64(e.text(v.Key)), uint64(d.named[i]), uint64(layout))
	})
	segments := e.segments(d.segments)
	e.FinishWithFileIdentifier(e.Table("FlatTensor", uint64(f.Version), segments, named),
		[]byte(flatTensorSchema().Identifier))
	return e.FinishedBytes()
}
