package way

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// goAPI is what a generated package declares.
type goAPI struct {
	methods []*goMethod
	sizes   map[string][]string // fields of the Sizes structs, by type
	reset   bool
}

// goMethod is a method of Model.
type goMethod struct {
	name    string
	params  []string // types
	results []string // types, the error left out
	sizes   []string // fields of its Sizes struct
}

// method finds a method of the model, by its number, in the package.
func (api *goAPI) method(i int) (*goMethod, error) {
	if i >= len(api.methods) {
		return nil, fmt.Errorf("the generated package has %d methods, not number %d",
			len(api.methods), i)
	}
	found := *api.methods[i]
	n := len(found.results)
	if n == 0 || found.results[n-1] != "error" {
		return nil, fmt.Errorf("method %s does not return an error last", found.name)
	}
	found.results = found.results[:n-1]
	for _, p := range found.params {
		if sizes, ok := api.sizes[strings.TrimPrefix(p, "*")]; ok {
			found.sizes = sizes
		}
	}
	return &found, nil
}

func (u *unit) goAPI() (*goAPI, error) {
	api := &goAPI{sizes: map[string][]string{}}
	for _, f := range u.pkg.Files {
		if !strings.HasSuffix(f.Name, ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data,
			parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if !ofModel(d) || !d.Name.IsExported() {
					continue
				}
				if d.Name.Name == "Reset" {
					api.reset = true
					continue
				}
				if d.Name.Name == "BeginRows" {
					continue
				}
				api.methods = append(api.methods, &goMethod{
					name: d.Name.Name, params: fieldTypes(d.Type.Params),
					results: fieldTypes(d.Type.Results)})
			case *ast.GenDecl:
				api.readSizes(d)
			}
		}
	}
	return api, nil
}

// ofModel reports whether a function is a method of Model.
func ofModel(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Equal(fieldTypes(d.Recv), []string{"*Model"})
}

// readSizes reads the fields of Sizes structs.
func (api *goAPI) readSizes(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok || !strings.HasSuffix(t.Name.Name, "Sizes") {
			continue
		}
		if s, ok := t.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					api.sizes[t.Name.Name] = append(api.sizes[t.Name.Name], name.Name)
				}
			}
		}
	}
}

// fieldTypes returns the type of every parameter.
func fieldTypes(list *ast.FieldList) []string {
	var types []string
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		var b bytes.Buffer
		format.Node(&b, token.NewFileSet(), f.Type)
		for range max(len(f.Names), 1) {
			types = append(types, b.String())
		}
	}
	return types
}

