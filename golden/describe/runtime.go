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

	"github.com/etgen/etgen/ir/must"
)

const runtimeTop = `# The runtime, rt

What the packages of the runtime export, from their comments. [executorch.md](executorch.md) says
which programs they run.
`

// runtimePackages are those that applications use.
var runtimePackages = []string{"rt", "rt/portable", "rt/optimize", "rt/payload", "rt/etdump",
	"rt/compiled"}

// runtime is docs/rt.md.
func runtime() (_ string, err error) {
	defer must.Catch(&err)
	var b strings.Builder
	b.WriteString(runtimeTop)
	for _, path := range runtimePackages {
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range must.Get(filepath.Glob("../../" + path + "/*.go")) {
			files = append(files, must.Get(parser.ParseFile(fset, name, nil, parser.ParseComments)))
		}
		p := must.Get(doc.NewFromFiles(fset, files, "github.com/etgen/etgen/"+path))
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
	must.Check(format.Node(&code, p.fset, decl))
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
