package packages

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
var models = []model{
	{"lenet", "../cases/lenet/model.pt2", "", languages},
	{"counter_buffer", "counter_buffer/model.pt2", "", languages},
	{"dynamic_batch", "../cases/dynamic_batch/model.pt2", "", languages},
	{"cond", "../cases/cond/model.pt2", "", languages},
	{"lstm", "../cases/lstm/model.pt2", "", languages},
	{"kws_trained", "../cases/kws_trained/model.pt2", "cortex-m4", languages[:1]},
	{"demo_mapping", "demo_mapping/model.pte", "", languages},
}

// model is a package, the model it is of, the machine it is for and the languages it is in.
type model struct {
	name, file, target string
	languages          []string
}

var languages = []string{"c", "go"}

func (m model) generate(t *testing.T, lang string) *codegen.Package {
	t.Helper()
	p, closer, err := compile.Read(m.file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Name: m.name, Lang: lang, Target: m.target})
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// What is checked in is what etgen generates.
func TestFresh(t *testing.T) {
	for _, m := range models {
		for _, lang := range m.languages {
			dir := filepath.Join(m.name, lang)
			pkg := m.generate(t, lang)
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
			t.Errorf("%s is no longer generated; go test ./golden/packages -update",
				filepath.Join(dir, e.Name()))
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
			t.Errorf("%s is out of date; go test ./golden/packages -update (-have +generated):\n%s", path,
				cmp.Diff(string(have), string(f.Data)))
		default:
			t.Errorf("%s is out of date; go test ./golden/packages -update", path)
		}
	}
	if left, err := pkg.Check(t.Context(), dir); err != nil || left != nil {
		t.Errorf("%s is not what would be written: %v, %v; go test ./golden/packages -update", dir, left,
			err)
	}
}

// Generating twice gives the same bytes.
func TestDeterministic(t *testing.T) {
	for _, m := range models {
		for _, lang := range m.languages {
			if diff := cmp.Diff(m.generate(t, lang), m.generate(t, lang)); diff != "" {
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

// readable are models whose C is read besides that of the packages; those of the whole
// collection need not be there.
var readable = []string{"../cases/static_cache_llama/model.pt2",
	"../cases/conv_transpose/model.pt2", "../../../shared/models/nanogpt_sdpa/model.pt2",
	"../../../shared/models/q_lenet_static/model.pt2"}

// oneStep is a loop that is none.
var oneStep = regexp.MustCompile(`for \((?:\w+ )?(\w+) = 0; (\w+) < 1;`)

// machines are clang's flags for the machines that C for a target is read for.
var machines = map[string][][]string{
	"generic": {nil, {"-mavx2", "-mfma"}, {"-mavx512f"}, {"-target", "aarch64-none-elf"},
		{"-target", "thumbv7em-none-eabihf"}},
	"cortex-m4": {{"-target", "thumbv7em-none-eabihf"}, {"-target", "thumbv7em-none-eabi"}},
}

// The C defines no macro that it does not use, whatever it is compiled for, and has no loop
// of one step.
func TestReadableC(t *testing.T) {
	clang := toolchain.Clang().With("-Wunused-macros")
	if _, err := toolchain.Find(clang.Compiler); err != nil {
		t.Skip(err)
	}
	files := slices.Clone(readable)
	for _, m := range models {
		files = append(files, m.file)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			t.Logf("%s is not here", file)
			continue
		}
		for target, machines := range machines {
			p, closer, err := compile.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := compile.Package(p, compile.Options{Name: name, Lang: "c", Target: target})
			closer.Close()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := pkg.Write(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			if loop := oneStep.Find(pkg.File(name + ".c")); loop != nil {
				t.Errorf("%s for %s has a loop %s", name, target, loop)
			}
			for _, flags := range machines {
				_, err := clang.With(flags...).With("-fsyntax-only", "-Wno-unused-command-line-argument").
					Compile(t.Context(), t.TempDir(), filepath.Join(dir, name+".c"))
				if err != nil {
					t.Errorf("%s for %s with %v: %v", name, target, flags, err)
				}
			}
		}
	}
}

// Packages can be one translation unit: no name of one is one of another. What a function keeps for
// itself, NAME.NUMBER, is nobody's name, and a backend has its own.
func TestOneUnit(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for _, m := range models {
		folder, err := filepath.Abs(filepath.Join(m.name, "c"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "#include \"%s\"\n", filepath.Join(folder, m.name+".c"))
	}
	source := filepath.Join(dir, "all.c")
	if err := os.WriteFile(source, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []toolchain.Target{toolchain.GCC(), toolchain.Clang(), toolchain.GXX(),
		toolchain.ClangXX(), toolchain.CortexM4()} {
		objects, err := target.Compile(t.Context(), t.TempDir(), source)
		if err != nil {
			t.Error(err)
			continue
		}
		image, err := toolchain.ReadELF(objects[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range image.Symbols {
			if strings.Contains(s.Name, ".") || strings.HasPrefix(s.Name, "BackendWith") {
				continue
			}
			if !slices.ContainsFunc(models, func(m model) bool {
				return strings.Contains(s.Name, m.name+"_")
			}) {
				t.Errorf("%s: the symbol %s has no package's prefix", target.Name, s.Name)
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
		cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"vet"}, c.args...),
			"./lenet/go")...)
		cmd.Env = append(os.Environ(), c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v %v: %v\n%s", c.env, c.args, err, out)
		}
	}
}
