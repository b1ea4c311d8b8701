package way

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// An ExecuTorch program runs as its file has it: nothing of it is compiled, even
// if it could be.
func TestRTRunsFiles(t *testing.T) {
	for _, name := range []string{"cond_nested", "mutated_buffer"} {
		j := caseJob(t, name)
		want := all(t, RT{}, j)[0]
		p, closer, err := j.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		out, err := compile.PTE(p, compile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := pte.Write(&file, out.Program); err != nil {
			t.Fatal(err)
		}
		j.File = filepath.Join(t.TempDir(), "model.pte")
		if err := os.WriteFile(j.File, file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		j.Open = func() (*ir.Program, io.Closer, error) {
			return nil, nil, errors.New("it is not to be compiled")
		}
		got := all(t, RT{}, j)[0]
		if got.Err != nil || len(got.Calls) != len(want.Calls) {
			t.Fatalf("%s: %v, %d calls", name, got.Err, len(got.Calls))
		}
		for i, c := range got.Calls {
			sameCall(t, want.Calls[i], c)
		}
	}
}
