package pte

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
)

// sameBlobs compares blobs by content.
var sameBlobs = cmp.Comparer(func(a, b ir.Blob) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return bytes.Equal(blobBytes(a), blobBytes(b))
})

func blobBytes(b ir.Blob) []byte {
	data, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
	if err != nil || int64(len(data)) != b.Size() {
		panic(err)
	}
	return data
}

func writeBytes(t testing.TB, p *Program) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readBytes(t testing.TB, data []byte) *Program {
	t.Helper()
	p, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every program comes back as it was, in a file no larger, and the same again.
func TestRoundTripShared(t *testing.T) {
	for _, path := range shared(t, "*/model.pte") {
		t.Run(caseName(path), func(t *testing.T) {
			p := openProgram(t, path)
			out := writeBytes(t, p)
			if diff := cmp.Diff(p, readBytes(t, out), sameBlobs); diff != "" {
				t.Errorf("-read +written:\n%s", diff)
			}
			if !bytes.Equal(out, writeBytes(t, p)) {
				t.Error("writing twice gives different files")
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes, was %d", len(out), info.Size())
			if int64(len(out)) > info.Size() {
				t.Errorf("%d bytes, was %d", len(out), info.Size())
			}
		})
	}
}

// A constant without bytes after one that does not fill its alignment lies
// inside the segment.
func TestWriteEmptyConstant(t *testing.T) {
	data := writeBytes(t, &Program{Constants: []ir.Blob{nil, ir.Bytes("12345678"), ir.Bytes{}}})
	p := readBytes(t, data)
	if len(p.Constants) != 3 || !bytes.HasPrefix(blobBytes(p.Constants[1]), []byte("12345678")) {
		t.Errorf("got %v", p.Constants)
	}
}
