package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// The kernels of custom operators are functions of the application, which NAME_ops.h declares. They
// are called as the operators are, without the package's prefix: the models of an application share
// them.

// customOp is a custom operator that the program calls.
type customOp struct {
	schema *aten.Schema
	name   string // of the function
}

// nameCustom names the functions of the custom operators that the program calls.
func (g *gen) nameCustom() {
	g.custom = map[string]*customOp{}
	for _, k := range g.p.Kernels {
		for _, call := range k.Invokes() {
			if g.custom[call.Op.Name] != nil || g.p.DelegateOf(call) != nil {
				continue
			}
			name := codegen.Identifier(strings.TrimSuffix(call.Op.Name, ".default"))
			if g.shared == nil && g.names.Take(name) != name {
				must.Fail("the custom operator %s is the function %s in C, and that name is taken",
					foreign.Message(call.Op.Name), name)
			}
			op := &customOp{call.Op, name}
			g.custom[call.Op.Name] = op
			g.customOrder = append(g.customOrder, op)
		}
	}
}

// opsHeader is NAME_ops.h.
func (g *gen) opsHeader() string {
	w := &writer{}
	file := g.prefix + "_ops.h"
	w.remark(append([]string{g.banner(file), ""}, fill(fmt.Sprintf(
		"The custom operators that %s.c calls. The application defines these functions. Each returns "+
			"true when it has written its results, and false if it cannot: then the method returns "+
			"%s_ERR_OPERATOR. Tensors are dense and row-major. Results do not overlap operands. A "+
			"function must not keep pointers, nor write outside of the elements that the sizes tell.",
		g.prefix, g.upper), lineWidth-3)...))
	w.raw(fmt.Sprintf(interfaceTop, g.upper+"_OPS"))
	for _, op := range g.customOrder {
		w.blank()
		w.remark(append([]string{foreign.Of(op.schema.String()).Comment()}, g.customNotes(op)...))
		w.line("%s;", g.customPrototype(op))
	}
	w.raw(headerEnd)
	return w.b.String()
}

// dtypeMacro is the constant of the headers that stands for d.
func (g *gen) dtypeMacro(d ir.DType) string {
	if d == ir.InvalidDType || d.IsComplex() || d.IsFloat() && d.Size() == 1 {
		must.Fail("a custom operator or a delegate takes or returns %s, which kernels in C do not", d)
	}
	return "ETGEN_" + strings.ToUpper(d.String())
}

// customParams are the parameters of a custom operator's function. Names are those of the schema
// where C allows them.
func (g *gen) customParams(op *customOp) []parameter {
	scope := codegen.NewScope(g.locals)
	var params []parameter
	for _, a := range op.schema.Args {
		name := scope.Take(codegen.Identifier(a.Name))
		switch elem := g.customType(a.Type.Base()); {
		case a.Type.Mutates():
			params = append(params, parameter{"const etgen_out *", name, nil})
		case a.Type.IsList():
			params = append(params, parameter{"const " + elem + pointerTo(elem), name, nil},
				parameter{"size_t ", scope.Take(name + "_count"), nil})
		case a.Type.Base().Name == "Tensor":
			params = append(params, parameter{"const " + elem + " *", name, nil})
		case a.Type.Optional && a.Type.Base().Name != "str":
			params = append(params, parameter{"const " + elem + " *", name, nil})
		default:
			params = append(params, parameter{elem + pointerEnd(elem), name, nil})
		}
	}
	for i, r := range op.schema.Returns {
		name := r.Name
		if name == "" {
			name = "out"
			if len(op.schema.Returns) > 1 {
				name += fmt.Sprint(i)
			}
		}
		params = append(params, parameter{"const etgen_out *",
			scope.Take(codegen.Identifier(name)), nil})
	}
	return params
}

// pointerTo is what makes a pointer of a type, pointerEnd what stands between a type and a name.
func pointerTo(t string) string {
	if strings.HasSuffix(t, "*") {
		return "const *"
	}
	return " *"
}

func pointerEnd(t string) string {
	if strings.HasSuffix(t, "*") {
		return ""
	}
	return " "
}

// customType is the type in C of what a schema calls t.
func (g *gen) customType(t *aten.Type) string {
	switch t.Name {
	case "Tensor":
		return "etgen_tensor"
	case "int", "SymInt":
		return "int64_t"
	case "float", "Scalar":
		return "double"
	case "bool":
		return "bool"
	case "ScalarType":
		return "etgen_dtype"
	case "str":
		return "const char *"
	}
	must.Fail("a custom operator takes a %s, which kernels in C do not", t)
	return ""
}

func (g *gen) customPrototype(op *customOp) string {
	return fmt.Sprintf("bool %s(%s)", op.name, paramList(g.customParams(op)))
}

// customNotes say what the parameters are that the schema does not tell.
func (g *gen) customNotes(op *customOp) []string {
	var written, optional []string
	for _, a := range op.schema.Args {
		switch {
		case a.Type.Mutates():
			written = append(written, a.Name)
		case a.Type.Optional:
			optional = append(optional, a.Name)
		}
	}
	var notes string
	if written != nil {
		notes += "It may write to " + strings.Join(written, ", ") + ". "
	}
	if optional != nil {
		notes += "NULL is None: " + strings.Join(optional, ", ") + "."
	}
	if notes == "" {
		return nil
	}
	return fill(foreign.Of(notes).Comment(), lineWidth-3)
}

