package names

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/inspect"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/pte"
)

// outputs are what is made of a program.
type outputs struct {
	c, golang, registry *codegen.Package
	program             *pte.Program
	json, svg           []byte
	text, lowered       string
}

// how much is made and checked.
type depth struct {
	compilers bool // the C compiler and Go's type checker look at it
	registry  bool
}

// generate makes all outputs of a subject.
func generate(s *subject, rename func(string) string, d depth) (*outputs, error) {
	out := &outputs{}
	build := func(lang string) (*codegen.Package, error) {
		p, _, err := s.with(rename)
		if err != nil {
			return nil, err
		}
		return compile.Package(p, compile.Options{Lang: lang, Name: "net", CPP: lang == "c"})
	}
	var err error
	if out.c, err = build("c"); err != nil {
		return nil, err
	}
	if out.golang, err = build("go"); err != nil {
		return nil, err
	}
	p, program, err := s.with(rename)
	if err != nil {
		return nil, err
	}
	if program == nil {
		made, err := compile.PTE(ir.Clone(p), compile.Options{Lang: "pte"})
		if err != nil {
			return nil, err
		}
		program = made.Program
	}
	var file bytes.Buffer
	if err := pte.Write(&file, program); err != nil {
		return nil, err
	}
	if out.program, err = pte.Read(bytes.NewReader(file.Bytes()), int64(file.Len())); err != nil {
		return nil, err
	}
	if d.registry {
		out.registry, err = registry.Generate([]registry.Program{{Name: rename("model.pte"),
			Program: program}}, registry.Options{Package: "kernels"})
		if err != nil {
			return nil, err
		}
	}
	out.lowered = p.String()
	info, err := inspect.Graph(p, compile.Options{Lang: "c"})
	if err != nil {
		return nil, err
	}
	if out.json, err = foreign.JSON(info); err != nil {
		return nil, err
	}
	var text, svg strings.Builder
	if err := info.Text(&text, inspect.Style{}); err != nil {
		return nil, err
	}
	out.text = text.String()
	if err := info.SVG(&svg); err == nil { // there may be nothing to draw
		out.svg = []byte(svg.String())
	}
	return out, nil
}

// plain are the outputs with a subject's own names, made once.
var plain sync.Map

func plainOutputs(s *subject) (*outputs, error) {
	if o, ok := plain.Load(s); ok {
		return o.(*outputs), nil
	}
	o, err := generate(s, renamed(nil), depth{registry: true})
	if err == nil {
		plain.Store(s, o)
	}
	return o, err
}

// check makes the outputs of a subject with other names and holds them against
// those with its own.
// It reports whether they can be made: names may make a program wrong.
func check(t *testing.T, s *subject, names map[int]string, d depth) bool {
	t.Helper()
	want, err := plainOutputs(s)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	got, err := generate(s, renamed(names), d)
	if err != nil {
		checkError(t, err)
		t.Logf("%s: %.300s", s.name, err)
		return false
	}
	var problems []error
	note := func(what string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", what, err))
		}
	}
	note("C", alikeC(want.c, got.c))
	note("Go", alikeGo(want.golang, got.golang))
	if d.registry {
		note("registry", alikeGo(want.registry, got.registry))
	}
	note("SVG", alikeSVG(want.svg, got.svg))
	if !json.Valid(got.json) {
		note("JSON", errors.New("it is no JSON"))
	}
	for what, text := range map[string]string{"inspect": got.text, "JSON": string(got.json),
		"SVG": string(got.svg)} {
		if foreign.Lines(text) != text {
			note(what, errors.New("it has characters that do not print"))
		}
	}
	for i, plan := range got.program.Plans {
		if a, b := len(plan.Values), len(want.program.Plans[i].Values); a != b {
			note(".pte", fmt.Errorf("%d values, not %d", a, b))
		}
	}
	if d.compilers && len(problems) == 0 {
		note("the C compiler", compileC(t, got.c))
		note("the Go type checker", typeCheck(got.golang))
	}
	if err := errors.Join(problems...); err != nil {
		t.Errorf("%s with %.1000s: %v", s.name, fmt.Sprintf("%.100q",
			slices.Collect(maps.Values(names))), err)
	}
	return true
}

