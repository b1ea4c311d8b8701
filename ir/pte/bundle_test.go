package pte

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/etgen/etgen/ir"
)

// testSuites are those of one test case that takes a tensor of sizes and a number of every kind,
// and gives the tensor.
func testSuites(sizes ...int32) []TestSuite {
	tensor := &TestTensor{ScalarType: 2, Sizes: sizes, DimOrder: []uint8{0},
		Data: ir.Bytes{1, 0, 2, 0}}
	return []TestSuite{{Method: "forward", Cases: []TestCase{{
		Inputs:  []TestValue{tensor, Int(-3), Bool(true), Double(0.5)},
		Outputs: []TestValue{tensor},
	}}}}
}

// bundleFile makes a .bpte of a program and testSuites.
func bundleFile(t testing.TB, program []byte, sizes ...int32) []byte {
	var file bytes.Buffer
	if err := WriteBundle(&file, ir.Bytes(program), testSuites(sizes...)); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
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
	file := bundleFile(t, writeBytes(t, sample()), 2)
	got, err := ReadBundle(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := &Bundle{Version: 2, Program: sample(), Suites: testSuites(2)}
	if diff := cmp.Diff(want, got, sameBlobs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for want, file := range map[string][]byte{
		"bpte: method_test_suites[0].test_cases[0].inputs[0]: " +
			"4 bytes for a tensor of int16 [3]": bundleFile(t, writeBytes(t, sample()), 3),
		"bpte: pte: a file of 0 bytes":         bundleFile(t, nil, 2),
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
		f.Add(bundleFile(f, file, 2))
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
