package structure

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/etgen/etgen/golden/tier"
)

// printers are the packages that write what tools and people read.
var printers = []string{"codegen", "codegen/c", "codegen/golang", "codegen/registry",
	"codegen/inspect"}

const foreignPath = module + "/ir/foreign"

// mayReadRaw are the functions that may take foreign text as it is: they compare it,
// look things up by it, store it or make a name of it. None of them prints it.
var mayReadRaw = []string{
	"codegen/profile.Profile.PProf", // a binary form
	// ir's words for it, and a text again
	"lower/native.docOf", "lower/native.kernelName", "lower/native.Origin.Base",
	"lower/native.Location.graph",
	"lower/native.Origin.wrap",  // for ir.Error, which quotes it
	"lower/native.builder.file", // for ir.Error, which quotes it
	"lower/native.newLayout",    // the name of a problem of package plan
	"lower/native.printer",      // the text form quotes it
	"lower/native.originsText",  //
	"codegen/compile.Print",     // the package's name follows from the file's
	"codegen/registry.inputOf",  // the number of an input, from its name
	"rt/optimize.describe",      // events of the runtime carry operators as they are
	"golden/measure.",           // reports, whose printer escapes cells
	"golden/way.",               // traces of .pte files and look-ups
}

// A printer takes no foreign text raw, and others that do are listed.
func TestRawText(t *testing.T) {
	used := map[string]bool{}
	for _, p := range typed(t) {
		pkg := strings.TrimPrefix(p.PkgPath, module+"/")
		if pkg == "ir/foreign" {
			continue
		}
		eachFunction(p, func(name string, body ast.Node) {
			ast.Inspect(body, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Raw" || !isForeign(p.TypesInfo.TypeOf(sel.X)) {
					return true
				}
				at := pkg + "." + name
				used[at] = true
				if !slices.ContainsFunc(mayReadRaw, func(may string) bool {
					return strings.HasPrefix(at, may)
				}) {
					t.Errorf("%s: %s reads foreign text raw", p.Fset.Position(sel.Pos()), at)
				}
				return true
			})
		})
	}
	for _, may := range mayReadRaw {
		found := false
		for at := range used {
			found = found || strings.HasPrefix(at, may)
		}
		if !found {
			t.Errorf("%s reads no foreign text: take it off the list", may)
		}
	}
}

// messages are the functions that may be given foreign text with anything else: what
// they make is for people, or foreign text again, and a Text formats itself in
// quotation marks.
var messages = []string{"fmt.Errorf", foreignPath + ".Format", module + "/codegen/golang.fail"}

// No printer hands foreign text, or what holds some, to what takes anything: to fmt,
// to a writer's line. Nor does it hand on strings of the structures that files are
// read into.
func TestPrintersEscape(t *testing.T) {
	checked := 0
	for _, p := range typed(t) {
		if !slices.Contains(printers, strings.TrimPrefix(p.PkgPath, module+"/")) {
			continue
		}
		checked++
		for _, problem := range unescaped(p) {
			t.Error(problem)
		}
	}
	if checked != len(printers) {
		t.Errorf("%d printers are checked, not %d", checked, len(printers))
	}
}

// unescaped returns the places of a package where foreign text may be printed.
func unescaped(p *packages.Package) []string {
	var problems []string
	report := func(n ast.Node, what string) {
		problems = append(problems, p.Fset.Position(n.Pos()).String()+": "+what)
	}
	describes := p.PkgPath == module+"/codegen/inspect"
	for _, file := range p.Syntax {
		allowed := map[ast.Expr]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				anyArgs(p, n, func(arg ast.Expr) {
					if holdsForeign(p.TypesInfo.TypeOf(arg), 0) &&
						!slices.Contains(messages, calledName(p, n)) {
						report(arg, "foreign text is handed to "+calledName(p, n))
					}
				})
				if takesFiles(p, n) {
					for _, arg := range n.Args {
						allow(arg, allowed)
					}
				}
				if describes && strings.HasPrefix(calledName(p, n), "fmt.Fprint") &&
					!slices.Contains(writes, function(file, n)) {
					report(n, "fmt writes what may be of a file")
				}
				if source(p, n) && !allowed[n] && !describes {
					report(n, "text of a file, of "+calledName(p, n)+", is used as it is")
				}
			case *ast.BinaryExpr:
				if n.Op.String() == "==" || n.Op.String() == "!=" {
					allow(n.X, allowed)
					allow(n.Y, allowed)
				}
			case *ast.IndexExpr:
				allow(n.Index, allowed)
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					allow(to, allowed)
				}
			case *ast.SelectorExpr:
				if source(p, n) && !allowed[n] && !describes {
					report(n, "text of a file, "+n.Sel.Name+", is used as it is")
				}
			}
			return true
		})
	}
	return problems
}

