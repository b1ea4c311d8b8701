package pte

import (
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/bundle"
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
