package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

const runtimeTop = `# The runtime, rt

What the packages of the runtime export, from their comments. [executorch.md](executorch.md) says
which programs they run.
`

// runtimePackages are those that applications use.
var runtimePackages = []string{"rt", "rt/portable", "rt/optimize", "rt/payload", "rt/etdump",
	"rt/compiled"}

// runtime is docs/rt.md.
func runtime() (string, error) {
	var b strings.Builder
	b.WriteString(runtimeTop)
	for _, path := range runtimePackages {
		fset := token.NewFileSet()
		names, err := filepath.Glob("../../" + path + "/*.go")
		if err != nil {
			return "", err
		}
		var files []*ast.File
		for _, name := range names {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				return "", err
			}
			files = append(files, f)
		}
		p, err := doc.NewFromFiles(fset, files, "github.com/etgen/etgen/"+path)
		if err != nil {
			return "", err
		}
		page := &packagePage{b: &b, fset: fset, p: p}
		fmt.Fprintf(&b, "\n## %s\n\n`import %q`\n\n%s", path, p.ImportPath, page.text(p.Doc))
		page.values(p.Consts)
		page.values(p.Vars)
		page.functions(p.Funcs)
		for _, t := range p.Types {
			page.item(t.Decl, t.Doc)
			page.values(t.Consts)
			page.values(t.Vars)
			page.functions(t.Funcs)
			page.functions(t.Methods)
		}
	}
	return b.String(), nil
}

// packagePage writes what a package exports.
type packagePage struct {
	b    *strings.Builder
	fset *token.FileSet
	p    *doc.Package
}

// text is a comment as Markdown, without links.
func (p *packagePage) text(s string) string {
	pr := p.p.Printer()
	pr.DocLinkURL = func(*comment.DocLink) string { return "" }
	pr.HeadingLevel = 3
	return strings.ReplaceAll(string(pr.Markdown(p.p.Parser().Parse(s))), "\n    ", "\n\t")
}

func (p *packagePage) item(decl ast.Decl, about string) {
	if f, ok := decl.(*ast.FuncDecl); ok {
		f.Body = nil
	}
	var code bytes.Buffer
	if err := format.Node(&code, p.fset, decl); err != nil {
		fmt.Fprintf(&code, "%v", err)
	}
	fmt.Fprintf(p.b, "\n```go\n%s\n```\n\n%s", code.String(), p.text(about))
}

func (p *packagePage) values(list []*doc.Value) {
	for _, v := range list {
		p.item(v.Decl, v.Doc)
	}
}

func (p *packagePage) functions(list []*doc.Func) {
	for _, f := range list {
		p.item(f.Decl, f.Doc)
	}
}
