package pte

import (
	"bytes"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/pte/fb/program"
)

// repeated returns a file whose method has the same value n times: what write
// writes, in a table of kind.
func repeated(n int, kind program.KernelTypes, write func(e *encoder) offset) []byte {
	e := newEncoder()
	val := write(e)
	program.EValueStart(e.Builder)
	program.EValueAddVal(e.Builder, val)
	program.EValueAddValType(e.Builder, kind)
	value := program.EValueEnd(e.Builder)
	values := make([]offset, n)
	for i := range values {
		values[i] = value
	}
	return planFile(e, 1, e.refs(values))
}

// planFile finishes a file with a method that is listed n times.
func planFile(e *encoder, n int, values offset) []byte {
	program.ExecutionPlanStart(e.Builder)
	program.ExecutionPlanAddValues(e.Builder, values)
	plan := program.ExecutionPlanEnd(e.Builder)
	plans := make([]offset, n)
	for i := range plans {
		plans[i] = plan
	}
	list := e.refs(plans)
	program.ProgramStart(e.Builder)
	program.ProgramAddExecutionPlan(e.Builder, list)
	e.FinishWithFileIdentifier(program.ProgramEnd(e.Builder), []byte("ET12"))
	return e.FinishedBytes()
}

// Files that say much in few bytes, by sharing: each is read within its bounds or
// refused.
func TestReadBounded(t *testing.T) {
	const n = 50_000
	long := make([]int64, 10_000)
	for name, c := range map[string]struct {
		file    []byte
		refused bool
	}{
		"nulls": {repeated(n, program.KernelTypesNull, func(e *encoder) offset {
			program.NullStart(e.Builder)
			return program.NullEnd(e.Builder)
		}), false},
		"strings": {repeated(n, program.KernelTypesString, func(e *encoder) offset {
			text := e.text(strings.Repeat("x", 10_000))
			program.StringStart(e.Builder)
			program.StringAddStringVal(e.Builder, text)
			return program.StringEnd(e.Builder)
		}), false},
		"tensors": {repeated(n, program.KernelTypesTensor, func(e *encoder) offset {
			sizes, order := e.int32s(make([]int32, 16)), e.bytes(make([]byte, 16))
			program.AllocationDetailsStart(e.Builder)
			allocation := program.AllocationDetailsEnd(e.Builder)
			program.TensorStart(e.Builder)
			program.TensorAddSizes(e.Builder, sizes)
			program.TensorAddDimOrder(e.Builder, order)
			program.TensorAddAllocationInfo(e.Builder, allocation)
			return program.TensorEnd(e.Builder)
		}), false},
		"tensors without anything": {repeated(n, program.KernelTypesTensor,
			func(e *encoder) offset {
				program.TensorStart(e.Builder)
				return program.TensorEnd(e.Builder)
			}), false},
		"long lists": {repeated(n, program.KernelTypesIntList, func(e *encoder) offset {
			items := e.int64s(long)
			program.IntListStart(e.Builder)
			program.IntListAddItems(e.Builder, items)
			return program.IntListEnd(e.Builder)
		}), true},
		"methods": {planFile(newEncoder(), n, 0), false},
		"methods of many values": {func() []byte {
			e := newEncoder()
			program.EValueStart(e.Builder)
			value := program.EValueEnd(e.Builder)
			values := make([]offset, n)
			for i := range values {
				values[i] = value
			}
			return planFile(e, n, e.refs(values))
		}(), true},
		"offsets": {func() []byte {
			e := newEncoder()
			subsegments := make([]offset, n)
			at := e.subsegment(subsegment{offsets: long})
			for i := range subsegments {
				subsegments[i] = at
			}
			list := e.refs(subsegments)
			program.DataSegmentStart(e.Builder)
			segment := program.DataSegmentEnd(e.Builder)
			segments := e.refs([]offset{segment})
			program.ProgramStart(e.Builder)
			program.ProgramAddSegments(e.Builder, segments)
			program.ProgramAddMutableDataSegments(e.Builder, list)
			e.FinishWithFileIdentifier(program.ProgramEnd(e.Builder), []byte("ET12"))
			return e.FinishedBytes()
		}(), true},
	} {
		var err error
		made := allocated(func() { _, err = Read(bytes.NewReader(c.file), int64(len(c.file))) })
		t.Logf("%s: %d times %d bytes, %v", name, made/uint64(len(c.file)), len(c.file), err)
		if made > 1<<16+ReadExpansion*uint64(len(c.file)) {
			t.Errorf("%s: %d bytes make %d", name, len(c.file), made)
		}
		if refused := err != nil; refused != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What exporters write is far from the bounds.
func TestReadExpansionShared(t *testing.T) {
	worst := uint64(0)
	for _, path := range shared(t, "*/model.pte") {
		p := openProgram(t, path)
		data := writeBytes(t, &Program{Plans: p.Plans}) // the flatbuffer alone
		if made := allocated(func() { readBytes(t, data) }) / uint64(len(data)); made > worst {
			worst = made
		}
	}
	if worst > 32 {
		t.Errorf("reading makes %d times the file's bytes", worst)
	}
	t.Logf("reading makes at most %d times the bytes", worst)
}

// The size of a file and what its header says of it are checked before anything
// is allocated.
func TestReadHeader(t *testing.T) {
	good := writeBytes(t, sample())
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		want   string
	}{
		"empty": {func(b []byte) []byte { return nil }, "pte: a file of 0 bytes"},
		"identifier": {func(b []byte) []byte { b[4] = 'X'; return b },
			`pte: identifier "XT12", want "ET12"`},
		"header length": {func(b []byte) []byte { b[12] = 23; return b },
			"pte: extended header of 23 bytes, want at least 24"},
		"flatbuffer":     {func(b []byte) []byte { b[22] = 1; return b }, ""},
		"segments":       {func(b []byte) []byte { b[30] = 1; return b }, ""},
		"cut":            {func(b []byte) []byte { return b[:len(b)-1] }, ""},
		"cut flatbuffer": {func(b []byte) []byte { return b[:60] }, ""},
		"no header":      {func(b []byte) []byte { b[8] = 0; return b }, ""},
		"root": {func(b []byte) []byte { b[0] = 4; return b },
			"pte: the root table is at 4, inside the header"},
	} {
		b := c.change(bytes.Clone(good))
		_, err := Read(bytes.NewReader(b), int64(len(b)))
		if err == nil || c.want != "" && err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	// The header of files before version 1 does not have the size of the data.
	old := bytes.Clone(good)
	old[12] = 24
	if _, err := Read(bytes.NewReader(old), int64(len(old))); err != nil {
		t.Errorf("old header: %v", err)
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	if _, _, err := Open("read_test.go"); err == nil ||
		!strings.HasPrefix(err.Error(), "read_test.go: pte: ") {
		t.Errorf("%v", err)
	}
}
