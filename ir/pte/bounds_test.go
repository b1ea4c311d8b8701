package pte

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// repeated returns a file whose method has the same value n times: a table of kind with the
// fields that write writes.
func repeated(n int, kind string, write func(e *encoder) []uint64) []byte {
	e := newEncoder()
	value := e.Table("EValue", uint64(e.Table(kind, write(e)...)), e.Tables["EValue"].Selector(kind))
	return planFile(e, 1, e.refs(slices.Repeat([]offset{value}, n)))
}

// planFile finishes a file with a method that is listed n times.
func planFile(e *encoder, n int, values offset) []byte {
	plan := e.Table("ExecutionPlan", 0, 0, uint64(values))
	return programFile(e, 0, uint64(e.refs(slices.Repeat([]offset{plan}, n))))
}

// programFile finishes a file of a program with these fields.
func programFile(e *encoder, fields ...uint64) []byte {
	e.FinishWithFileIdentifier(e.Table("Program", fields...), []byte("ET12"))
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
		"nulls": {repeated(n, "Null", func(e *encoder) []uint64 { return nil }), false},
		"strings": {repeated(n, "String", func(e *encoder) []uint64 {
			return []uint64{uint64(e.text(strings.Repeat("x", 10_000)))}
		}), false},
		"tensors": {repeated(n, "Tensor", func(e *encoder) []uint64 {
			return []uint64{uint64(e.int32s(make([]int32, 16))), uint64(e.bytes(make([]byte, 16))),
				uint64(e.Table("AllocationDetails"))}
		}), false},
		"tensors without anything": {repeated(n, "Tensor", func(e *encoder) []uint64 {
			return nil
		}), false},
		"long lists": {repeated(n, "IntList", func(e *encoder) []uint64 {
			return []uint64{uint64(e.int64s(long))}
		}), true},
		"methods": {planFile(newEncoder(), n, 0), false},
		"methods of many values": {func() []byte {
			e := newEncoder()
			return planFile(e, n, e.refs(slices.Repeat([]offset{e.Table("EValue")}, n)))
		}(), true},
		"offsets": {func() []byte {
			e := newEncoder()
			at := e.subsegment(subsegment{offsets: long})
			list := e.refs(slices.Repeat([]offset{at}, n))
			segments := e.refs([]offset{e.Table("DataSegment")})
			return programFile(e, 0, 0, 0, uint64(segments), 0, uint64(list))
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
