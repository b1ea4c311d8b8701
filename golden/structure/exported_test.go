package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wellKnown are methods whose meaning the standard library gives.
var wellKnown = []string{"Error", "Unwrap", "String"}

// Every exported identifier has a comment.
func TestExportedAreDocumented(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		for _, d := range f.Decls {
			for _, id := range undocumented(d) {
				t.Errorf("%v: %s has no comment", set.Position(id.Pos()), id.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// undocumented returns the exported identifiers that d declares without a comment.
func undocumented(d ast.Decl) []*ast.Ident {
	var out []*ast.Ident
	add := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if id.IsExported() && !slices.ContainsFunc(docs,
			func(g *ast.CommentGroup) bool { return g != nil }) {
			out = append(out, id)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiver(d).IsExported() && !slices.Contains(wellKnown, d.Name.Name) {
			add(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name, d.Doc, s.Doc)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id, d.Doc, s.Doc, s.Comment)
				}
			}
		}
	}
	return out
}

// receiver is the type that a method belongs to.
func receiver(d *ast.FuncDecl) *ast.Ident {
	for t := d.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x
		default:
			return ast.NewIdent("_")
		}
	}
}
