package compile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
)

// What ExecuTorch's own exporter writes for a model is never smaller: in bytes
// of the file, in planned memory, or in instructions; and inputs and outputs
// nest as there.
func TestPTEAgainstExecutorch(t *testing.T) {
	const shared = "../../../shared"
	files, err := filepath.Glob(shared + "/pte/*/model.pte")
	registered, missing := os.ReadFile(shared + "/reference/executorch_registered_ops.txt")
	if err != nil || missing != nil || len(files) == 0 {
		t.Skip("../shared is not here")
	}
	operators := strings.Fields(string(registered))
	compared := 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		model := filepath.Join(shared, "models", name, "model.pt2")
		if _, err := os.Stat(model); err != nil {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			theirs := measure(t, file)
			ours := measure(t, compiled(t, model))
			t.Logf("%-32s file %8d of %8d  planned %7d of %7d  instructions %4d of %4d", name,
				ours.file, theirs.file, ours.planned, theirs.planned, ours.instructions, theirs.instructions)
			if ours.nesting != theirs.nesting {
				t.Errorf("inputs and outputs nest as %+v, ExecuTorch's as %+v", ours.nesting, theirs.nesting)
			}
			for _, op := range theirs.operators {
				if !slices.Contains(operators, op) {
					t.Skipf("ExecuTorch's program calls %s, which its runtime has no kernel for", op)
				}
			}
			if ours.file > theirs.file || ours.instructions > theirs.instructions {
				t.Errorf("ours is larger")
			}
			// Some programs were exported for smaller bounds than their model's.
			if slices.Equal(ours.inputs, theirs.inputs) && ours.planned > theirs.planned {
				t.Errorf("ours needs more memory")
			}
		})
	}
	if compared < 40 {
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
	if err := pkg.Write(dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "model.pte")
}

// measures are what is compared of a program.
type measures struct {
	file, planned, instructions int64
	operators                   []string
	inputs                      []int32 // sizes of all inputs
	nesting                     pte.ContainerMeta
}

func measure(t *testing.T, path string) measures {
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
	m := measures{file: info.Size(), nesting: *p.Plans[0].Container}
	for _, ep := range p.Plans {
		for _, n := range ep.BufferSizes {
			m.planned += n
		}
		for _, c := range ep.Chains {
			m.instructions += int64(len(c.Instructions))
		}
		for _, op := range ep.Operators {
			m.operators = append(m.operators, op.String())
		}
		for _, i := range ep.Inputs {
			if x, ok := ep.Values[i].(*pte.Tensor); ok {
				m.inputs = append(m.inputs, x.Sizes...)
			}
		}
	}
	return m
}