// invoke prints the call of a custom operator's kernel, at the end of a function that returns
// whether it has succeeded.
func (p *printer) invoke(s *loop.Invoke) {
	if d := p.g.p.DelegateOf(s); d != nil {
		p.delegate(d, s)
		return
	}
	op := p.g.custom[s.Op.Name]
	var args []string
	for i, a := range s.Args {
		name, optional := "out", false
		if i < len(s.Op.Args) {
			name, optional = codegen.Identifier(s.Op.Args[i].Name), s.Op.Args[i].Type.Optional
		}
		switch {
		case a.Kind == loop.Constant && isNone(a.Const):
			args = append(args, "NULL")
		case a.Kind == loop.List:
			args = append(args, p.actualList(name, s.Op.Args[i].Type.Base(), a.List)...)
		case a.Kind == loop.ReadTensor || a.Kind == loop.WrittenTensor:
			args = append(args, "&"+p.tensor(name, a))
		case optional && s.Op.Args[i].Type.Base().Name != "str":
			t := p.g.customType(s.Op.Args[i].Type.Base())
			value := p.scope.Take(name)
			p.w.line("const %s %s = %s;", t, value, p.actual(a))
			args = append(args, "&"+value)
		default:
			args = append(args, p.actual(a))
		}
	}
	p.w.line("return %s(%s);", op.name, strings.Join(args, ", "))
}

func isNone(a ir.Arg) bool { _, none := a.(ir.None); return none }

// tensor prints a local that describes a tensor and returns its name.
func (p *printer) tensor(name string, a loop.Actual) string {
	local := p.scope.Take(name + "_tensor")
	typ := "etgen_tensor"
	if a.Kind == loop.WrittenTensor {
		typ = "etgen_out"
	}
	value := p.tensorValue(name, a)
	p.w.line("const %s %s = %s;", typ, local, value)
	return local
}

// tensorValue prints the sizes and strides of a tensor and returns what initialises its
// description.
func (p *printer) tensorValue(name string, a loop.Actual) string {
	if a.Kind == loop.Constant { // None in a list
		return fmt.Sprintf("{NULL, NULL, NULL, 0, %s}", p.g.dtypeMacro(ir.Float32))
	}
	buf := a.Buf
	if a.Kind == loop.ReadTensor {
		buf = a.Value.Buf
	}
	b := p.bufs[buf]
	p.use(b.names...)
	sizes, strides := "NULL", "NULL"
	if len(a.Sizes) > 0 {
		sizes = p.numbers(name+"_sizes", a.Sizes)
		strides = p.numbers(name+"_strides", ir.TensorOf(b.dtype, a.Sizes...).Strides)
	}
	return fmt.Sprintf("{%s, %s, %s, %d, %s}", b.name, sizes, strides, len(a.Sizes),
		p.g.dtypeMacro(b.dtype))
}

// numbers prints a local array of sizes and returns its name.
func (p *printer) numbers(name string, values []sym.Expr) string {
	local := p.scope.Take(name)
	storage := "static const"
	texts := make([]string, len(values))
	for i, v := range values {
		if _, constant := v.Const(); !constant {
			storage = "const"
		}
		texts[i] = p.index(v).s
		if p.g.idx != tI32 && storage == "const" {
			texts[i] = "(int32_t)" + p.index(v).at(precUnary)
		}
	}
	p.w.line("%s int32_t %s[] = {%s};", storage, local, strings.Join(texts, ", "))
	return local
}

// actual returns a number or string that a kernel gets.
func (p *printer) actual(a loop.Actual) string {
	switch a.Kind {
	case loop.IndexNumber:
		return p.index(a.Index).s
	case loop.Number:
		return p.assign(a.Value, typeOf(a.Value.DType)).s
	}
	switch c := a.Const.(type) {
	case ir.Int:
		return p.expr(expr.Int(ir.Int64, int64(c))).s
	case ir.Float:
		return p.expr(expr.Float(ir.Float64, float64(c))).s
	case ir.BoolArg:
		return fmt.Sprint(bool(c))
	case ir.Str:
		return foreign.Of(string(c)).CLiteral()
	case ir.DTypeArg:
		return p.g.dtypeMacro(ir.DType(c))
	}
	must.Fail("a custom operator's argument is %s, which kernels in C do not take",
		ir.ArgString(a.Const))
	return ""
}

// actualList prints a local array and returns it and its length as arguments.
func (p *printer) actualList(name string, t *aten.Type, list []loop.Actual) []string {
	count := fmt.Sprintf("%du", len(list))
	if len(list) == 0 {
		return []string{"NULL", count}
	}
	texts := make([]string, len(list))
	for i, a := range list {
		if t.Name == "Tensor" {
			texts[i] = p.tensorValue(fmt.Sprintf("%s_%d", name, i), a)
		} else {
			texts[i] = p.actual(a)
		}
	}
	local := p.scope.Take(name + "_list")
	elem := p.g.customType(t)
	p.w.line("const %s%s%s[] = {%s};", elem, strings.TrimSuffix(pointerTo(elem), "*"), local,
		strings.Join(texts, ", "))
	return []string{local, count}
}

// fails reports whether a kernel of the program may fail.
func (g *gen) fails() bool { return slices.ContainsFunc(g.p.Kernels, (*native.Kernel).Fails) }

// callsCustom reports whether the program calls a custom operator.
func (g *gen) callsCustom() bool { return len(g.custom) > 0 }
