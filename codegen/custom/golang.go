package custom

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// Function is a kernel in Go. Its parameters are the operator's arguments, then a tensor for each
// result, in which it finds memory of the result's size; it may return an error.
type Function struct {
	Schema *aten.Schema
	Path   string // of the package
	Dir    string // of the package
	Pkg    string // its name
	Name   string
	Place  string // file and line, for messages
	Params []Param
	Err    bool // it returns an error
}

// Param is a parameter of a kernel in Go.
type Param struct {
	Name string
	// Type is the type as the kernel's package writes it: "[]float32", "int64", "Tensor".
	Type string
	// Elem is the type of a tensor's elements, "" of a number or string.
	Elem string
	// Struct is set if a tensor is a struct of the package with the fields Data, Sizes and Strides,
	// as far as HasStrides tells; else it is a slice of the elements.
	Struct               string
	HasSizes, HasStrides bool
}

// Type is the type of parameter i in the schema. Behind the arguments there are results, which the
// function writes to.
func (f *Function) Type(i int) *aten.Type {
	if i < len(f.Schema.Args) {
		return f.Schema.Args[i].Type
	}
	return &aten.Type{Name: "Tensor", Alias: aten.Alias{Write: true}}
}

// In reports whether f's package is in the folder dir, which links may name otherwise.
func (f *Function) In(dir string) bool { return sameFile(f.Dir, dir) }

func sameFile(x, y string) bool {
	a, err := os.Stat(x)
	if err != nil {
		return false
	}
	b, err := os.Stat(y)
	return err == nil && os.SameFile(a, b)
}

// Module is where the go command finds a package of kernels.
type Module struct{ Path, Dir string }

// load finds the kernels in a Go package.
func (k *Kernels) load(ctx context.Context, name string, over Over) {
	files, dir := token.NewFileSet(), ""
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		dir, name = name, "."
	}
	config := &packages.Config{Context: ctx, Fset: files, Dir: dir,
		Mode: packages.NeedFiles | packages.NeedImports | packages.NeedDeps}
	load := func() []*packages.Package {
		list, err := packages.Load(config, name)
		if err != nil {
			must.Fail("the kernels' Go packages cannot be loaded: %w", err)
		}
		return list
	}
	if over.Path != "" { // the overlay has the names of folders that the go command has
		config.Overlay = map[string][]byte{}
		packages.Visit(load(), nil, func(p *packages.Package) {
			if sameFile(p.Dir, filepath.Dir(over.Path)) {
				config.Overlay[filepath.Join(p.Dir, filepath.Base(over.Path))] = over.Text
			}
		})
	}
	config.Mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedModule | packages.NeedImports
	for _, p := range load() {
		errs := seq.Map(p.Errors, func(e packages.Error) error {
			return fmt.Errorf("%s", strings.TrimPrefix(e.Error(), "-: "))
		})
		must.Check(errors.Join(errs...))
		found := false
		var shapes []func() // they need the kernels, which may stand behind them
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Doc == nil {
					continue
				}
				for _, c := range fn.Doc.List {
					if schema, ok := strings.CutPrefix(c.Text, "//"+Mark+" "); ok {
						k.function(p, files, fn, schema)
						found = true
					}
					if op, ok := strings.CutPrefix(c.Text, "//"+ShapeMark+" "); ok {
						shapes = append(shapes, func() {
							k.shapeFunction(p, files, fn, strings.TrimSpace(op))
						})
					}
				}
			}
		}
		for _, note := range shapes {
			note()
		}
		if !found {
			must.Fail("package %s: no function has a comment //%s with an operator's schema",
				foreign.Message(p.PkgPath), Mark)
		}
		if p.Module != nil {
			k.Modules = append(k.Modules, Module{p.Module.Path, p.Module.Dir})
		}
	}
}

// function notes the kernel fn of the operator that a schema tells.
func (k *Kernels) function(p *packages.Package, files *token.FileSet, fn *ast.FuncDecl,
	schema string) {
	place := files.Position(fn.Pos()).String()
	f := &Function{Schema: k.declare(place, schema), Path: p.PkgPath, Dir: p.Dir, Pkg: p.Name,
		Name: fn.Name.Name, Place: place}
	fail := func(format string, args ...any) {
		must.Fail("%s: kernel %s of %s: "+format, append([]any{place, f.Name, f.Schema}, args...)...)
	}
	sig := p.TypesInfo.Defs[fn.Name].Type().(*types.Signature)
	switch {
	case !fn.Name.IsExported():
		fail("it is not exported")
	case sig.Recv() != nil:
		fail("it is a method")
	case sig.TypeParams() != nil:
		fail("it has type parameters; write a function for each type")
	case k.Function(f.Schema.Name) != nil:
		fail("the operator has a kernel already, %s", k.Function(f.Schema.Name).Place)
	}
	want := append([]aten.Param{}, f.Schema.Args...)
	for i, r := range f.Schema.Returns {
		if r.Name == "" {
			r.Name = fmt.Sprintf("result %d", i)
		}
		want = append(want, r)
	}
	if sig.Params().Len() != len(want) || sig.Variadic() {
		fail("it has %d parameters; the schema asks for %d: its arguments, then its results",
			sig.Params().Len(), len(want))
	}
	local := types.RelativeTo(p.Types)
	for i, a := range want {
		v := sig.Params().At(i)
		param, ok := paramOf(a.Type, v.Type(), local)
		if !ok {
			fail("parameter %s is %s; for %s %s it can be %s", v.Name(),
				types.TypeString(v.Type(), local), a.Type, a.Name, goTypes(a.Type))
		}
		param.Name = v.Name()
		f.Params = append(f.Params, param)
	}
	switch res := sig.Results(); {
	case res.Len() == 0:
	case res.Len() == 1 && res.At(0).Type().String() == "error":
		f.Err = true
	default:
		fail("it returns %s; it can return nothing or an error", res)
	}
	k.Go = append(k.Go, f)
}

