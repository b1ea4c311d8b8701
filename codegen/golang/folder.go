package golang

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// CheckName returns an error if the user may not call a package so: keywords,
// predeclared names, main, packages that generated files import, and what Windows takes
// for devices.
func CheckName(name string) error {
	if plain := strings.ToLower(camel(name)); packageName(name) != plain {
		return fmt.Errorf("%s is no name for a Go package that others import: take %s_model",
			plain, name)
	}
	return nil
}

// PackageName returns the name of the package that Generate makes of name.
func PackageName(name string) string { return packageName(name) }

// goFile is a Go file that is there before a package is written.
type goFile struct {
	name string
	ast  *ast.File
	rank int // how well it tells the package's name; the least is the best
}

// PackageIn returns the name of the package that dir's Go files belong to, "" if
// there is none. Files of the kind that etgen wrote do not count, for a new
// package takes their place. Neither do files that no build takes, such as those
// for go run. The error tells of two packages, and of files that are no Go.
func PackageIn(dir, kind string) (_ string, err error) {
	defer must.Catch(&err)
	files := filesIn(dir, kind, parser.PackageClauseOnly)
	if len(files) == 0 {
		return "", nil
	}
	seq.Sort(files, func(a, b goFile) int { return a.rank - b.rank })
	first := files[0]
	for _, f := range files[1:] {
		if f.rank == first.rank && f.packageName() != first.packageName() {
			must.Fail("%s: the Go files are of two packages: %s has %s, %s has %s",
				dir, first.name, first.packageName(), f.name, f.packageName())
		}
	}
	return first.packageName(), nil
}

// packageName is the package of the file, or that it tests.
func (f goFile) packageName() string {
	if name := f.ast.Name.Name; strings.HasSuffix(f.name, "_test.go") {
		return strings.TrimSuffix(name, "_test")
	}
	return f.ast.Name.Name
}

// filesIn parses the Go files of dir that count in PackageIn.
func filesIn(dir, kind string, mode parser.Mode) (files []goFile) {
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		must.Check(err)
	}
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) != ".go" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if codegen.GeneratedKind(file) == kind {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil,
			mode|parser.ParseComments|parser.SkipObjectResolution)
		if f == nil || mode == parser.PackageClauseOnly {
			must.Check(err)
		}
		matched := must.Get(build.Default.MatchFile(dir, name))
		g := goFile{name: name, ast: f}
		switch {
		case f.Name.Name == "documentation": // as the go command has it
			continue
		case !matched && !somewhere(f):
			continue
		case !matched:
			g.rank = 2
		case strings.HasSuffix(name, "_test.go"):
			g.rank = 1
		}
		files = append(files, g)
	}
	return files
}

// somewhere reports whether there is a build that takes the file: one with all
// tags but "ignore", or none.
func somewhere(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if group.Pos() >= f.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				return false
			}
			return expr.Eval(func(tag string) bool { return tag != "ignore" }) ||
				expr.Eval(func(string) bool { return false })
		}
	}
	return true
}

// Join returns an error if dir's package cannot take pkg in: what both declare,
// and assembly in a package that uses C.
func Join(dir string, pkg *codegen.Package) (err error) {
	defer must.Catch(&err)
	var theirs, ours names
	for _, f := range filesIn(dir, pkg.Kind, 0) {
		if f.ast.Name.Name != f.packageName() {
			continue // a test from outside
		}
		theirs.add(f.name, f.ast)
		for _, s := range f.ast.Imports {
			if s.Path.Value == `"C"` && slices.ContainsFunc(pkg.Files, func(f codegen.File) bool {
				return path.Ext(f.Name) == ".s"
			}) {
				must.Fail(
					"%s uses cgo, and the Go tool takes no assembly in such a package: write to a folder of its "+
						"own, or with --target=scalar", filepath.Join(dir, f.name))
			}
		}
	}
	for _, f := range pkg.Files {
		if path.Ext(f.Name) != ".go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name, bytes.NewReader(f.Data),
			parser.SkipObjectResolution)
		must.In(err, "generated Go does not parse, which is a defect of etgen")
		ours.add(f.Name, parsed)
	}
	var errs []error
	clash := func(mine, other map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(mine)) {
			if file, ok := other[name]; ok {
				errs = append(errs,
					fmt.Errorf(
						"%s declares %s, as generated %s does: write to a folder of its own, or rename it",
						filepath.Join(dir, mine[name]), name, file))
			}
		}
	}
	clash(theirs.declared, ours.declared)
	clash(theirs.declared, ours.imported)
	clash(theirs.imported, ours.declared)
	return errors.Join(errs...)
}

// names are those of a package's files, each with a file that has it.
type names struct{ declared, imported map[string]string }

func (n *names) add(file string, f *ast.File) {
	if n.declared == nil {
		n.declared, n.imported = map[string]string{}, map[string]string{}
	}
	declare := func(name string) {
		if name != "_" && name != "init" {
			n.declared[name] = file
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				t := d.Recv.List[0].Type
				if star, ok := t.(*ast.StarExpr); ok {
					t = star.X
				}
				id, ok := t.(*ast.Ident)
				if !ok {
					continue // a generic type: generated ones have no methods
				}
				name = id.Name + "." + name
			}
			declare(name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declare(s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						declare(id.Name)
					}
				case *ast.ImportSpec:
					name, err := strconv.Unquote(s.Path.Value)
					if err != nil {
						continue
					}
					if name = path.Base(name); s.Name != nil {
						name = s.Name.Name
					}
					if name != "_" && name != "." && name != "C" {
						n.imported[name] = file
					}
				}
			}
		}
	}
}
