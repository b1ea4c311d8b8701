package golang

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// customKernels is what a package needs of the custom operators that it calls.
type customKernels struct {
	kernels *custom.Kernels
	imports map[string]string // paths of the kernels' packages by their names in the package
	text    strings.Builder   // declarations that wait to be printed
	failed  string            // the name of the function that makes an error of a panic
}

// importSpec is a path as an import declaration has it, with the name where that is another.
func importSpec(spec string) string {
	name, p, named := strings.Cut(spec, " ")
	if !named {
		return fmt.Sprintf("%q", spec)
	}
	if path.Base(p) == name {
		return fmt.Sprintf("%q", p)
	}
	return fmt.Sprintf("%s %q", name, p)
}

// importsOf returns paths with those of the kernels' packages that f refers to.
func (c *customKernels) importsOf(f *ast.File, paths []string) []string {
	if len(c.imports) == 0 {
		return paths
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && c.imports[id.Name] != "" {
				spec := id.Name + " " + c.imports[id.Name]
				if !slices.Contains(paths, spec) {
					paths = append(paths, spec)
				}
			}
		}
		return true
	})
	return paths
}

// take returns the declarations that wait to be printed.
func (c *customKernels) take() string {
	defer c.text.Reset()
	return c.text.String()
}

// customError is the result of a function that calls a custom operator's kernel.
const customError = "failure"

// invoke writes the call of a custom operator's kernel, which is the whole of a function.
func (p *printer) invoke(s *loop.Invoke) {
	if s.Op.Name == ir.CallDelegate {
		p.delegate(s)
		return
	}
	op := foreign.Of(s.Op.Name)
	f := p.unit.custom.kernels.Function(s.Op.Name)
	if f == nil {
		must.Check(fmt.Errorf("the custom operator %s has no kernel in Go: write one, with a comment "+
			"//%s %s, and name its package with --kernels", op, custom.Mark, foreign.Of(s.Op.String())))
	}
	in := &invocation{printer: p, f: f, pkg: p.unit.kernelPackage(f)}
	var args []string
	for i, a := range s.Args {
		if a.Kind == loop.List && f.Params[i].Elem == "" {
			args = append(args, in.numbers(f.Params[i], a.List))
		} else {
			args = append(args, in.actual(f.Params[i], a, i < len(s.Op.Args) && s.Op.Args[i].Type.Optional))
		}
	}
	p.line("defer %s(%s, &%s)", p.unit.customFailed(), op.GoLiteral(), customError)
	call := fmt.Sprintf("%s.%s(%s)", in.pkg, f.Name, strings.Join(args, ", "))
	if f.Err {
		p.line("return %s", call)
		return
	}
	p.line("%s\nreturn nil", call)
}

// kernelPackage returns the name that a kernel's package has in the output.
func (u *unit) kernelPackage(f *custom.Function) string {
	for name, p := range u.custom.imports {
		if p == f.Path {
			return name
		}
	}
	if u.custom.imports == nil {
		u.custom.imports = map[string]string{}
	}
	name := u.scope.TakeAround(f.Pkg)
	u.custom.imports[name] = f.Path
	return name
}

// customFailed returns the name of the function that makes an error of what a kernel fails with.
func (u *unit) customFailed() string {
	if u.custom.failed == "" {
		u.custom.failed = u.scope.Take("kernelFailed")
		fmt.Fprintf(&u.custom.text, `
// %s says which custom operator's kernel has failed, by an error or a panic.
func %[1]s(op string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: custom operator %%s: its kernel panicked: %%v", op, r)
	} else if *err != nil {
		*err = fmt.Errorf("%[2]s: custom operator %%s: %%w", op, *err)
	}
}
`, u.custom.failed, u.name)
	}
	return u.custom.failed
}

// invocation writes the arguments of a kernel's call.
type invocation struct {
	*printer
	f   *custom.Function
	pkg string
}

