package golang

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/tuned"
)

// unit is the output package while it is put together.
type unit struct {
	name    string
	machine *tuned.Machine // Options.Machine
	scope   *codegen.Scope // package-level identifiers
	strip   *library
	helpers map[string]string // functions of package strip by the names they have here
	funcs   map[string]string // scalar functions likewise
	bodies  []string          // of the scalar functions
	custom  customKernels
}

func newUnit(name string) *unit {
	return &unit{
		name: name, scope: newScope(),
		strip: openLibrary(strip.Source, "."), helpers: map[string]string{}, funcs: map[string]string{},
	}
}

// helper returns the name that a function of package strip has in the output,
// and sees to it that it is there.
func (u *unit) helper(name string) string { return u.helperAs(name, unexported(name)) }

// helperAs is helper for a function that is better called something else.
func (u *unit) helperAs(name, local string) string {
	if u.helpers[name] == "" {
		u.helpers[name] = u.scope.TakeAround(local)
	}
	return u.helpers[name]
}

// param is a parameter of a function.
type param struct{ name, typ string }

// signature lists parameters, those of one type together.
func signature(params []param) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.name)
		if i+1 == len(params) || params[i+1].typ != p.typ {
			b.WriteString(" " + p.typ)
		}
	}
	return b.String()
}

// comment makes line comments of s, of up to 80 characters where there are
// spaces.
func comment(s string) string {
	var b strings.Builder
	line := "//"
	for _, word := range strings.Fields(s) {
		if len(line)+1+len(word) > 80 && line != "//" {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}

// packages are what generated files may import, by name. No identifier of the
// output has one of these names.
var packages = map[string]string{
	"atomic": "sync/atomic", "binary": "encoding/binary", "bits": "math/bits", "errors": "errors",
	"fmt": "fmt",
	"cmp": "cmp", "math": "math", "os": "os", "runtime": "runtime", "sync": "sync", "unsafe": "unsafe",
}

// file puts a formatted file together from its declarations, with the imports
// they need. doc is the text before the package clause.
func (u *unit) file(doc string, decls string) []byte {
	clause := "package " + u.name + "\n\n"
	f, err := parser.ParseFile(token.NewFileSet(), "", clause+decls, parser.SkipObjectResolution)
	if err != nil {
		must.Fail("generated Go does not parse, which is a defect of etgen: %w\n%s", err, decls)
	}
	var b strings.Builder
	b.WriteString(doc + clause + importClause(u.custom.importsOf(f, importsOf(f))))
	b.WriteString(decls)
	return must.Get(format.Source([]byte(b.String())))
}

// importsOf returns what a file refers to of packages, sorted.
func importsOf(f *ast.File) []string {
	paths := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && packages[id.Name] != "" {
				paths[packages[id.Name]] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(paths))
}

func importClause(paths []string) string {
	switch len(paths) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("import %s\n\n", importSpec(paths[0]))
	}
	var b strings.Builder
	b.WriteString("import (\n")
	for _, path := range paths {
		b.WriteString(importSpec(path) + "\n")
	}
	b.WriteString(")\n\n")
	return b.String()
}

// withImports gives a file the imports that it needs and jennifer does not know
// of, because expressions are text to it.
func withImports(src []byte) ([]byte, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	want := importsOf(f)
	if len(want) == len(f.Imports) {
		return src, nil
	}
	at := files.Position(f.Name.End()).Offset
	rest := at
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			rest = files.Position(g.End()).Offset
		}
	}
	return format.Source(slices.Concat(src[:at], []byte("\n\n"+importClause(want)), src[rest:]))
}

// support prints support.go with the copied and printed functions that kernels
// call, and their vector forms; nothing if kernels call none.
func (u *unit) support(head string) []codegen.File {
	parts, files := u.copies(&copied{lib: u.strip,
		roots: slices.Sorted(maps.Keys(u.helpers)), assembly: u.assembly(), rename: u.helper,
		head: head, prefix: "support_"})
	text := strings.Join(append(parts, u.bodies...), "\n\n")
	if text == "" {
		return nil
	}
	return append([]codegen.File{{Name: "support.go", Data: u.file(head, text)}}, files...)
}
