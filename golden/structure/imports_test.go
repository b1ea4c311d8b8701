package structure

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/etgen/etgen"

// mayImport is the table of DESIGN.md: a room, and the rooms its packages may
// import besides their own. The longest prefix of a package's path is its room.
var mayImport = map[string][]string{
	"ir":           {},
	"ir/pt2":       {"ir"},
	"ir/pte":       {"ir"},
	"kernels":      {"ir"},
	"plan":         {},
	"templates":    {},
	"lower":        {"ir", "ir/pte", "kernels"}, // lower/raise reads the file form of a program
	"lower/native": {"ir", "kernels", "plan"},   // native form carries its plan
	"codegen": {"ir", "ir/pt2", "ir/pte", "kernels", "lower", "lower/native", "plan",
		"templates"},
	"rt": {"ir", "ir/pte"},
	// the kernels of the whole table; an app without it links none
	"rt/portable": {"ir", "ir/pte", "rt", "kernels"},
	// of kernels what packs constants; generated registries are made of it
	"rt/compiled": {"ir", "ir/pte", "rt", "kernels"},
	"rt/optimize": {"ir", "ir/pte", "rt", "rt/portable", "lower", "lower/native",
		"kernels", "plan"},
	"golden": {"*"},
	"cmd":    {"*"},
}

// mayImportOutside are the modules that packages other than tests may use.
var mayImportOutside = map[string][]string{
	"codegen": {"github.com/dave/jennifer"},
	"ir/pte":  {"github.com/google/flatbuffers"},
	"cmd":     {"github.com/spf13/cobra", "github.com/spf13/pflag"},
	"ir":      {"github.com/google/go-cmp", "golang.org/x/tools/txtar"}, // ir/irtest
}

// roomOf returns the longest room that path, relative to the module, is in.
func roomOf(path string) string {
	for room := path; ; room = room[:strings.LastIndexByte(room, '/')] {
		if _, ok := mayImport[room]; ok {
			return room
		}
		if !strings.Contains(room, "/") {
			return ""
		}
	}
}

func TestImports(t *testing.T) {
	for _, p := range loadAll(t) {
		path := strings.TrimPrefix(p.PkgPath, module+"/")
		room := roomOf(path)
		if room == "" {
			t.Errorf("%s is in no room of the table", path)
			continue
		}
		for name := range p.Imports {
			if problem := judge(room, path, name); problem != "" {
				t.Errorf("%s imports %s: %s", path, name, problem)
			}
		}
	}
}

// judge says what is wrong with an import, "" if nothing.
func judge(room, path, imported string) string {
	inside, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		if strings.Contains(strings.Split(imported, "/")[0], ".") &&
			!allowed(mayImportOutside[room], imported) {
			return "a dependency that room " + room + " does not have"
		}
		return ""
	}
	other := roomOf(inside)
	if other == room || allowed(mayImport[room], other) {
		return ""
	}
	return "room " + room + " may not import room " + other
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
		{"cmd/etgen", "github.com/spf13/cobra", true},
	} {
		problem := judge(roomOf(c.path), c.path, c.imported)
		if (problem == "") != c.ok {
			t.Errorf("%s imports %s: %q", c.path, c.imported, problem)
		}
	}
}

func loadAll(t *testing.T) []*packages.Package {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports |
		packages.NeedFiles, Dir: "../.."}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) < 15 {
		t.Fatalf("%d packages are found", len(loaded))
	}
	return loaded
}
