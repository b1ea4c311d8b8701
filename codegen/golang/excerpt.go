package golang

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// closure returns the declarations of names and of all they depend on, in the
// order of the source.
func (lib *library) closure(names []string) ([]*libDecl, error) {
	need := map[*libDecl]bool{}
	var visit func(obj types.Object)
	visit = func(obj types.Object) {
		d := lib.byObj[obj]
		if d == nil || need[d] {
			return
		}
		need[d] = true
		for _, o := range d.uses {
			visit(o)
		}
		for _, o := range d.objs {
			for _, m := range lib.methods[o] {
				need[m] = true
				for _, o := range m.uses {
					visit(o)
				}
			}
		}
	}
	for _, name := range names {
		obj := lib.scope.Lookup(name)
		if obj == nil {
			return nil, fmt.Errorf("package %s has no %s", lib.name, name)
		}
		visit(obj)
	}
	var out []*libDecl
	for _, d := range lib.decls {
		if need[d] {
			out = append(out, d)
		}
	}
	return out, nil
}

// text returns the source of d with the library's package-level names replaced.
func (lib *library) text(d *libDecl, rename func(string) string) string {
	start, end := d.node.Pos(), d.node.End()
	if doc := docOf(d.node); doc != nil {
		start = doc.Pos()
	}
	type edit struct {
		at, end int
		text    string
	}
	var edits []edit
	offset := func(p token.Pos) int { return int(p) - d.file.base }
	ast.Inspect(d.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := lib.info.Uses[id] // of an embedded type it is the type, Defs has the field
		if obj == nil {
			obj = lib.info.Defs[id]
		}
		if obj != nil && obj.Parent() == lib.scope {
			edits = append(edits, edit{offset(id.Pos()), offset(id.End()), rename(id.Name)})
		}
		return true
	})
	if doc := docOf(d.node); doc != nil && len(d.objs) > 0 {
		name := d.objs[0].Name()
		if first := doc.List[0]; strings.HasPrefix(first.Text, "// "+name+" ") {
			at := offset(first.Pos()) + len("// ")
			edits = append([]edit{{at, at + len(name), rename(name)}}, edits...)
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.at - b.at })
	var b strings.Builder
	at := offset(start)
	for _, e := range edits {
		b.Write(d.file.src[at:e.at])
		b.WriteString(e.text)
		at = e.end
	}
	b.Write(d.file.src[at:offset(end)])
	return b.String()
}

func docOf(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// unexported returns an exported name of a library as the output spells it:
// "FMA32" gives "fma32", "ToInt" gives "toInt".
func unexported(name string) string {
	n := 0
	for n < len(name) && name[n] >= 'A' && name[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(name) && name[n] >= 'a' && name[n] <= 'z' {
		n-- // the last capital begins a word
	}
	return strings.ToLower(name[:n]) + name[n:]
}
