package pte

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/etgen/etgen/ir"
)

// seedPrograms are small files of every kind.
func seedPrograms(t testing.TB) [][]byte {
	minimal := &Program{Plans: []*ExecutionPlan{{Name: "f", Chains: []*Chain{{}}}}}
	one := &Program{
		Plans: []*ExecutionPlan{{
			Name:    "f",
			Values:  []EValue{f32([]int32{2}, 0), f32([]int32{2}, 16), Bool(false)},
			Inputs:  []int32{0},
			Outputs: []int32{1},
			Chains: []*Chain{{Instructions: []Instruction{KernelCall{0, []int32{0, 1, 1}},
				JumpFalseCall{2, 0}}}},
			Operators:   []Operator{{"aten::relu", "out"}},
			BufferSizes: []int64{0, 32},
		}},
		Constants: []ir.Blob{nil, ir.Bytes{1, 2, 3, 4}},
	}
	files := [][]byte{writeBytes(t, minimal), writeBytes(t, one), writeBytes(t, sample())}
	old := bytes.Clone(files[1]) // the header of old files ends before the size of the data
	old[12] = 24
	return append(files, old, nil)
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A file, whatever it is, is read and verified or refused, without taking more
// memory than is said; and what is read can be written and read again.
func FuzzRead(f *testing.F) {
	for _, file := range seedPrograms(f) {
		f.Add(file)
	}
	known := sampleSchemas(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var p *Program
		var err error
		if n := allocated(func() { p, err = Read(bytes.NewReader(data), int64(len(data))) }); n >
			1<<16+ReadExpansion*uint64(len(data)) {
			t.Errorf("%d bytes of file make %d", len(data), n)
		}
		if err != nil {
			return
		}
		_ = Verify(p, known)
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReadData(f *testing.F) {
	for _, d := range []*DataFile{smallData(), {}} {
		var out bytes.Buffer
		if err := WriteData(&out, d); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d *DataFile
		var err error
		if n := allocated(func() {
			d, err = ReadData(bytes.NewReader(data), int64(len(data)))
		}); n > 1<<16+ReadExpansion*uint64(len(data)) {
			t.Errorf("%d bytes of file make %d", len(data), n)
		}
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteData(&out, d); err != nil {
			t.Fatal(err)
		}
		readDataBytes(t, out.Bytes())
	})
}
