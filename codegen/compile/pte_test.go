package compile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
)

// Inputs and outputs nest as in what ExecuTorch's own exporter writes. Figures are
// compared in golden/executorch.
func TestPTENesting(t *testing.T) {
	const shared = "../../../shared"
	files, err := filepath.Glob(shared + "/pte/*/model.pte")
	if err != nil || len(files) == 0 {
		t.Skip("../shared is not here")
	}
	compared := 0
	for _, file := range tier.Some(files, 24, -1) {
		name := filepath.Base(filepath.Dir(file))
		model := filepath.Join(shared, "models", name, "model.pt2")
		if _, err := os.Stat(model); err != nil {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			if ours, theirs := nesting(t, compiled(t, model)), nesting(t, file); ours != theirs {
				t.Errorf("inputs and outputs nest as %+v, ExecuTorch's as %+v", ours, theirs)
			}
		})
	}
	if compared < tier.Of(10, 40, 40) {
		t.Errorf("only %d models are in both folders", compared)
	}
}

// compiled compiles a model and returns the path of its .pte.
func compiled(t *testing.T, model string) string {
	t.Helper()
	p, closer, err := pt2.Read(model)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := Package(p, Options{Lang: "pte", Name: "model"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "model.pte")
}

// nesting returns how inputs and outputs of the first method of a file nest.
func nesting(t *testing.T, path string) pte.ContainerMeta {
	t.Helper()
	p, closer, err := pte.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	return *p.Plans[0].Container
}

// Every instruction that calls a kernel stands for a node that the ETRecord has.
func TestETRecord(t *testing.T) {
	p, closer, err := pt2.Read("../../ir/pt2/testdata/linear.pt2")
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := Package(p, Options{Lang: "pte", Name: "net", ETRecord: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	rec, err := pt2.ReadRecord(filepath.Join(dir, "net.etrecord"))
	if err != nil {
		t.Fatal(err)
	}
	program, closer, err := pte.Open(filepath.Join(dir, "net.pte"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	for k, in := range program.Plans[0].Chains[0].Instructions {
		nodes := rec["forward"].Origins(k, "")
		if _, kernel := in.(pte.KernelCall); kernel && len(nodes) != 1 {
			t.Errorf("instruction %d stands for %v", k, nodes)
		}
	}
}
