package compile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
)

// What ExecuTorch's own exporter writes for a model is never smaller: in bytes
// of the file, in planned memory, or in instructions.
func TestPTEAgainstExecutorch(t *testing.T) {
	const shared = "../../../shared"
	folders, err := filepath.Glob(shared + "/pte/*/model.pte")
	if err != nil || len(folders) == 0 {
		t.Skip("../shared/pte is not here")
	}
	compared := 0
	for _, theirs := range folders {
		name := filepath.Base(filepath.Dir(theirs))
		model := filepath.Join(shared, "models", name, "model.pt2")
		if _, err := os.Stat(model); err != nil {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			want := measure(t, theirs)
			p, closer, err := pt2.Read(model)
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			pkg, err := Package(p, Options{Lang: "pte", Name: "model"})
			if err != nil {
				t.Fatal(err)
			}
			ours := filepath.Join(t.TempDir(), "model.pte")
			if err := os.WriteFile(ours, pkg.File("model.pte"), 0o666); err != nil {
				t.Fatal(err)
			}
			got := measure(t, ours)
			t.Logf("%-32s file %8d of %8d  planned %7d of %7d  instructions %4d of %4d", name,
				got.file, want.file, got.planned, want.planned, got.instructions, want.instructions)
			if got.file > want.file || got.planned > want.planned || got.instructions > want.instructions {
				t.Errorf("got %+v, ExecuTorch's has %+v", got, want)
			}
		})
	}
	if compared < 40 {
		t.Errorf("only %d models are in both folders", compared)
	}
}

type sizes struct{ file, planned, instructions int64 }

func measure(t *testing.T, path string) sizes {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p, closer, err := pte.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	s := sizes{file: info.Size()}
	for _, ep := range p.Plans {
		for _, n := range ep.BufferSizes {
			s.planned += n
		}
		for _, c := range ep.Chains {
			s.instructions += int64(len(c.Instructions))
		}
	}
	return s
}
