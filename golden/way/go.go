package way

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/etgen/etgen/golden/session"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// Go compiles models to Go packages and runs them in one program.
type Go struct{ Settings Settings }

// Name is "go".
func (Go) Name() string { return "go" }

// Run implements [Way].
func (w Go) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	runBatch(ctx, w.Settings, "go", jobs, buildGo, done)
}

// buildGo builds a module with a package per unit. Units that do not compile
// are left out and it is tried again.
func buildGo(ctx context.Context, dir string, units []*unit) (*session.Program, []*unit, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, nil, errors.New("go is not installed, which --via=go needs")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module models\n\ngo 1.24\n"), 0o666); err != nil {
		return nil, nil, err
	}
	if err := session.WriteGo(dir); err != nil {
		return nil, nil, err
	}
	exe := filepath.Join(dir, "models.exe")
	for {
		var ready []*unit
		for _, u := range units {
			if u.result.Err == nil {
				u.result.Err = guard(u.writeGoGlue)
			}
			if u.result.Err == nil {
				ready = append(ready, u)
			} else {
				os.Remove(u.goGlue())
			}
		}
		if len(ready) == 0 {
			return nil, nil, nil
		}
		if err := writeGoTable(dir, ready); err != nil {
			return nil, nil, err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", exe, ".")
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err == nil {
			return &session.Program{Command: []string{exe}}, ready, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if !blameGo(ready, string(out)) {
			return nil, nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
}

// blameGo gives the compiler's messages to the units they are about.
func blameGo(units []*unit, out string) bool {
	found := false
	place := regexp.MustCompile(`^(?:\./)?(?:m(\d+)/|glue(\d+)\.go)\S* (.*)`)
	for line := range strings.Lines(out) {
		m := place.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		for _, u := range units {
			if n := fmt.Sprint(u.index); (n == m[1] || n == m[2]) && u.result.Err == nil {
				u.result.Err = fmt.Errorf("the Go compiler: %s", strings.TrimSpace(line))
				found = true
			}
		}
	}
	return found
}

func (u *unit) goGlue() string {
	return filepath.Join(filepath.Dir(u.dir), fmt.Sprintf("glue%d.go", u.index))
}

// writeGoGlue writes the function that calls the unit's method, by what the
// package declares.
func (u *unit) writeGoGlue() error {
	api, err := u.goAPI()
	if err != nil {
		return err
	}
	text, err := u.goGlueText(api)
	if err != nil {
		return err
	}
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return fmt.Errorf("%w in\n%s", err, text)
	}
	return os.WriteFile(u.goGlue(), formatted, 0o666)
}

// goAPI is what a generated package declares.
type goAPI struct {
	pkg     string
	method  string
	params  []string // types
	results []string // types, the error left out
	sizes   []string // fields of the Sizes struct
	reset   bool
}

func (u *unit) goAPI() (*goAPI, error) {
	api := &goAPI{}
	found := false
	for _, f := range u.pkg.Files {
		if !strings.HasSuffix(f.Name, ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		api.pkg = file.Name.Name
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || !d.Name.IsExported() {
					continue
				}
				if d.Name.Name == "Reset" {
					api.reset = true
					continue
				}
				if !strings.EqualFold(d.Name.Name, strings.ReplaceAll(u.layout.method.Name, "_", "")) {
					continue
				}
				found = true
				api.method = d.Name.Name
				api.params = fieldTypes(d.Type.Params)
				api.results = fieldTypes(d.Type.Results)
			case *ast.GenDecl:
				api.readSizes(d)
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("the generated package has no method for %s", u.layout.method.Name)
	}
	if n := len(api.results); n == 0 || api.results[n-1] != "error" {
		return nil, fmt.Errorf("method %s does not return an error last", api.method)
	}
	api.results = api.results[:len(api.results)-1]
	return api, nil
}

// readSizes reads the fields of a Sizes struct.
func (api *goAPI) readSizes(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok || !strings.HasSuffix(t.Name.Name, "Sizes") {
			continue
		}
		if s, ok := t.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					api.sizes = append(api.sizes, name.Name)
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

// goGlueText writes a function of type model for the unit.
func (u *unit) goGlueText(api *goAPI) (string, error) {
	var before, args, results, after []string
	params := api.params
	next := 0 // argument on the wire
	take := func() (string, error) {
		if len(params) == 0 {
			return "", fmt.Errorf("method %s has fewer parameters than the model", api.method)
		}
		t := params[0]
		params = params[1:]
		return t, nil
	}
	for _, p := range u.layout.method.Inputs {
		if isConstant(p) {
			continue
		}
		t, err := take()
		if err != nil {
			return "", err
		}
		args = append(args, goValue(t, next))
		next++
	}
	for _, p := range u.layout.method.Outputs {
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
				return "", fmt.Errorf("method %s has fewer results than the model", api.method)
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
	if u.layout.dims() > 0 {
		if _, err := take(); err != nil {
			return "", err
		}
		if len(api.sizes) != u.layout.dims() {
			return "", fmt.Errorf("the Sizes of method %s have %d fields, the model has %d dynamic dimensions", api.method, len(api.sizes), u.layout.dims())
		}
		before = append(before, fmt.Sprintf("dims := slice[int64](args[%d])", next), fmt.Sprintf("sizes := pkg.%sSizes{}", api.method))
		for i, f := range api.sizes {
			before = append(before, fmt.Sprintf("sizes.%s = int(dims[%d])", f, i))
			after = append(after, fmt.Sprintf("dims[%d] = int64(sizes.%s)", i, f))
		}
		args = append(args, "&sizes")
	}
	if len(params) > 0 || len(results) != len(api.results) {
		return "", fmt.Errorf("method %s has more parameters or results than the model", api.method)
	}
	return fmt.Sprintf(goGlueForm, u.index, u.index, u.index, u.index, u.index, u.goReset(api),
		strings.Join(before, "\n"), strings.Join(append(results, "err"), ", "), u.index, api.method, strings.Join(args, ", "),
		strings.Join(after, "\n")), nil
}

const goGlueForm = `package main

import (
	"time"

	pkg "models/m%d"
)

var model%d *pkg.Model

func call%d(args [][]byte, reset bool) (time.Duration, error) {
	if model%d == nil {
		model%d = pkg.New()
	}
	if reset {
		%s
	}
	%s
	start := time.Now()
	%s := model%d.%s(%s)
	took := time.Since(start)
	%s
	return took, err
}
`

func (u *unit) goReset(api *goAPI) string {
	if !api.reset {
		return "// no state"
	}
	return fmt.Sprintf("model%d.Reset()", u.index)
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
		return fmt.Sprintf("*at[int64](args[%d]) = 0\nif %s { *at[int64](args[%d]) = 1 }", i, name, i)
	case strings.HasPrefix(t, "float"):
		return fmt.Sprintf("*at[float64](args[%d]) = float64(%s)", i, name)
	}
	return fmt.Sprintf("*at[int64](args[%d]) = int64(%s)", i, name)
}

// writeGoTable writes the table of all models.
func writeGoTable(dir string, units []*unit) error {
	var b strings.Builder
	b.WriteString("package main\n\nvar models = []model{\n")
	for _, u := range units {
		fmt.Fprintf(&b, "\tcall%d,\n", u.index)
	}
	b.WriteString("}\n")
	return os.WriteFile(filepath.Join(dir, "models.go"), []byte(b.String()), 0o666)
}
