package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// Printers contain no operator names: no string in codegen names an entry of
// the table, in full ("aten.add.Tensor"), without its namespace ("add.Tensor")
// or by its base name, unless that is also a scalar operation of expressions.
func TestNoOperatorNamesInPrinters(t *testing.T) {
	banned := operatorNames()
	files := 0
	for _, p := range loadAll(t) {
		if !strings.HasPrefix(p.PkgPath, module+"/codegen") {
			continue
		}
		for _, file := range p.GoFiles {
			if strings.HasSuffix(filepath.ToSlash(file), instructionNames) {
				continue
			}
			files++
			for _, lit := range stringsIn(t, file) {
				if strings.Contains(lit.text, "aten.") || strings.Contains(lit.text, "aten::") ||
					banned[lit.text] {
					t.Errorf("%s: %q names an operator", lit.at, lit.text)
				}
			}
		}
	}
	if files < 10 {
		t.Errorf("only %d files", files)
	}
}

// instructionNames is the file that names the operators which control flow and
// views of an ExecuTorch program are made of: they are instructions there.
const instructionNames = "/codegen/pte/operators.go"

func operatorNames() map[string]bool {
	banned := map[string]bool{}
	for _, name := range ops.Standard().Names() {
		parts := strings.SplitN(name, ".", 3)
		banned[name] = true
		if len(parts) == 3 {
			banned[parts[1]+"."+parts[2]] = true
		}
		if len(parts) > 1 {
			banned[parts[1]] = true
		}
	}
	for op := expr.OpInvalid; op <= expr.OpReduce; op++ {
		delete(banned, strings.ToLower(op.String()))
	}
	for _, word := range scalarWords {
		delete(banned, word)
	}
	return banned
}

// scalarWords are names of operators that are also words of C and Go, or names
// of scalar functions that both languages have.
var scalarWords = []string{"min", "max", "abs", "copy", "sizes", "float", "double", "int", "long",
	"short", "bool", "t", "clone", "index", "size", "full", "view", "narrow"}

type literalAt struct {
	text string
	at   token.Position
}

func stringsIn(t *testing.T, file string) []literalAt {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []literalAt
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found = append(found, literalAt{text, fset.Position(lit.Pos())})
			}
		}
		return true
	})
	return found
}
