package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/kernels/tuned"
)

// functions prints how package gofunc finds the buffers of a call by the names of the Go
// functions' parameters, and calls them.
func functions() (string, error) {
	all := map[string]*ast.FuncDecl{}
	imports := map[string]bool{}
	var b strings.Builder
	for _, k := range tuned.Standard() {
		dir, fn, ok := strings.Cut(k.Go, ".")
		if !ok {
			continue
		}
		if !imports[dir] {
			imports[dir] = true
			if err := read(all, dir); err != nil {
				return "", err
			}
		}
		decl := all[k.Go]
		if decl == nil {
			return "", fmt.Errorf("%s: there is no function %s", k.Name, k.Go)
		}
		c := &call{dir: dir, kernel: k, all: all}
		args, err := c.arguments(decl)
		if err != nil {
			return "", fmt.Errorf("%s: %w", k.Go, err)
		}
		fmt.Fprintf(&b, "\tcase %q:\n", k.Go)
		if c.vectors {
			fmt.Fprintf(&b, "\t\tvec := vectors()\n")
		}
		if c.found == nil {
			return "", fmt.Errorf("%s has no buffers", k.Go)
		}
		for _, name := range c.found {
			fmt.Fprintf(&b, "\t\t%s := at(slots, %q)\n", name, name)
		}
		fmt.Fprintf(&b, "\t\treturn func(b [][]float32, n []int, f *Finish) {\n\t\t\ta := %s.New%s(n)\n",
			dir, k.Descriptor.GoName())
		b.WriteString(strings.Join(c.before, ""))
		fmt.Fprintf(&b, "\t\t\t%s.%s(%s)\n\t\t}, true\n", dir, fn, strings.Join(args, ", "))
	}
	text := generated + "package gofunc\n\nimport (\n\"github.com/etgen/etgen/kernels/tuned\"\n"
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		text += fmt.Sprintf("%q\n", "github.com/etgen/etgen/kernels/tuned/gokernels/"+dir)
	}
	return text + `)

// Lookup returns the function that tuned.Kernel.Go names, for calls with buffers in the
// order of slots and integers in that of the descriptor; false if there is none.
func Lookup(name string, slots []tuned.Slot) (Function, bool) {
	switch name {
` + b.String() + "\t}\n\treturn nil, false\n}\n", nil
}

// read adds the functions of a package of Go kernels.
func read(all map[string]*ast.FuncDecl, dir string) error {
	paths, err := filepath.Glob("gokernels/" + dir + "/*.go")
	if err != nil {
		return err
	}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[dir+"."+fn.Name.Name] = fn
			}
		}
	}
	return nil
}

// call is the call of a kernel's Go function.
type call struct {
	dir     string
	kernel  *tuned.Kernel
	all     map[string]*ast.FuncDecl
	found   []string // buffers
	before  []string // statements
	vectors bool
}

// arguments returns the arguments for the parameters of a function.
func (c *call) arguments(fn *ast.FuncDecl) (args []string, err error) {
	for _, p := range fn.Type.Params.List {
		for _, name := range p.Names {
			arg, err := c.argument(name.Name, p.Type)
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
		}
	}
	return args, nil
}

func (c *call) argument(name string, typ ast.Expr) (string, error) {
	switch typ := typ.(type) {
	case *ast.ArrayType:
		c.found = append(c.found, name)
		if fmt.Sprint(typ.Elt) == "bool" {
			return "bools(take(b, " + name + "))", nil
		}
		return "take(b, " + name + ")", nil
	case *ast.StarExpr:
		switch of := fmt.Sprint(typ.X); {
		case of == c.kernel.Descriptor.GoName():
			return "&a", nil
		case of == "Finish":
			c.before = append(c.before,
				"\t\t\te := rows.NewFinish(f.Add, f.Low, f.High, f.Epilogue)\n")
			return "&e", nil
		case of == "Vectors":
			c.vectors = true
			return "&vec", nil
		case c.all[c.dir+".New"+of] != nil:
			args, err := c.arguments(c.all[c.dir+".New"+of])
			c.before = append(c.before, fmt.Sprintf("\t\t\t%s := %s.New%s(%s)\n", name, c.dir, of,
				strings.Join(args, ",\n\t\t\t\t")))
			return "&" + name, err
		}
	}
	if name == "epilogue" {
		return "f.Epilogue", nil
	}
	return "", fmt.Errorf("nobody knows what parameter %s is", name)
}