// writes are the functions of codegen/inspect that write. It gathers descriptions of
// files, strings in them, so all of its text passes one of these, which escape it.
var writes = []string{"line", "add", "SVG"}

// function returns the name of the function that a node is in.
func function(file *ast.File, n ast.Node) string {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= n.Pos() && n.Pos() < f.End() {
			return f.Name.Name
		}
	}
	return ""
}

// allow notes an expression and, of concatenations, their parts.
func allow(e ast.Expr, allowed map[ast.Expr]bool) {
	allowed[e] = true
	switch e := e.(type) {
	case *ast.ParenExpr:
		allow(e.X, allowed)
	case *ast.BinaryExpr:
		allow(e.X, allowed)
		allow(e.Y, allowed)
	}
}

// takesFiles reports whether a call makes foreign text or a message of its arguments,
// or looks them up.
func takesFiles(p *packages.Package, call *ast.CallExpr) bool {
	name := calledName(p, call)
	for _, ok := range []string{
		foreignPath + ".", module + "/kernels/ops.", module + "/lower/raise.", module + "/ir/pte.",
		module + "/ir/pte/form.", module + "/ir.", "strings.Has", "strings.Contains",
		"strings.Trim", "len",
	} {
		if strings.HasPrefix(name, ok) {
			return true
		}
	}
	return false
}

// source reports whether an expression is a string that comes from a file as it is:
// a field of a structure of packages ir or ir/pte, or what a method of theirs makes
// of one.
func source(p *packages.Package, e ast.Expr) bool {
	basic, ok := p.TypesInfo.TypeOf(e).(*types.Basic)
	if !ok || basic.Kind() != types.String {
		return false
	}
	var obj types.Object
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if s := p.TypesInfo.Selections[e]; s != nil && s.Kind() == types.FieldVal {
			obj = s.Obj()
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 { // string(x) of a named string
			if tv := p.TypesInfo.Types[e.Fun]; tv.IsType() {
				if named, ok := p.TypesInfo.TypeOf(e.Args[0]).(*types.Named); ok {
					obj = named.Obj()
				}
				break
			}
		}
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok {
			if s := p.TypesInfo.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
				obj = s.Obj()
				if slices.Contains(harmless, types.TypeString(s.Recv(), nil)+"."+sel.Sel.Name) {
					return false
				}
			}
		}
	}
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	path := obj.Pkg().Path()
	return path == module+"/ir" || path == module+"/ir/pte" || path == module+"/ir/pt2"
}

// harmless are methods whose words are ours.
var harmless = []string{
	module + "/ir.DType.String", module + "/ir.DType.Short", module + "/ir.Type.String", module +
		"/ir.Kind.String",
	module + "/ir/pte.ScalarType.String",
	"*" + module + "/ir/pte.Tensor.TypeString",
}

// anyArgs calls do for every argument of a call that becomes an interface.
func anyArgs(p *packages.Package, call *ast.CallExpr, do func(ast.Expr)) {
	tv := p.TypesInfo.Types[call.Fun]
	if tv.IsType() {
		if types.IsInterface(tv.Type) {
			do(call.Args[0])
		}
		return
	}
	sig, ok := tv.Type.Underlying().(*types.Signature)
	if !ok {
		return
	}
	for i, arg := range call.Args {
		var param types.Type
		switch n := sig.Params().Len(); {
		case sig.Variadic() && i >= n-1:
			param = sig.Params().At(n - 1).Type()
			if s, ok := param.(*types.Slice); ok && !call.Ellipsis.IsValid() {
				param = s.Elem()
			}
		case i < n:
			param = sig.Params().At(i).Type()
		}
		if _, isParam := param.(*types.TypeParam); param != nil && !isParam &&
			types.IsInterface(param) {
			if empty, ok := param.Underlying().(*types.Interface); ok && empty.NumMethods() == 0 {
				do(arg)
			}
		}
	}
}

