package pte

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
)

func readDataBytes(t testing.TB, data []byte) *DataFile {
	t.Helper()
	f, err := ReadData(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDataFileShared(t *testing.T) {
	for _, path := range shared(t, "*/*.ptd") {
		f, c, err := OpenData(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var out bytes.Buffer
		if err := WriteData(&out, f); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, readDataBytes(t, out.Bytes()), sameBlobs); diff != "" {
			t.Errorf("-read +written:\n%s", diff)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if int64(out.Len()) > info.Size() || len(f.Entries) == 0 {
			t.Errorf("%s: %d entries, %d bytes, was %d", path, len(f.Entries), out.Len(),
				info.Size())
		}
		if _, ok := f.Find(f.Entries[0].Key); !ok {
			t.Errorf("%s: no entry %q", path, f.Entries[0].Key)
		}
	}
}

func smallData() *DataFile {
	data := ir.Bytes{0, 0, 128, 63, 0, 0, 0, 64}
	layout := &TensorLayout{ScalarType: 6, Sizes: []int32{2}, DimOrder: []uint8{0}}
	return &DataFile{Version: 1, Entries: []DataEntry{
		{Key: "a.weight", Layout: layout, Data: data},
		{Key: "b.weight", Layout: layout, Data: append(ir.Bytes(nil), data...)},
		{Key: "blob", Data: ir.Bytes{1, 2, 3}},
		{Key: "none", Data: ir.Bytes(nil)},
	}}
}

func TestDataFile(t *testing.T) {
	f := smallData()
	var out bytes.Buffer
	if err := WriteData(&out, f); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, readDataBytes(t, out.Bytes()), sameBlobs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := bytes.Count(out.Bytes(), f.Entries[0].Data.(ir.Bytes)); n != 1 {
		t.Errorf("equal data is written %d times", n)
	}
	// Without the header there is nothing to read data from.
	flat := append([]byte{out.Bytes()[0] - 48}, out.Bytes()[1:8]...)
	flat = append(flat, out.Bytes()[56:]...)
	_, err := ReadData(bytes.NewReader(flat), int64(len(flat)))
	if err == nil || !strings.Contains(err.Error(), "whose header has no segments") {
		t.Errorf("without header: %v", err)
	}
	f.Entries[0].Layout.Sizes[0] = 3
	out.Reset()
	if err := WriteData(&out, f); err != nil {
		t.Fatal(err)
	}
	_, err = ReadData(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err == nil || !strings.Contains(err.Error(),
		`named_data[0] "a.weight": 8 bytes for a tensor of float32 [3]`) {
		t.Errorf("with too few bytes: %v", err)
	}
}

// A .ptd without blobs needs no header.
func TestDataFileWithoutHeader(t *testing.T) {
	f := &DataFile{Entries: []DataEntry{{Key: "none", Data: ir.Bytes(nil)}}}
	var out bytes.Buffer
	if err := WriteData(&out, f); err != nil {
		t.Fatal(err)
	}
	flat := append([]byte{out.Bytes()[0] - 48}, out.Bytes()[1:8]...)
	flat = append(flat, out.Bytes()[56:]...)
	if diff := cmp.Diff(f, readDataBytes(t, flat), sameBlobs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBundleShared(t *testing.T) {
	for _, path := range shared(t, "*/*.bpte") {
		b, c, err := OpenBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if len(b.Suites) == 0 || len(b.Suites[0].Cases) == 0 {
			t.Fatalf("%s: no test cases", path)
		}
		for _, s := range b.Suites {
			for i, c := range s.Cases {
				plan := b.Program.Plans[0]
				if s.Method != plan.Name || len(c.Inputs) != len(plan.Inputs) ||
					len(c.Outputs) != len(plan.Outputs) {
					t.Errorf("%s: method %s, case %d: %d inputs, %d outputs", path, s.Method, i,
						len(c.Inputs), len(c.Outputs))
				}
			}
		}
		in := b.Suites[0].Cases[0].Inputs[0].(*TestTensor)
		t.Logf("%v %v, %d cases", in.ScalarType, in.Sizes, len(b.Suites[0].Cases))
	}
}
