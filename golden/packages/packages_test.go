package packages

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

var update = flag.Bool("update", false, "write the packages anew")

// models are the packages and the models they are of.
var models = []struct{ name, file string }{
	{"lenet", "../cases/lenet/model.pt2"},
	{"counter_buffer", "counter_buffer/model.pt2"},
	{"dynamic_batch", "../cases/dynamic_batch/model.pt2"},
}

var languages = []string{"c", "go"}

func generate(t *testing.T, name, file, lang string) *codegen.Package {
	t.Helper()
	p, closer, err := compile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Name: name, Lang: lang})
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// What is checked in is what etgen generates.
func TestFresh(t *testing.T) {
	for _, m := range models {
		for _, lang := range languages {
			dir := filepath.Join(m.name, lang)
			pkg := generate(t, m.name, m.file, lang)
			if *update {
				if err := pkg.Write(t.Context(), dir); err != nil {
					t.Fatal(err)
				}
			}
			compareDir(t, dir, pkg)
		}
	}
}

func compareDir(t *testing.T, dir string, pkg *codegen.Package) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		if pkg.File(e.Name()) == nil && e.Name() != codegen.RecordFile {
			t.Errorf("%s is no longer generated; go test ./golden/packages -update", filepath.Join(dir, e.Name()))
		}
	}
	for _, f := range pkg.Files {
		path := filepath.Join(dir, f.Name)
		have, err := os.ReadFile(path)
		switch {
		case err != nil:
			t.Error(err)
		case bytes.Equal(have, f.Data):
		case utf8.Valid(f.Data):
			t.Errorf("%s is out of date; go test ./golden/packages -update (-have +generated):\n%s", path, cmp.Diff(string(have), string(f.Data)))
		default:
			t.Errorf("%s is out of date; go test ./golden/packages -update", path)
		}
	}
	if left, err := pkg.Check(t.Context(), dir); err != nil || left != nil {
		t.Errorf("%s is not what would be written: %v, %v; go test ./golden/packages -update", dir, left, err)
	}
}

// Generating twice gives the same bytes.
func TestDeterministic(t *testing.T) {
	for _, m := range models {
		for _, lang := range languages {
			if diff := cmp.Diff(generate(t, m.name, m.file, lang), generate(t, m.name, m.file, lang)); diff != "" {
				t.Errorf("%s %s:\n%s", m.name, lang, diff)
			}
		}
	}
}

// The C compiles without a warning with every compiler, as C and as C++.
func TestCompileC(t *testing.T) {
	tier.Needs(t, tier.Normal)
	targets := []toolchain.Target{
		toolchain.GCC(), toolchain.Clang(), toolchain.GXX(), toolchain.ClangXX(),
		toolchain.CortexM4(), toolchain.CortexM0(), toolchain.RISCV32(),
	}
	for _, m := range models {
		sources, err := filepath.Glob(filepath.Join(m.name, "c", "*.[cS]"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("%s: no sources: %v", m.name, err)
		}
		for _, target := range targets {
			if _, err := target.Compile(t.Context(), t.TempDir(), sources...); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// The Go is formatted and vet has nothing to say about it.
func TestVetGo(t *testing.T) {
	for _, args := range [][]string{{"go", "vet", "./..."}, {"gofmt", "-l", "."}} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil || len(strings.TrimSpace(string(out))) > 0 {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// The Go is whole on other machines, with assembly of their own or none, and
// where none is wanted.
func TestVetGoElsewhere(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{[]string{"GOARCH=arm64"}, nil},
		{[]string{"GOARCH=riscv64"}, nil},
		{[]string{"GOARCH=386"}, nil},
		{[]string{"GOOS=js", "GOARCH=wasm"}, nil},
		{nil, []string{"-tags=purego"}},
	} {
		cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"vet"}, c.args...), "./lenet/go")...)
		cmd.Env = append(os.Environ(), c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v %v: %v\n%s", c.env, c.args, err, out)
		}
	}
}