// calledName is "fmt.Errorf", or "(T).m" of a method, "" of a function value.
func calledName(p *packages.Package, call *ast.CallExpr) string {
	var id *ast.Ident
	switch f := call.Fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.IndexExpr:
		id, _ = f.X.(*ast.Ident)
	}
	if id == nil {
		return ""
	}
	switch obj := p.TypesInfo.Uses[id].(type) {
	case *types.Func:
		if obj.Pkg() != nil {
			return obj.Pkg().Path() + "." + obj.Name()
		}
		return obj.Name()
	case nil:
		return ""
	default:
		return obj.Name()
	}
}

func isForeign(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == foreignPath &&
		named.Obj().Name() == "Text"
}

// holdsForeign reports whether fmt could reach foreign text in a value of the type:
// fields, elements and pointers to them.
func holdsForeign(t types.Type, deep int) bool {
	if t == nil || deep > 4 {
		return false
	}
	if isForeign(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return holdsForeign(u.Elem(), deep+1)
	case *types.Slice:
		return holdsForeign(u.Elem(), deep+1)
	case *types.Array:
		return holdsForeign(u.Elem(), deep+1)
	case *types.Map:
		return holdsForeign(u.Key(), deep+1) || holdsForeign(u.Elem(), deep+1)
	case *types.Struct:
		for i := range u.NumFields() {
			if holdsForeign(u.Field(i).Type(), deep+1) {
				return true
			}
		}
	}
	return false
}

// eachFunction calls do for the functions of a package by name, "T.m" of a method.
func eachFunction(p *packages.Package, do func(name string, body ast.Node)) {
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			name := ""
			if f, ok := d.(*ast.FuncDecl); ok {
				name = f.Name.Name
				if f.Recv != nil {
					name = strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." +
						name
				}
			}
			do(name, d)
		}
	}
}

// What the check is there to find, it finds.
func TestUnescaped(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const bad = `package codegen

import (
	"fmt"
	"io"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

func bad(w io.Writer, m *native.Method, o native.Origin, n *ir.Node, a ir.Str, line func(string, ...any)) string {
	fmt.Fprintf(w, "/* %s */", m.Name)
	fmt.Fprint(w, o)
	fmt.Fprintln(w, m.Inputs)
	line("%v", m)
	_ = any(m.Name)
	s := "// " + n.Name
	s += string(a)
	return s + n.Loc.String()
}

func good(w io.Writer, m *native.Method, n *ir.Node) error {
	fmt.Fprintf(w, "/* %s */", m.Name.Comment())
	fmt.Fprintf(w, "/* %s */", foreign.Of(n.Name).Comment())
	return fmt.Errorf("method %s", m.Name)
}
`
	file, err := filepath.Abs("../../codegen/bad.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range loadTyped(t, map[string][]byte{file: []byte(bad)}, "./codegen") {
		for _, problem := range unescaped(p) {
			found++
			if !strings.Contains(problem, "bad.go:1") && !strings.Contains(problem, "bad.go:2") {
				t.Error(problem)
			}
		}
	}
	if found != 8 {
		t.Errorf("%d problems are found, not 8", found)
	}
}

// typed loads what prints foreign text or may read it raw.
var typedOnce []*packages.Package

func typed(t *testing.T) []*packages.Package {
	t.Helper()
	if typedOnce == nil {
		typedOnce = loadTyped(t, nil, "./codegen/...", "./lower/native", "./rt/...", "./cmd/...",
			"./golden/measure", "./golden/way")
	}
	return typedOnce
}

func loadTyped(t *testing.T, overlay map[string][]byte, patterns ...string) []*packages.Package {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Overlay: overlay,
		Mode: packages.NeedName | packages.NeedImports | packages.NeedFiles |
			packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo,
		Dir: "../..",
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
	}
	return loaded
}
