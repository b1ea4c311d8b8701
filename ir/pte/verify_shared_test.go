package pte_test

import (
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// What ExecuTorch's exporter wrote passes.
func TestVerifyShared(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/pte/*/model.pte")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("no files ../shared/pte beside the repository")
	}
	table := ops.Standard()
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			p, c, err := pte.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := pte.Verify(p, table); err != nil {
				t.Error(err)
			}
			var files []*pte.DataFile
			beside, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.ptd"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range beside {
				f, c, err := pte.OpenData(name)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				files = append(files, f)
			}
			if err := pte.VerifyData(p, files...); err != nil {
				t.Error(err)
			}
		})
	}
}
