// Package registry holds a registry that etgen registry wrote, compiled and run
// as an app has it.
package registry

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/registry/kernels"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

var update = flag.Bool("update", false, "write the registry anew")

// models are the cases whose programs the registry is of: one of fixed sizes with
// weights to pack, one of dynamic sizes.
var models = []string{"lenet", "dynamic_batch"}

const cases = "../cases"

// program returns a case's model as a .pte file.
func program(t *testing.T, name string) []byte {
	t.Helper()
	p, closer, err := compile.Read(filepath.Join(cases, name, "model.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Name: name, Lang: "pte"})
	if err != nil {
		t.Fatal(err)
	}
	return pkg.File(name + ".pte")
}

func generate(t *testing.T) *codegen.Package {
	t.Helper()
	var programs []registry.Program
	for _, name := range models {
		file := program(t, name)
		p, err := pte.Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, registry.Program{Name: name + ".pte", Program: p})
	}
	pkg, err := registry.Generate(programs, registry.Options{
		Package: "kernels", Generator: "etgen registry " + strings.Join(models, ".pte ") + ".pte"})
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// What is checked in is what etgen generates, every time.
func TestFresh(t *testing.T) {
	pkg := generate(t)
	if diff := cmp.Diff(pkg, generate(t)); diff != "" {
		t.Errorf("generated twice:\n%s", diff)
	}
	if *update {
		if err := pkg.Write(t.Context(), "kernels"); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := pkg.Check(t.Context(), "kernels"); err != nil || left != nil {
		t.Errorf("kernels is not what would be written: %v, %v; go test ./golden/registry -update",
			left, err)
	}
	for _, f := range pkg.Files {
		path := filepath.Join("kernels", f.Name)
		have, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(have), string(f.Data)); diff != "" {
			t.Errorf("%s is out of date; go test ./golden/registry -update (-have +generated):\n%s",
				path, diff)
		}
	}
}

// The programs give with it what PyTorch gave.
func TestRuns(t *testing.T) {
	for _, name := range models {
		c, err := testcase.Read(filepath.Join(cases, name))
		if err != nil {
			t.Fatal(err)
		}
		model, closer, err := compile.Read(filepath.Join(cases, name, "model.pt2"))
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		if err := compile.Lower(model, compile.Options{Lang: "pte"}); err != nil {
			t.Fatal(err)
		}
		tolerance := compare.Tolerance{Terms: way.Terms(ops.Standard(), model)[0], Slack: c.Slack,
			Class: c.ByClass}
		p, err := rt.Load(rt.Bytes(program(t, name)), nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: kernels.Registry()})
		if err != nil {
			t.Fatal(err)
		}
		for i, call := range c.Calls {
			for k, v := range call.Inputs {
				x, err := way.InputOf(v, &m.Meta().Inputs[k])
				if err == nil {
					err = m.SetInput(k, x)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Execute(t.Context()); err != nil {
				t.Fatalf("%s: call %d: %v", name, i, err)
			}
			for k, want := range call.Outputs {
				got, err := way.OutputOf(m.Output(k))
				if err != nil {
					t.Fatal(err)
				}
				if miss := compare.Values(got, want, tolerance); miss != nil {
					t.Errorf("%s: call %d: output %d: %v", name, i, k, miss)
				}
			}
		}
	}
}

// A program that the registry is not of does not load: an operator is missing,
// or its arguments are others.
func TestOther(t *testing.T) {
	for name, want := range map[string]string{
		"softmax_middle": "aten::_softmax.out",
		"linear":         "the registry has no kernel for the arguments (",
	} {
		p, err := rt.Load(rt.Bytes(program(t, name)), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.LoadMethod("forward", &rt.MethodOptions{Registry: kernels.Registry()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", name, err, want)
		}
	}
}

// Vet and gofmt have nothing to say about it, and an app with it links neither
// the operator table nor what runs its definitions.
func TestSource(t *testing.T) {
	for _, args := range [][]string{{"go", "vet", "./kernels"}, {"gofmt", "-l", "kernels"}} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil || len(strings.TrimSpace(string(out))) > 0 {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./kernels").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		inside, ok := strings.CutPrefix(p, "github.com/etgen/etgen/")
		if !ok {
			continue
		}
		switch room, _, _ := strings.Cut(inside, "/"); {
		case room == "ir" || room == "golden" || inside == "kernels/tuned/gokernels/panels":
		case inside == "rt" || inside == "rt/compiled":
		default:
			t.Errorf("it imports %s", p)
		}
	}
}