// checkError: names can make a program wrong, two values called the same, but an
// error is one for people, and not of ours.
func checkError(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if strings.Contains(text, "internal error") || strings.Contains(text, "defect of etgen") {
		t.Errorf("%.500s", text)
	}
	if foreign.Lines(text) != text || strings.Contains(text, "\t") {
		t.Errorf("the error has characters that do not print: %.500q", text)
	}
}

func names(p *codegen.Package) []string {
	var list []string
	for _, f := range p.Files {
		list = append(list, f.Name)
	}
	return list
}

func alikeC(want, got *codegen.Package) error {
	if a, b := names(want), names(got); !slices.Equal(a, b) {
		return fmt.Errorf("files %q, not %q", b, a)
	}
	for i, f := range got.Files {
		if !strings.HasSuffix(f.Name, ".c") && !strings.HasSuffix(f.Name, ".h") {
			continue
		}
		a, err := cTokens(string(want.Files[i].Data))
		if err != nil {
			return fmt.Errorf("%s with its own names: %w", f.Name, err)
		}
		b, err := cTokens(string(f.Data))
		if err == nil {
			err = alike(a, b)
		}
		if err == nil && foreign.Lines(string(f.Data)) != string(f.Data) {
			err = errors.New("it has characters that do not print")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func alikeGo(want, got *codegen.Package) error {
	if a, b := names(want), names(got); !slices.Equal(a, b) {
		return fmt.Errorf("files %q, not %q", b, a)
	}
	for i, f := range got.Files {
		if !strings.HasSuffix(f.Name, ".go") {
			continue
		}
		a, commentsA, err := goTokens(want.Files[i].Data)
		if err != nil {
			return fmt.Errorf("%s with its own names: %w", f.Name, err)
		}
		b, commentsB, err := goTokens(f.Data)
		if err == nil {
			err = alike(a, b)
		}
		if err == nil {
			if x, y := directives(commentsA), directives(commentsB); !slices.Equal(x, y) {
				err = fmt.Errorf("directives %q, not %q", y, x)
			}
		}
		if err == nil {
			err = alikeDecls(want.Files[i].Data, f.Data)
		}
		if err == nil && foreign.Lines(string(f.Data)) != string(f.Data) {
			err = errors.New("it has characters that do not print")
		}
		if formatted, ferr := format.Source(f.Data); err == nil && (ferr != nil ||
			!bytes.Equal(formatted, f.Data)) {
			err = errors.New("gofmt changes it")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// alikeDecls: both files parse and declare as many things of the same kinds, no two
// of one name.
func alikeDecls(want, got []byte) error {
	kinds := func(src []byte) ([]string, error) {
		f, err := parser.ParseFile(token.NewFileSet(), "", src,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		var list []string
		seen := map[string]bool{}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				list = append(list, fmt.Sprintf("func %v %d", d.Recv != nil,
					d.Type.Params.NumFields()))
				key := fmt.Sprint(d.Recv != nil, d.Name.Name)
				if d.Recv != nil {
					key += fmt.Sprint(types.ExprString(d.Recv.List[0].Type))
				}
				if seen[key] {
					return nil, fmt.Errorf("two functions are called %s", d.Name.Name)
				}
				seen[key] = true
			case *ast.GenDecl:
				list = append(list, fmt.Sprintf("%v %d", d.Tok, len(d.Specs)))
			}
		}
		return list, nil
	}
	a, err := kinds(want)
	if err != nil {
		return err
	}
	b, err := kinds(got)
	if err != nil {
		return err
	}
	if !slices.Equal(a, b) {
		return fmt.Errorf("declarations %q, not %q", b, a)
	}
	return nil
}

// alikeSVG: both are XML of the same elements.
func alikeSVG(want, got []byte) error {
	elements := func(data []byte) (list []string, err error) {
		d := xml.NewDecoder(bytes.NewReader(data))
		for {
			t, err := d.Token()
			if err == io.EOF {
				return list, nil
			}
			if err != nil {
				return nil, err
			}
			if e, ok := t.(xml.StartElement); ok {
				attrs := e.Name.Local
				for _, a := range e.Attr {
					attrs += " " + a.Name.Local
				}
				list = append(list, attrs)
			} else if _, ok := t.(xml.CharData); !ok {
				if _, ok := t.(xml.EndElement); !ok {
					return nil, fmt.Errorf("a %T", t)
				}
			}
		}
	}
	if _, err := elements(want); err != nil {
		return err
	}
	list, err := elements(got)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !slices.Contains([]string{"svg", "style", "g", "title", "rect", "path", "text"},
			strings.Fields(e)[0]) {
			return fmt.Errorf("an element %s", e)
		}
	}
	return nil
}

// cxxHeaders is what an application may include before ours, in C++.
const cxxHeaders = "#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n" +
	"#include <cerrno>\n#include <climits>\n#include <complex>\n"

// looking are the flags of compilers that look at packages.
var looking = []string{"-Werror", "-Wall", "-Wextra", "-pedantic"}

// headers is a folder with cxxHeaders, and with what the compiler makes of them: each program
// includes them, and they take nine tenths of its time.
var headers struct {
	dir string
	sync.Once
	err error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "etgen-names-")
	if err != nil {
		panic(err)
	}
	headers.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// precompiled makes what is in the folder of headers, once.
func precompiled(gcc string) error {
	headers.Do(func() {
		name := filepath.Join(headers.dir, "std.hpp")
		if headers.err = os.WriteFile(name, []byte(cxxHeaders), 0o666); headers.err != nil {
			return
		}
		args := append(slices.Clone(looking), "-x", "c++-header", name, "-o", name+".gch")
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			headers.err = fmt.Errorf("%w: %.2000s", err, out)
		}
	})
	return headers.err
}

// compileC has the C compiler look at a package, as C99 and as C++.
func compileC(t *testing.T, p *codegen.Package) error {
	gcc, err := toolchain.Find("gcc")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := p.Write(t.Context(), dir); err != nil {
		return err
	}
	// What an application may include before ours.
	all := "#include <math.h>\n#include <complex.h>\n#include <stdio.h>\n#include " +
		"<stdlib.h>\n#include <string.h>\n#include <errno.h>\n#include <limits.h>\n#include " +
		"<float.h>\n#include \"net.h\"\n"
	cxx := "#include \"std.hpp\"\n#include \"net.hpp\"\n"
	for name, text := range map[string]string{"user.c": all, "user.cpp": cxx} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	c, _ := filepath.Glob(filepath.Join(dir, "*.c"))
	own := slices.DeleteFunc(slices.Clone(c), func(s string) bool {
		return strings.HasSuffix(s, "user.c")
	})
	run := func(args ...string) error {
		args = slices.Concat([]string{"-fsyntax-only"}, looking, args)
		out, err := exec.Command(gcc, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %.2000s", err, out)
		}
		return nil
	}
	if err := run(append([]string{"-std=c99"}, c...)...); err != nil {
		return err
	}
	if err := precompiled(gcc); err != nil {
		return err
	}
	return run(append([]string{"-I" + headers.dir, "-Winvalid-pch", "-x", "c++",
		filepath.Join(dir, "user.cpp")}, own...)...)
}

var (
	fset     = token.NewFileSet()
	standard = sync.OnceValue(func() types.Importer {
		// -trimpath takes it out of the test
		if root, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
			build.Default.GOROOT = strings.TrimSpace(string(root))
		}
		return importer.ForCompiler(fset, "source", nil)
	})
	checking sync.Mutex
)

// typeCheck has Go's type checker look at a package, as for a machine without
// assembly.
func typeCheck(p *codegen.Package) error {
	checking.Lock()
	defer checking.Unlock()
	var files []*ast.File
	for _, f := range p.Files {
		if !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_amd64.go") ||
			strings.HasSuffix(f.Name, "_arm64.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, parsed)
	}
	_, err := (&types.Config{Importer: standard()}).Check(p.Name, fset, files, nil)
	return err
}