// shapeFunction notes that fn tells the sizes of the results of an operator.
func (k *Kernels) shapeFunction(p *packages.Package, files *token.FileSet, fn *ast.FuncDecl,
	op string) {
	place := files.Position(fn.Pos()).String()
	fail := func(format string, args ...any) {
		must.Fail("%s: shape function %s: "+format, append([]any{place, fn.Name.Name}, args...)...)
	}
	name := strings.Replace(op, "::", ".", 1)
	if strings.Count(name, ".") == 1 {
		name += ".default"
	}
	kernel := k.Function(name)
	if kernel == nil {
		fail("no kernel of %s is in the package", foreign.Message(op))
	}
	sig := p.TypesInfo.Defs[fn.Name].Type().(*types.Signature)
	args := kernel.Schema.Args
	if !fn.Name.IsExported() || sig.Recv() != nil || sig.TypeParams() != nil ||
		sig.Params().Len() != len(args) || sig.Results().Len() != len(kernel.Schema.Returns) {
		fail("it has to be an exported function that takes what %s takes, of tensors the sizes, "+
			"and returns the sizes of each result", kernel.Schema)
	}
	f := &Function{Schema: kernel.Schema, Path: p.PkgPath, Dir: p.Dir, Pkg: p.Name,
		Name: fn.Name.Name, Place: place}
	local := types.RelativeTo(p.Types)
	for i, a := range args {
		v := sig.Params().At(i)
		param := Param{Name: v.Name(), Type: types.TypeString(v.Type(), local)}
		if ok := param.Type == "[]int" && !a.Type.IsList(); a.Type.Base().Name != "Tensor" {
			param, ok = paramOf(a.Type, v.Type(), local)
			param.Name = v.Name()
			if !ok {
				fail("parameter %s is %s; for %s %s it can be %s", v.Name(), v.Type(), a.Type, a.Name,
					goTypes(a.Type))
			}
		} else if !ok {
			fail("parameter %s is %s; the sizes of a tensor are []int", v.Name(), v.Type())
		}
		f.Params = append(f.Params, param)
	}
	for i := range sig.Results().Len() {
		if t := sig.Results().At(i).Type().String(); t != "[]int" {
			fail("it returns %s; sizes are []int", t)
		}
	}
	k.shapes = append(k.shapes, f)
}

// numberTypes are the types in Go of what a schema calls a type.
var numberTypes = map[string][]string{"int": {"int64", "int"}, "SymInt": {"int64", "int"},
	"float": {"float64"}, "Scalar": {"float64"}, "bool": {"bool"}, "str": {"string"},
	"ScalarType": {"int"}}

// elemTypes are the types of tensors' elements; 16-bit floats are their bits in a uint16.
var elemTypes = map[string]bool{"float32": true, "float64": true, "int8": true, "int16": true,
	"int32": true, "int64": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true,
	"bool": true}

// goTypes words the types that a parameter may have.
func goTypes(t *aten.Type) string {
	base := "a slice of elements ([]float32), or a struct with Data []float32 and Sizes []int"
	if names := numberTypes[t.Base().Name]; names != nil {
		base = strings.Join(names, " or ")
	}
	switch {
	case t.IsList():
		return "a slice of " + base
	case t.Optional && t.Base().Name != "Tensor":
		return "a pointer to " + base
	}
	return base
}

// paramOf says how a kernel takes an argument of type t as typ.
func paramOf(t *aten.Type, typ types.Type, local types.Qualifier) (p Param, ok bool) {
	p.Type = types.TypeString(typ, local)
	if t.IsList() {
		slice, isSlice := typ.(*types.Slice)
		if !isSlice {
			return p, false
		}
		elem, ok := paramOf(t.Elems[0], slice.Elem(), local)
		if _, named := slice.Elem().(*types.Named); named && elem.Struct == "" {
			ok = false // a list of another type would have to be made
		}
		elem.Type = p.Type
		return elem, ok
	}
	if t.Name == "Tensor" {
		return p, p.tensor(typ, local)
	}
	if t.Optional {
		pointer, isPointer := typ.(*types.Pointer)
		if !isPointer {
			return p, false
		}
		typ = pointer.Elem()
	}
	for _, name := range numberTypes[t.Name] {
		if types.TypeString(typ, local) == name {
			return p, true
		}
	}
	return p, false
}

// tensor says how a kernel takes a tensor as typ, and reports whether it can.
func (p *Param) tensor(typ types.Type, local types.Qualifier) bool {
	elements := func(t types.Type) bool {
		slice, ok := t.Underlying().(*types.Slice)
		if !ok {
			return false
		}
		basic, ok := slice.Elem().(*types.Basic)
		if ok {
			p.Elem = types.Universe.Lookup(basic.Name()).Type().Underlying().String()
		}
		return ok && elemTypes[p.Elem]
	}
	if _, named := typ.(*types.Named); !named {
		return elements(typ)
	}
	s, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return elements(typ)
	}
	p.Struct = types.TypeString(typ, local)
	if !token.IsExported(p.Struct) || strings.Contains(p.Struct, ".") {
		return false // a generated package could not name it
	}
	data := false
	for i := range s.NumFields() {
		f := s.Field(i)
		ints := f.Type().String() == "[]int"
		switch {
		case f.Name() == "Data":
			data = elements(f.Type())
		case f.Name() == "Sizes" && ints:
			p.HasSizes = true
		case f.Name() == "Strides" && ints:
			p.HasStrides = true
		default:
			return false
		}
	}
	return data
}