// goCall writes a function of type model for a method of the unit.
func (u *unit) goCall(api *goMethod, method int) (string, error) {
	l := u.layouts[method]
	var before, args, results, after []string
	params := api.params
	next := 0 // argument on the wire
	take := func() (string, error) {
		if len(params) == 0 {
			return "", fmt.Errorf("method %s has fewer parameters than the model", api.name)
		}
		t := params[0]
		params = params[1:]
		return t, nil
	}
	for _, p := range l.method.Inputs {
		if isConstant(p) {
			continue
		}
		t, err := take()
		if err != nil {
			return "", err
		}
		args = append(args, goValue(t, next))
		if rows := l.method.Rows; rows != nil {
			before = append(before, fmt.Sprintf("rows, some := %s, 0", args[len(args)-1]))
			args[len(args)-1] = fmt.Sprintf("rows[:some*%d]", rows.Len)
		}
		next++
	}
	if l.method.Rows != nil {
		results = append(results, "done")
	}
	for _, p := range l.method.Outputs {
		switch {
		case p.Buf != nil:
			t, err := take()
			if err != nil {
				return "", err
			}
			args = append(args, goValue(t, next))
			next++
		case hasResult(p):
			if len(results) == len(api.results) {
				return "", fmt.Errorf("method %s has fewer results than the model", api.name)
			}
			if !isNumber(p) {
				results = append(results, "_")
				continue
			}
			name := fmt.Sprintf("r%d", len(results))
			after = append(after, goStore(api.results[len(results)], name, next))
			results = append(results, name)
			next++
		}
	}
	if l.dims() > 0 {
		if _, err := take(); err != nil {
			return "", err
		}
		if len(api.sizes) != l.dims() {
			return "",
				fmt.Errorf(
					"the Sizes of method %s have %d fields, the model has %d dynamic dimensions",
					api.name, len(api.sizes), l.dims())
		}
		before = append(before, fmt.Sprintf("dims := slice[int64](args[%d])", next),
			fmt.Sprintf("sizes := pkg.%sSizes{}", api.name))
		for i, f := range api.sizes {
			before = append(before, fmt.Sprintf("sizes.%s = int(dims[%d])", f, i))
			after = append(after, fmt.Sprintf("dims[%d] = int64(sizes.%s)", i, f))
		}
		args = append(args, "&sizes")
		next++
	}
	if u.result.Steps != nil {
		before = append(before, fmt.Sprintf("probeBegin_%s()", u.name))
		after = append(after, fmt.Sprintf("*at[probeCounts_%s](args[%d]) = probed_%s", u.name,
			next, u.name))
	}
	if len(params) > 0 || len(results) != len(api.results) {
		return "", fmt.Errorf("method %s has more parameters or results than the model", api.name)
	}
	results = append(results, "err")
	call := fmt.Sprintf("%s := model_%s.%s(%s)", strings.Join(results, ", "), u.name, api.name,
		strings.Join(args, ", "))
	if rows := l.method.Rows; rows != nil {
		before = append(before, "var done bool\nvar err error")
		call = fmt.Sprintf(rowsOfGo, rows.Len, strings.Replace(call, ":=", "=", 1))
	}
	return fmt.Sprintf(goGlueCall, u.name, method, u.name, strings.Join(before, "\n"), call,
		strings.Join(after, "\n")), nil
}

// rowsOfGo hands over rows of so many elements: none, one, two and so on.
const rowsOfGo = `for next := 0; !done && err == nil; next = (next + 1) %% 12 {
		some = min(next, len(rows)/%[1]d)
		%[2]s
		rows = rows[some*%[1]d:]
	}`

const goGlueHead = `package main

import (
	"time"

	pkg "models/%s"
)

var model_%s *pkg.Model

func prepare_%s(reset bool) {
	if model_%s == nil {
		model_%s = %s
		%s
	}
	if model := model_%s; reset {
		%s
	}
}
`

const goGlueCall = `
func call_%s_%d(args [][]byte, reset bool) (time.Duration, error) {
	prepare_%s(reset)
	%s
	start := time.Now()
	%s
	took := time.Since(start)
	%s
	return took, err
}
`

func (u *unit) goReset(api *goAPI) string {
	if !api.reset {
		return "_ = model // it has no state"
	}
	return "model.Reset()"
}

// hasResult reports whether an output is returned: numbers, constant ones too.
func hasResult(p native.Port) bool {
	switch p.Value.(type) {
	case nil, ir.Int, ir.Float, ir.BoolArg:
		return p.Buf == nil
	}
	return false
}

// goValue is wire argument i as a Go value of type t.
func goValue(t string, i int) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return fmt.Sprintf("slice[%s](args[%d])", t[2:], i)
	case strings.HasPrefix(t, "*"):
		return fmt.Sprintf("at[%s](args[%d])", t[1:], i)
	case t == "bool":
		return fmt.Sprintf("*at[int64](args[%d]) != 0", i)
	case strings.HasPrefix(t, "float"):
		return fmt.Sprintf("%s(*at[float64](args[%d]))", t, i)
	}
	return fmt.Sprintf("%s(*at[int64](args[%d]))", t, i)
}

// goStore puts a result of type t into wire argument i.
func goStore(t, name string, i int) string {
	switch {
	case t == "bool":
		return fmt.Sprintf("*at[int64](args[%d]) = 0\nif %s { *at[int64](args[%d]) = 1 }",
			i, name, i)
	case strings.HasPrefix(t, "float"):
		return fmt.Sprintf("*at[float64](args[%d]) = float64(%s)", i, name)
	}
	return fmt.Sprintf("*at[int64](args[%d]) = int64(%s)", i, name)
}
