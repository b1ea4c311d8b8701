package raise_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

const shared = "../../../shared/pte"

// Every program that exporters wrote can be raised.
func TestSharedPrograms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared, "*", "model.pte"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the shared cases are not here")
	}
	raised := 0
	for _, file := range files {
		p, closer, err := pte.Open(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var data []*pte.DataFile
		ptds, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.ptd"))
		for _, ptd := range ptds {
			d, closer, err := pte.OpenData(ptd)
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			data = append(data, d)
		}
		out, err := raise.Program(p, filepath.Base(filepath.Dir(file)), ops.Standard(), data...)
		if err != nil {
			t.Errorf("%v", err)
		} else {
			raised++
			if os.Getenv("RAISE_DUMP") == filepath.Base(filepath.Dir(file)) {
				t.Log("\n" + out.String())
			}
		}
		closer.Close()
	}
	t.Logf("%d of %d programs are raised", raised, len(files))
}
