package tuned_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels"
)

// goFunctions are the functions of the packages of Go kernels, by package and name.
func goFunctions(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	all := map[string]*ast.FuncDecl{}
	err := fs.WalkDir(gokernels.FS, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		src, err := fs.ReadFile(gokernels.FS, path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all[f.Name.Name+"."+fn.Name.Name] = fn
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parameters are the names of a function's parameters, structs by their types.
func parameters(fn *ast.FuncDecl) (list []string) {
	for _, p := range fn.Type.Params.List {
		for _, name := range p.Names {
			switch typ := p.Type.(type) {
			case *ast.StarExpr:
				list = append(list, fmt.Sprint(typ.X))
			case *ast.Ident:
				if typ.Name == "Piece" {
					list = append(list, typ.Name)
					continue
				}
				list = append(list, name.Name)
			default:
				list = append(list, name.Name)
			}
		}
	}
	return list
}

// The Go functions of kernels take the arguments that Arguments says, and no function of the
// kernels takes more than eight.
func TestArguments(t *testing.T) {
	all := goFunctions(t)
	for name, fn := range all {
		if n := fn.Type.Params.NumFields(); n > 8 {
			t.Errorf("%s has %d parameters", name, n)
		}
	}
	for _, k := range tuned.Standard() {
		for _, part := range []bool{false, true} {
			name := k.Go
			if part {
				name += "Part"
			}
			if k.Go == "" || part && k.Phases == nil {
				continue
			}
			fn := all[name]
			if fn == nil {
				t.Errorf("%s: there is no function %s", k.Name, name)
				continue
			}
			var want []string
			for _, a := range k.Arguments(part) {
				want = append(want, a.Name)
				dir, _, _ := strings.Cut(k.Go, ".")
				if a.Kind != tuned.Inputs {
					continue
				}
				fields := strings.Join(parameters(all[dir+".New"+a.Name]), " ")
				if fields != strings.Join(a.Fields, " ") {
					t.Errorf("%s has %s, want %s", a.Name, fields, a.Fields)
				}
			}
			if got := parameters(fn); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s takes %s, want %s", name, got, want)
			}
		}
	}
}

// unknown returns which of an instance's buffers its kernel's Go function does not know.
func unknown(in *tuned.Instance) string {
	known := map[string]bool{}
	for _, a := range in.Kernel.Arguments(false) {
		known[a.Name] = true
		for _, f := range a.Fields {
			known[f] = true
		}
	}
	for _, s := range in.Slots() {
		if s.Kind != tuned.Extra && !known[s.Name] {
			return s.Name
		}
	}
	return ""
}
