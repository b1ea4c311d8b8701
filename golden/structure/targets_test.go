package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/kernels/tuned"
)

// tableFiles are the tables of targets and languages, and that of the compilers and
// emulators of the tests.
var tableFiles = []string{"/kernels/tuned/machine.go", "/kernels/tuned/language.go",
	"/codegen/compile/target.go", "/golden/toolchain/targets.go"}

// Who depends on a target or an output language asks what it can do: nothing compares its
// name, or it, with one of the tables.
func TestNobodyAsksForNames(t *testing.T) {
	files := 0
	for _, p := range loadAll(t) {
		for _, file := range p.GoFiles {
			if slices.ContainsFunc(tableFiles, func(name string) bool {
				return strings.HasSuffix(filepath.ToSlash(file), name)
			}) {
				continue
			}
			files++
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range asked(parsed) {
				t.Errorf("%s: %s is asked for by name", fset.Position(e.Pos()), types.ExprString(e))
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files", files)
	}
}

// asked returns the operands of comparisons, the cases and keys of maps that are names of
// targets and languages, or beginnings of such names that something is tested for.
func asked(file *ast.File) (found []ast.Expr) {
	names := slices.Concat(compile.Languages(), tuned.MachineNames())
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == "native" // which is a form of programs too
	})
	look := func(begins bool, es ...ast.Expr) {
		for _, e := range es {
			switch text := types.ExprString(e); strings.TrimSuffix(text, ".Name") {
			case "tuned.C", "tuned.Go":
				found = append(found, e)
				continue
			case "C", "Go":
				if file.Name.Name == "tuned" {
					found = append(found, e)
				}
				continue
			}
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			word, err := strconv.Unquote(lit.Value)
			if err == nil && slices.ContainsFunc(names, func(name string) bool {
				return name == word && !begins ||
					begins && len(word) > 2 && strings.Contains(name, word)
			}) {
				found = append(found, e)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				look(false, n.X, n.Y)
			}
		case *ast.CaseClause:
			look(false, n.List...)
		case *ast.CompositeLit:
			if _, ok := n.Type.(*ast.MapType); ok {
				for _, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						look(false, pair.Key)
					}
				}
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok && types.ExprString(fn.X) == "strings" &&
				slices.Contains([]string{"HasPrefix", "HasSuffix", "Contains", "EqualFold",
					"CutPrefix"}, fn.Sel.Name) {
				look(true, n.Args...)
			}
		}
		return true
	})
	return found
}

// The look for names itself, on what it has to find and what it has to leave.
func TestAsked(t *testing.T) {
	for text, want := range map[string]int{
		`t.Lang == "go"`: 1, `"c" != t.Lang`: 1, `t.Name == "cortex-m4"`: 1,
		`strings.HasPrefix(t.Name, "cortex-m")`: 1, `t.Language == tuned.Go`: 1,
		`l.Name == tuned.C.Name`: 1, `map[string]int{"c": 1, "go": 2}["x"] > 0`: 2,
		`func() bool { switch x { case "pte", "riscv32": }; return true }()`: 2,
		`t.Language.RereadsBytes`: 0, `form == "native"`: 0, `strings.HasPrefix(x, "c")`: 0,
		`name == "conv"`: 0, `s == Go`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar x = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := asked(file); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}