// actual is what the kernel gets as a parameter.
func (in *invocation) actual(to custom.Param, a loop.Actual, optional bool) string {
	none := false
	if a.Kind == loop.Constant {
		_, none = a.Const.(ir.None)
	}
	switch {
	case a.Kind == loop.List:
		texts := seq.Map(a.List, func(x loop.Actual) string { return in.actual(to, x, true) })
		return in.qualified(to.Type) + "{" + strings.Join(texts, ", ") + "}"
	case none && to.Struct != "":
		return in.pkg + "." + to.Struct + "{}"
	case none:
		return "nil"
	case to.Elem != "":
		return in.tensor(to, a)
	case optional && strings.HasPrefix(to.Type, "*"):
		name := in.scope.Take(camel(to.Name))
		in.line("var %s %s = %s", name, to.Type[1:], in.number(to.Type[1:], a))
		return "&" + name
	}
	return in.number(to.Type, a)
}

// qualified is a type as the kernel's package writes it, for another package.
func (in *invocation) qualified(typ string) string {
	elem := strings.TrimLeft(typ, "[]")
	if in.structOf(elem) {
		return strings.TrimSuffix(typ, elem) + in.pkg + "." + elem
	}
	return typ
}

func (in *invocation) structOf(name string) bool {
	return slices.ContainsFunc(in.f.Params, func(p custom.Param) bool { return p.Struct == name })
}

// tensor is the elements of a tensor, or a struct of them with their sizes.
func (in *invocation) tensor(to custom.Param, a loop.Actual) string {
	buf, d := a.Buf, in.dtypes[a.Buf]
	if a.Kind == loop.ReadTensor {
		buf, d = a.Value.Buf, a.Value.DType
	}
	if goType(d) != to.Elem {
		must.Fail("kernel %s (%s) takes %s of %s, and the model gives it %s", in.f.Name, in.f.Place,
			to.Name, to.Elem, d)
	}
	n := in.index(sym.Mul(a.Sizes...), precAny)
	data := fmt.Sprintf("%s[:%s:%s]", in.buf(buf), n, n)
	if to.Struct == "" {
		return data
	}
	text := fmt.Sprintf("%s.%s{Data: %s", in.pkg, to.Struct, data)
	if to.HasSizes {
		text += ", Sizes: " + in.sizes(to.Name+" sizes", a.Sizes)
	}
	if to.HasStrides {
		text += ", Strides: " + in.sizes(to.Name+" strides", ir.TensorOf(d, a.Sizes...).Strides)
	}
	return text + "}"
}

// sizes is a slice of sizes: a variable of the package if they are constant, so that no call makes
// it anew.
func (in *invocation) sizes(name string, values []sym.Expr) string {
	texts, constant := make([]string, len(values)), true
	for i, v := range values {
		_, known := v.Const()
		constant = constant && known
		texts[i] = in.index(v, precAny)
	}
	return in.slice(name, "[]int", texts, constant)
}

func (in *invocation) slice(name, typ string, texts []string, constant bool) string {
	value := typ + "{" + strings.Join(texts, ", ") + "}"
	if !constant {
		return value
	}
	v := in.unit.scope.Take(camel(in.f.Name + "_" + strings.ReplaceAll(name, " ", "_")))
	fmt.Fprintf(&in.unit.custom.text, "\nvar %s = %s\n", v, value)
	return v
}

// numbers is a list of numbers.
func (in *invocation) numbers(to custom.Param, list []loop.Actual) string {
	texts, constant := make([]string, len(list)), true
	elem := strings.TrimPrefix(to.Type, "[]")
	for i, a := range list {
		constant = constant && a.Kind == loop.Constant
		texts[i] = in.number(elem, a)
	}
	return in.slice(to.Name, to.Type, texts, constant)
}

// number is a number or string that a kernel takes as typ.
func (in *invocation) number(typ string, a loop.Actual) string {
	switch a.Kind {
	case loop.IndexNumber:
		if typ == "int" {
			return in.index(a.Index, precAny)
		}
		return typ + "(" + in.index(a.Index, precAny) + ")"
	case loop.Number:
		return typ + "(" + in.arg(a.Value) + ")"
	}
	switch c := a.Const.(type) {
	case ir.Int:
		return fmt.Sprint(int64(c))
	case ir.Float:
		return in.arg(expr.Float(ir.Float64, float64(c)))
	case ir.BoolArg:
		return fmt.Sprint(bool(c))
	case ir.Str:
		return foreign.Of(string(c)).GoLiteral()
	case ir.DTypeArg:
		number, _ := pte.ScalarTypeOf(ir.DType(c))
		return fmt.Sprint(int(number))
	}
	must.Fail("a custom operator's argument is %s, which kernels in Go do not take",
		ir.ArgString(a.Const))
	return ""
}
