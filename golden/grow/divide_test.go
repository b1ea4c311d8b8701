package grow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// What a function of the text may have, however large the program is: a compiler's
// time for a function grows faster than the function. Parameters of methods are
// the model's own, and not counted.
const (
	mostStatements = 1200 // those that declare buffers among them
	mostOperators  = 4000 // of one statement
)

// extent is what a function of the text has.
type extent struct {
	name       string
	statements int
	operators  int // of the statement that has most
}

// No function of the text, in C or in Go, grows with the program.
func TestFunctionsStaySmall(t *testing.T) {
	nodes := tier.Of(1500, 1500, 3000)
	for _, s := range tier.Some(Shapes(), 2, -1) {
		for _, lang := range []string{"c", "go"} {
			t.Run(s.Name+"/"+lang, func(t *testing.T) {
				p, err := s.Make(nodes)
				if err != nil {
					t.Fatal(err)
				}
				pkg, err := compile.Package(p, compile.Options{Name: "grow", Lang: lang})
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				for _, f := range pkg.Files {
					var all []extent
					switch {
					case f.Name == "grow.c":
						all = extentsOfC(string(f.Data))
					case path.Ext(f.Name) == ".go":
						all = extentsOfGo(t, f.Name, f.Data)
					}
					for _, x := range all {
						found++
						if x.statements > mostStatements || x.operators > mostOperators {
							t.Errorf("%s: %s has %d statements, and one of %d operators", f.Name,
								x.name, x.statements, x.operators)
						}
					}
				}
				if found == 0 {
					t.Error("no functions were found")
				}
			})
		}
	}
}

// No function of Go checks the slices of all outputs of dynamic size: a compiler's
// time grows with the slices that a function holds, times its branches.
func TestSlicesAreCheckedApart(t *testing.T) {
	const number, most = 300, 100
	p, err := program(func(m *maker, n int) (all []*ir.Value) {
		s := sym.NewSymbol("s0", 2, 64)
		m.m.Symbols = []*sym.Symbol{s}
		x := m.input(ir.Float32, s.Expr(), sym.Int(4))
		for i := range n {
			x = m.step(i, x)
			all = append(all, x)
		}
		return all
	})(number)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := compile.Package(p, compile.Options{Name: "grow", Lang: "go"})
	if err != nil {
		t.Fatal(err)
	}
	checks := 0
	for _, f := range pkg.Files {
		if f.Name != "grow.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			branches := 0
			ast.Inspect(d, func(n ast.Node) bool {
				if _, ok := n.(*ast.IfStmt); ok {
					branches++
				}
				return true
			})
			if checks += branches; branches > most {
				t.Errorf("%s has %d branches", d.(*ast.FuncDecl).Name.Name, branches)
			}
		}
	}
	if checks < number {
		t.Errorf("%d branches for %d outputs", checks, number)
	}
}

// extentsOfC reads the functions of C text: their braces stand at the beginning of
// a line, and their statements end with ; or {.
func extentsOfC(text string) (all []extent) {
	inside, head, operators := false, "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "{":
			inside, operators = true, 0
			all = append(all, extent{name: head})
		case line == "}":
			inside = false
		case !inside:
			if line != "" && line[0] != ' ' {
				head, _, _ = strings.Cut(line, "(")
			}
		default:
			x := &all[len(all)-1]
			line, _, _ = strings.Cut(line, "/*")
			line = strings.TrimSpace(line)
			for _, word := range strings.Fields(line) {
				if strings.Trim(word, "+-*/%<>=&|^?:") == "" {
					operators++
				}
			}
			if strings.HasSuffix(line, ";") || strings.HasSuffix(line, "{") {
				x.statements++
				x.operators = max(x.operators, operators)
				operators = 0
			}
		}
	}
	return all
}

// extentsOfGo reads the functions of a Go file.
func extentsOfGo(t *testing.T, name string, data []byte) (all []extent) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		x := extent{name: "a variable"}
		if fn, ok := d.(*ast.FuncDecl); ok {
			x.name = fn.Name.Name
		}
		operators := 0
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				x.statements += len(n.Elts)
			case *ast.BlockStmt:
			case ast.Stmt:
				x.statements++
				operators = 0
			case *ast.BinaryExpr, *ast.UnaryExpr:
				operators++
				x.operators = max(x.operators, operators)
			}
			return true
		})
		all = append(all, x)
	}
	return all
}
