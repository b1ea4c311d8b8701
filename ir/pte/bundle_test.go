package pte

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/bundle"
)

// bundleFile makes a .bpte of a program and one test case that takes a tensor of
// sizes and a number of every kind, and gives the tensor.
func bundleFile(e *encoder, file []byte, sizes []int32) []byte {
	aligned := func(data []byte, alignment int) offset {
		e.StartVector(1, len(data), alignment)
		for i := len(data) - 1; i >= 0; i-- {
			e.PlaceByte(data[i])
		}
		return e.EndVector(len(data))
	}
	embedded := aligned(file, 32)
	size, order, data := e.int32s(sizes), e.bytes([]byte{0}), aligned([]byte{1, 0, 2, 0}, 16)
	value := func(kind bundle.ValueUnion, val offset) offset {
		bundle.ValueStart(e.Builder)
		bundle.ValueAddVal(e.Builder, val)
		bundle.ValueAddValType(e.Builder, kind)
		return bundle.ValueEnd(e.Builder)
	}
	bundle.TensorStart(e.Builder)
	bundle.TensorAddScalarType(e.Builder, 2)
	bundle.TensorAddSizes(e.Builder, size)
	bundle.TensorAddDimOrder(e.Builder, order)
	bundle.TensorAddData(e.Builder, data)
	tensor := value(bundle.ValueUnionTensor, bundle.TensorEnd(e.Builder))
	bundle.IntStart(e.Builder)
	bundle.IntAddIntVal(e.Builder, -3)
	integer := value(bundle.ValueUnionInt, bundle.IntEnd(e.Builder))
	bundle.BoolStart(e.Builder)
	bundle.BoolAddBoolVal(e.Builder, true)
	boolean := value(bundle.ValueUnionBool, bundle.BoolEnd(e.Builder))
	bundle.DoubleStart(e.Builder)
	bundle.DoubleAddDoubleVal(e.Builder, 0.5)
	double := value(bundle.ValueUnionDouble, bundle.DoubleEnd(e.Builder))
	inputs, outputs := e.refs([]offset{tensor, integer, boolean, double}), e.refs([]offset{tensor})
	bundle.BundledMethodTestCaseStart(e.Builder)
	bundle.BundledMethodTestCaseAddInputs(e.Builder, inputs)
	bundle.BundledMethodTestCaseAddExpectedOutputs(e.Builder, outputs)
	cases := e.refs([]offset{bundle.BundledMethodTestCaseEnd(e.Builder)})
	name := e.text("forward")
	bundle.BundledMethodTestSuiteStart(e.Builder)
	bundle.BundledMethodTestSuiteAddMethodName(e.Builder, name)
	bundle.BundledMethodTestSuiteAddTestCases(e.Builder, cases)
	suites := e.refs([]offset{bundle.BundledMethodTestSuiteEnd(e.Builder)})
	bundle.BundledProgramStart(e.Builder)
	bundle.BundledProgramAddVersion(e.Builder, 1)
	bundle.BundledProgramAddMethodTestSuites(e.Builder, suites)
	bundle.BundledProgramAddProgram(e.Builder, embedded)
	e.FinishWithFileIdentifier(bundle.BundledProgramEnd(e.Builder), []byte("BP08"))
	return e.FinishedBytes()
}

// What is written is read again, the program as it was.
func TestWriteBundle(t *testing.T) {
	program := ir.Bytes(writeBytes(t, sample()))
	suites := []TestSuite{{Method: "forward", Cases: []TestCase{{
		Inputs: []TestValue{&TestTensor{ScalarType: 2, Sizes: []int32{2}, DimOrder: []uint8{0},
			Data: ir.Bytes{1, 0, 2, 0}}, Int(-3), Bool(true), Double(0.5)},
		Outputs: []TestValue{&TestTensor{ScalarType: 2, Sizes: []int32{}, DimOrder: []uint8{},
			Data: ir.Bytes{1, 0}}},
	}, {Inputs: []TestValue{}, Outputs: []TestValue{}}}}}
	var file bytes.Buffer
	if err := WriteBundle(&file, program, suites); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBundle(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Bundle{Version: 2, Program: sample(), Suites: suites}, got, sameBlobs,
		cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBundle(t *testing.T) {
	file := bundleFile(newEncoder(), writeBytes(t, sample()), []int32{2})
	got, err := ReadBundle(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	tensor := &TestTensor{ScalarType: 2, Sizes: []int32{2}, DimOrder: []uint8{0},
		Data: ir.Bytes{1, 0, 2, 0}}
	want := &Bundle{Version: 1, Program: sample(),
		Suites: []TestSuite{{Method: "forward", Cases: []TestCase{{
			Inputs:  []TestValue{tensor, Int(-3), Bool(true), Double(0.5)},
			Outputs: []TestValue{tensor},
		}}}}}
	if diff := cmp.Diff(want, got, sameBlobs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for want, file := range map[string][]byte{
		"bpte: method_test_suites[0].test_cases[0].inputs[0]: 4 bytes for a tensor of int16 [3]": bundleFile(newEncoder(), writeBytes(t, sample()), []int32{3}),
		"bpte: pte: a file of 0 bytes":         bundleFile(newEncoder(), nil, []int32{2}),
		`bpte: identifier "ET12", want "BP08"`: writeBytes(t, sample()),
		"bpte: table BundledProgram of 4 bytes at 16777216 leaves the buffer of 9 bytes": append(
			[]byte{0, 0, 0, 1, 'B', 'P', '0', '8'}, 0),
	} {
		_, err := ReadBundle(bytes.NewReader(file), int64(len(file)))
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzReadBundle(f *testing.F) {
	for _, file := range seedPrograms(f) {
		f.Add(bundleFile(newEncoder(), file, []int32{2}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b *Bundle
		var err error
		// The file and the program in it each have their flatbuffer.
		if n := allocated(func() {
			b, err = ReadBundle(bytes.NewReader(data), int64(len(data)))
		}); n > 1<<16+2*ReadExpansion*uint64(len(data)) {
			t.Errorf("%d bytes of file make %d", len(data), n)
		}
		if err != nil {
			return
		}
		for _, s := range b.Suites {
			for _, c := range s.Cases {
				for _, v := range append(c.Inputs, c.Outputs...) {
					if tensor, ok := v.(*TestTensor); ok {
						blobBytes(tensor.Data)
					}
				}
			}
		}
	})
}
