package structure

import (
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/etgen/etgen"

// mayImport says of a package which packages it, and those in it, may import besides their own.
// The longest prefix of a package's path is its package.
var mayImport = map[string][]string{
	"ir":           {},
	"ir/pt2":       {"ir"},
	"ir/pte":       {"ir"},
	"ir/etdump":    {"ir", "ir/pte"},
	"ir/xnnpack":   {"ir", "ir/pte"}, // flatbuffers are read as those of programs
	"kernels":      {"ir"},
	"plan":         {},
	"templates":    {},
	"lower":        {"ir", "ir/pte", "ir/xnnpack", "kernels"}, // lower/raise reads the forms of files
	"lower/native": {"ir", "kernels", "plan"},                 // native form carries its plan
	"codegen": {"ir", "ir/etdump", "ir/pt2", "ir/pte", "ir/xnnpack", "kernels", "lower",
		"lower/native", "plan", "templates"},
	"rt":        {"ir", "ir/pte"},
	"rt/etdump": {"ir", "ir/etdump", "ir/pte", "rt"},
	// the kernels of the whole table; an app without it links none
	"rt/portable": {"ir", "ir/pte", "rt", "kernels"},
	// of kernels what packs constants; generated registries are made of it
	"rt/compiled": {"ir", "ir/pte", "rt", "kernels"},
	// raises payloads to graphs, whose nodes it runs or compiles
	"rt/payload": {"ir", "ir/pte", "ir/xnnpack", "kernels", "rt", "rt/optimize", "rt/portable",
		"lower"},
	"rt/optimize": {"ir", "ir/pte", "rt", "rt/portable", "lower", "lower/native",
		"kernels", "plan"},
	"golden":            {"*"},
	"golden/schematest": {"ir"}, // for tests alone
	"cmd":               {"*"},
}

// mayImportOutside are the modules that packages other than tests may use.
var mayImportOutside = map[string][]string{
	"codegen": {"github.com/dave/jennifer",
		"golang.org/x/tools/go/packages", // codegen/custom
		"github.com/google/pprof"},       // codegen/profile
	"ir/etdump":  {"github.com/google/flatbuffers"},
	"ir/pte":     {"github.com/google/flatbuffers"},
	"ir/xnnpack": {"github.com/google/flatbuffers"},
	"cmd":        {"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/vbauerster/mpb"},
	"golden":     {"github.com/google/go-cmp", "golang.org/x/tools/txtar"}, // golden/irtest
	"golden/schematest": {"github.com/invopop/jsonschema",
		"github.com/santhosh-tekuri/jsonschema/v6"},
}

// packageOf returns the longest package that path, relative to the module, is in.
func packageOf(path string) string {
	for pkg := path; ; pkg = pkg[:strings.LastIndexByte(pkg, '/')] {
		if _, ok := mayImport[pkg]; ok {
			return pkg
		}
		if !strings.Contains(pkg, "/") {
			return ""
		}
	}
}

func TestImports(t *testing.T) {
	for _, p := range loadAll(t) {
		path := strings.TrimPrefix(p.PkgPath, module+"/")
		pkg := packageOf(path)
		if pkg == "" {
			t.Errorf("%s is in no package of the table", path)
			continue
		}
		for name := range p.Imports {
			if problem := judge(pkg, path, name); problem != "" {
				t.Errorf("%s imports %s: %s", path, name, problem)
			}
		}
	}
}

// judge says what is wrong with an import, "" if nothing.
func judge(pkg, path, imported string) string {
	inside, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		if strings.Contains(strings.Split(imported, "/")[0], ".") &&
			!allowed(mayImportOutside[pkg], imported) {
			return "a dependency that package " + pkg + " does not have"
		}
		return ""
	}
	other := packageOf(inside)
	if other == pkg || allowed(mayImport[pkg], other) {
		return ""
	}
	return "package " + pkg + " may not import package " + other
}

func allowed(list []string, name string) bool {
	for _, a := range list {
		if a == "*" || name == a || strings.HasPrefix(name, a+"/") && strings.Contains(a, ".") {
			return true
		}
	}
	return false
}

// The judge itself, on imports that must not be.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		ok             bool
	}{
		{"ir/sym", module + "/ir", true},
		{"ir", module + "/kernels/ops", false},
		{"ir", module + "/ir/pt2", false},
		{"ir/pt2", module + "/ir", true},
		{"kernels/ops", module + "/ir/pt2", false},
		{"kernels/ops", module + "/plan", false},
		{"plan", module + "/ir", false},
		{"lower", module + "/plan", false},
		{"lower/native", module + "/plan", true},
		{"lower/native", module + "/lower", false},
		{"codegen/c", module + "/templates/c", true},
		{"codegen/c", module + "/golden/way", false},
		{"golden/way", module + "/codegen/c", true},
		{"ir", "fmt", true},
		{"ir", "github.com/spf13/cobra", false},
		{"cmd/cli", "github.com/spf13/cobra", true},
	} {
		problem := judge(packageOf(c.path), c.path, c.imported)
		if (problem == "") != c.ok {
			t.Errorf("%s imports %s: %q", c.path, c.imported, problem)
		}
	}
}

// loadAll lists the packages, once.
func loadAll(t *testing.T) []*packages.Package {
	t.Helper()
	loaded, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) < 15 {
		t.Fatalf("%d packages are found", len(loaded))
	}
	return loaded
}

var listed = sync.OnceValues(func() ([]*packages.Package, error) {
	return packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports |
		packages.NeedFiles, Dir: "../.."}, "./...")
})
