package golang_test

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/plan"
)

// TestModels holds what is generated of real models to what it promises:
// it is formatted, passes go vet and staticcheck, and allocates nothing. What it computes is
// for the golden cases to say.
func TestModels(t *testing.T) {
	const shared = "../../../shared/models"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the models are not beside the repository: ", err)
	}
	tier.Needs(t, tier.Normal)
	dir := t.TempDir()
	if keep := os.Getenv("ETGEN_KEEP"); keep != "" { // to look at it
		dir = keep
	}
	write(t, filepath.Join(dir, "go.mod"), "module test\n\ngo 1.24\n")
	for _, name := range []string{
		"lenet", "lstm", "cond", "while_loop", "dynamic_batch", "counter_buffer",
		"static_kv_prefill", "kws_trained", "nanogpt_sdpa", "embedding", "multi_io",
		"transformer_encoder", "gru", "dict_io",
	} {
		for _, disjoint := range []bool{false, true} {
			pkg, err := generate(filepath.Join(shared, name, "model.pt2"), name, disjoint)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			sub := filepath.Join(dir, pkg.Name)
			if disjoint {
				sub += "_disjoint"
			}
			if err := pkg.Write(t.Context(), sub); err != nil {
				t.Fatal(err)
			}
			for _, f := range pkg.Files {
				if out, err := format.Source(f.Data); strings.HasSuffix(f.Name, ".go") &&
					(err != nil || string(out) != string(f.Data)) {
					t.Errorf("%s: %s is not formatted (%v)", name, f.Name, err)
				}
			}
			if test := allocTest(t, pkg); test != "" {
				write(t, filepath.Join(sub, "alloc_test.go"), test)
			}
		}
	}
	run(t, dir, "go", "vet", "./...")
	run(t, dir, "go", "test", "./...")
	if home, err := os.UserHomeDir(); err == nil {
		path := filepath.Join(home, "go", "bin", "staticcheck")
		if _, err := os.Stat(path); err == nil {
			run(t, dir, path, "./...")
		}
	}
}

func generate(path, name string, disjoint bool) (*codegen.Package, error) {
	opt := compile.Options{Name: name, Lang: "go"}
	if disjoint {
		opt.Planner, opt.Poison = plan.Disjoint{}, true
	}
	p, closer, err := compile.Read(path)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return compile.Package(p, opt)
}

// allocTest returns a test that calls the methods of pkg whose arguments are
// of fixed size and counts allocations.
func allocTest(t *testing.T, pkg *codegen.Package) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", pkg.File(pkg.Name+".go"),
		parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var calls strings.Builder
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name == "Reset" {
			continue
		}
		var args []string
		fixed := true
		for _, p := range fn.Type.Params.List {
			ptr, ok := p.Type.(*ast.StarExpr)
			if !ok {
				fixed = false
				break
			}
			a, ok := ptr.X.(*ast.ArrayType)
			if !ok {
				fixed = false
				break
			}
			for _, n := range p.Names {
				fmt.Fprintf(&calls, "var %s [%s]%s\n", n.Name, a.Len.(*ast.BasicLit).Value,
					a.Elt.(*ast.Ident).Name)
				args = append(args, "&"+n.Name)
			}
		}
		if !fixed {
			return ""
		}
		fmt.Fprintf(&calls,
			"if n := testing.AllocsPerRun(5, func() { model.%s(%s) }); n != 0 {\nt.Errorf(\"%%v "+
				"allocations\", n)\n}\n",
			fn.Name.Name, strings.Join(args, ", "))
	}
	return "package " + pkg.Name +
		"\n\nimport \"testing\"\n\nfunc TestAllocations(t *testing.T) {\nmodel := New()\n" +
		calls.String() + "}\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		text := string(out)
		if len(text) > 4000 {
			text = text[:4000]
		}
		t.Errorf("%s: %v\n%s", filepath.Base(name), err, text)
	}
}

// Numbers are called in a method's documentation as its parameters are.
func TestDocOfNumbers(t *testing.T) {
	pkg, err := generate("../../golden/cases/symbolic_int/model.pt2", "numbers", false)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(pkg.File("numbers.go")); !strings.Contains(text, "//   - n: int") {
		t.Errorf("the number n has no line:\n%s", text)
	}
}
