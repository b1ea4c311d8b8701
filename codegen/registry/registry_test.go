package registry_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pte"
)

const (
	shared = "../../../shared/pte"
	own    = "../../golden/cases"
)

// job is a program and its case.
type job struct{ program, dir string }

// The programs that ExecuTorch's exporter wrote, all with one registry.
func TestShared(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dirs, err := testcase.Find(shared)
	if errors.Is(err, fs.ErrNotExist) || len(dirs) == 0 {
		t.Skip("the cases are not beside the repository")
	}
	var jobs []job
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job{filepath.Join(dir, c.Models[0]), dir})
	}
	execute(t, jobs)
}

// Programs that etgen wrote of the repository's own cases.
func TestOwn(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dirs, err := testcase.Find(own)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	var jobs []job
	for _, dir := range dirs {
		switch filepath.Base(dir) {
		case "late_sizes_summed": // a registry knows no sum of sizes in a list that data decides
			continue
		case "counted_in_steps", "fourier_dynamic": // nor sizes in steps, and of dynamic padding
			continue
		case "late_sizes_chosen": // and no size of 0 that a condition chooses
			continue
		}
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		p, closer, err := conform.Job(c, c.Models[0]).Open()
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(filepath.Base(dir), ".", "_")
		pkg, err := compile.Package(p, compile.Options{Name: name, Lang: "pte"})
		if conform.Refused(name) != "" {
			if err == nil {
				t.Errorf("%s can be written by now", name)
			}
			closer.Close()
			continue
		}
		if err == nil {
			err = pkg.Write(t.Context(), temp)
		}
		if err != nil {
			t.Fatal(err)
		}
		closer.Close()
		jobs = append(jobs, job{filepath.Join(temp, name+".pte"), dir})
	}
	execute(t, jobs)
}

// execute generates one registry for the programs, builds what runs them with
// it, and runs it.
func execute(t *testing.T, jobs []job) {
	t.Helper()
	var programs []registry.Program
	var args []string
	for _, j := range jobs {
		name := filepath.Base(filepath.Dir(j.program)) + "/" + filepath.Base(j.program)
		programs = append(programs, open(t, j.program, name))
		dir, err := filepath.Abs(j.dir)
		if err != nil {
			t.Fatal(err)
		}
		program, err := filepath.Abs(j.program)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, program, dir)
	}
	pkg, err := registry.Generate(programs, registry.Options{Package: "kernels"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), filepath.Join(dir, "kernels")); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/run.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go": string(source),
		"go.mod":  "module run\n\ngo 1.26.0\n",
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t" + repo + "\n)\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=-trimpath")
	command := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %.200q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	command("go", "build", "-o", "run.exe", ".")
	if out := command("go", "vet", "./kernels"); out != "" {
		t.Error(out)
	}
	if out := command(filepath.Join(dir, "run.exe"), args...); out != fmt.Sprintf("%d passed\n",
		len(jobs)) {
		t.Errorf("of %d programs: %s", len(jobs), out)
	}
}

func open(t *testing.T, path, name string) registry.Program {
	t.Helper()
	if filepath.Ext(path) == ".bpte" {
		b, closer, err := pte.OpenBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closer.Close() })
		return registry.Program{Name: name, Program: b.Program}
	}
	p, closer, err := pte.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	return registry.Program{Name: name, Program: p}
}
