package custom

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pte"
)

// app is a module in a clean folder, which sees this repository and the kernels' module.
type app struct {
	dir string
	env []string
}

// newApp writes the module, with kernels in another one.
func newApp(t *testing.T, kernels string) *app {
	t.Helper()
	a := &app{dir: t.TempDir()}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if kernels, err = filepath.Abs(kernels); err != nil {
		t.Fatal(err)
	}
	a.write(t, "go.mod", "module run\n\ngo 1.26.0\n")
	a.write(t, "go.work", "go 1.26.0\n\nuse (\n\t.\n\t"+repo+"\n\t"+kernels+"\n)\n")
	a.env = append(os.Environ(), "GOWORK="+filepath.Join(a.dir, "go.work"), "GOFLAGS=-trimpath")
	return a
}

// write writes a file of the module.
func (a *app) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the module, and returns what it prints.
func (a *app) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = a.dir, a.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %.200q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// program writes a case's model as an ExecuTorch program to a.
func (a *app) program(t *testing.T, k *custom.Kernels, name string) registry.Program {
	t.Helper()
	p, closer, err := compile.Read(filepath.Join("cases", name, "model.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Lang: "pte", Name: name, Custom: k})
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(t.Context(), a.dir); err != nil {
		t.Fatal(err)
	}
	file, closer2, err := pte.Open(filepath.Join(a.dir, name+".pte"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer2.Close() })
	return registry.Program{Name: name + ".pte", Program: file}
}

// Kernels for package rt of the functions in the folder fir run the programs of all cases, added to
// the portable registry, in a registry of the programs, and under rt/optimize.
func TestRegistry(t *testing.T) {
	tier.Needs(t, tier.Normal)
	k, err := custom.Load(t.Context(), "fir")
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(t, "fir")
	var programs []registry.Program
	var args []string
	cases, err := testcase.Find("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range cases {
		name := filepath.Base(dir)
		programs = append(programs, a.program(t, k, name))
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		args = append(args, name+".pte", dir)
	}
	kernels := filepath.Join(a.dir, "kernels")
	pkg, err := registry.Generate(programs, registry.Options{Package: "kernels", Dir: kernels,
		Kernels: k})
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(t.Context(), kernels); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/run.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, "main.go", string(source))
	a.run(t, "go", "build", "-o", "run.exe", ".")
	if out := a.run(t, "go", "vet", "./kernels"); out != "" {
		t.Error(out)
	}
	// Three times each, but for sizes, which rt/optimize does not run.
	want := fmt.Sprintf("%d passed\n", 3*len(cases)-1)
	if out := a.run(t, filepath.Join(a.dir, "run.exe"), args...); len(cases) == 0 || out != want {
		t.Errorf("%swant %s", out, want)
	}
}
