package golang

import (
	"embed"
	"errors"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// library is the source of a Go package from which functions are copied into
// the output, each with what it depends on.
type library struct {
	name  string
	info  *types.Info
	scope *types.Scope
	decls []*libDecl
	byObj map[types.Object]*libDecl
	// methods are those of a type: who asks for the type gets them all, who needs it those
	// that are called.
	methods map[types.Object][]*libDecl
	// A file with a build constraint is one of several alternatives, each
	// complete with the files that have none. variants are the library with
	// each of them, if there are any; the library itself has the first.
	variants []*variant
}

// variant is a library with one of its constrained files.
type variant struct {
	*library
	file       string // its name
	constraint string // its line
	assembly   []byte // of the .s file of that name, nil if there is none
}

// libDecl is a package-level declaration of a library.
type libDecl struct {
	objs []types.Object
	file *libFile
	node ast.Decl
	uses []types.Object // package-level objects and methods of the library
}

type libFile struct {
	base       int // of the file's positions
	src        []byte
	constraint string // its line, "" if there is none
}

// noImports makes every import fail: names of this package resolve without.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// embedded are the libraries that are part of etgen and were opened: a function
// for each place, that reads it once. Nothing changes a library once it is read.
var embedded sync.Map

// openLibrary reads the Go files of a directory, tests left out.
func openLibrary(source fs.FS, dir string) *library {
	own, ok := source.(embed.FS)
	if !ok {
		return readLibrary(source, dir)
	}
	type place struct {
		source embed.FS
		dir    string
	}
	read, _ := embedded.LoadOrStore(place{own, dir}, sync.OnceValue(func() *library {
		return readLibrary(own, dir)
	}))
	return read.(func() *library)()
}

func readLibrary(source fs.FS, dir string) *library {
	texts := map[string][]byte{}
	var free, constrained []string
	for _, path := range must.Get(fs.Glob(source, dir+"/*.go")) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		texts[path] = must.Get(fs.ReadFile(source, path))
		if constraintOf(texts[path]) == "" {
			free = append(free, path)
		} else {
			constrained = append(constrained, path)
		}
	}
	if len(constrained) == 0 {
		return checkLibrary(dir, free, texts)
	}
	var variants []*variant
	for _, p := range constrained {
		v := &variant{library: checkLibrary(dir, append(slices.Clone(free), p), texts),
			file: path.Base(p), constraint: constraintOf(texts[p])}
		var err error
		v.assembly, err = fs.ReadFile(source, strings.TrimSuffix(p, ".go")+".s")
		if !errors.Is(err, fs.ErrNotExist) {
			must.Check(err)
		}
		variants = append(variants, v)
	}
	lib := *variants[0].library
	lib.variants = variants
	return &lib
}

// constraintOf returns the line of a file that has a build constraint, or "".
func constraintOf(src []byte) string {
	for line := range strings.Lines(string(src)) {
		switch {
		case constraint.IsGoBuild(line):
			return strings.TrimSpace(line)
		case strings.HasPrefix(line, "package "):
			return ""
		}
	}
	return ""
}

// checkLibrary resolves the names of a package of the files given.
func checkLibrary(dir string, paths []string, texts map[string][]byte) *library {
	fset := token.NewFileSet()
	lib := &library{byObj: map[types.Object]*libDecl{}, methods: map[types.Object][]*libDecl{},
		info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	var files []*ast.File
	var sources []*libFile
	for _, path := range paths {
		f := must.Get(parser.ParseFile(fset, path, texts[path],
			parser.ParseComments|parser.SkipObjectResolution))
		files = append(files, f)
		sources = append(sources, &libFile{base: fset.File(f.FileStart).Base(), src: texts[path],
			constraint: constraintOf(texts[path])})
	}
	if len(files) == 0 {
		must.Fail("no Go source in %s", dir)
	}
	lib.name = files[0].Name.Name
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check(lib.name, fset, files, lib.info) // imports fail, by intention
	lib.scope = pkg.Scope()
	for i, f := range files {
		for _, d := range f.Decls {
			lib.add(sources[i], d)
		}
	}
	return lib
}

func (lib *library) add(f *libFile, d ast.Decl) {
	if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
		return
	}
	ld := &libDecl{file: f, node: d}
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if obj := lib.info.Defs[id]; obj != nil && obj.Parent() == lib.scope {
			ld.objs = append(ld.objs, obj)
			lib.byObj[obj] = ld
		}
		obj := lib.info.Uses[id]
		if f, ok := obj.(*types.Func); ok {
			obj = f.Origin() // of a generic type's method
		}
		if obj != nil && (obj.Parent() == lib.scope || isMethod(obj)) &&
			!slices.Contains(ld.uses, obj) {
			ld.uses = append(ld.uses, obj)
		}
		return true
	})
	lib.decls = append(lib.decls, ld)
	if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
		lib.byObj[lib.info.Defs[f.Name]] = ld
		ast.Inspect(f.Recv, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if t, ok := lib.info.Uses[id].(*types.TypeName); ok && t.Parent() == lib.scope {
					lib.methods[t] = append(lib.methods[t], ld)
				}
			}
			return true
		})
	}
}

// isMethod reports whether an object is a method.
func isMethod(obj types.Object) bool {
	f, ok := obj.(*types.Func)
	return ok && f.Signature().Recv() != nil
}

// closures returns the closure of names in each of several variants. What one needs and all have,
// all are given, with what it depends on there.
func closures(variants []*library, names []string) [][]*libDecl {
	common := map[string]bool{}
	for {
		all := make([][]*libDecl, len(variants))
		given := len(common)
		for i, lib := range variants {
			all[i] = lib.closure(names, common)
			for _, d := range all[i] {
				if d.file.constraint == "" {
					common[d.source()] = true
				}
			}
		}
		if len(common) == given {
			return all
		}
	}
}

// source is the text of d.
func (d *libDecl) source() string {
	return string(d.file.src[int(d.node.Pos())-d.file.base : int(d.node.End())-d.file.base])
}

// closure returns the declarations of names, and of texts that all variants have, and of all they
// depend on, in the order of the source.
func (lib *library) closure(names []string, common map[string]bool) []*libDecl {
	need := map[*libDecl]bool{}
	var visit func(obj types.Object)
	add := func(d *libDecl) {
		if d == nil || need[d] {
			return
		}
		need[d] = true
		for _, o := range d.uses {
			visit(o)
		}
	}
	visit = func(obj types.Object) { add(lib.byObj[obj]) }
	for _, d := range lib.decls {
		if len(common) > 0 && d.file.constraint == "" && common[d.source()] {
			add(d)
		}
	}
	for _, name := range names {
		obj := lib.scope.Lookup(name)
		if obj == nil {
			must.Fail("package %s has no %s", lib.name, name)
		}
		visit(obj)
		for _, m := range lib.methods[obj] {
			visit(lib.info.Defs[m.node.(*ast.FuncDecl).Name])
		}
	}
	return seq.Filter(lib.decls, func(d *libDecl) bool { return need[d] })
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
	seq.Sort(edits, func(a, b edit) int { return a.at - b.at })
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
