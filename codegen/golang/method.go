package golang

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// methodPrinter prints one method of Model.
type methodPrinter struct {
	*printer
	g       *generator
	m       *native.Method
	name    string // exported
	binding *native.Binding
	sizes   map[dimKey]string // fields of the Sizes struct
	exprs   map[*native.Buffer]string
	late    map[*native.Buffer]bool // outputs whose size is only known at run time
	declare map[native.Stmt][]*native.Buffer
	views   []*native.Buffer // that have locals here
	zero    []jen.Code       // results that stand before an error
	from    string           // the Python line of the statement around
	fails   bool             // the method has errors to return
	live    map[any]bool     // symbols and locals that are read; nil: not known yet
}

// dimKey is a dimension of an input or output.
type dimKey struct {
	out        bool
	port, axis int
}

// method prints a method and its Sizes type. Go does not accept variables that
// nobody reads, so it is printed again without those that turn out to be some.
func (g *generator) method(m *native.Method) (code []jen.Code, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("method %s: %w", m.Name, err)
		}
	}()
	defer catch(&err)
	binding, err := native.Bind(m)
	if err != nil {
		return nil, err
	}
	name := pascal(m.Name)
	if g.internal {
		name = camel(m.Name)
	}
	g.unit.scope.Reserve(name)
	var live map[any]bool
	for {
		p := &methodPrinter{
			printer: g.unit.newPrinter(nil), g: g, m: m, name: name, binding: binding, live: live,
			sizes: map[dimKey]string{}, exprs: map[*native.Buffer]string{}, late: map[*native.Buffer]bool{},
			declare: codegen.Declarations(m),
		}
		p.scope.Reserve("m", "w", "sizes")
		code = p.print()
		if live != nil && maps.Equal(live, p.reads) {
			return code, nil
		}
		live = p.reads
	}
}

// alive reports whether a symbol or local is worth a variable.
func (p *methodPrinter) alive(x any) bool { return p.live == nil || p.live[x] }

func (p *methodPrinter) print() []jen.Code {
	code := p.sizesType()
	params, results := p.signature()
	body := p.bind()
	if p.readsWeights() {
		body = append(body, jen.Id("w").Op(":=").Id("m").Dot("weights"))
	}
	if p.dividedCalls() {
		body = append(body, jen.Id("m").Dot("shared").Dot("start").Call(), jen.Defer().Id("m").Dot("shared").Dot("stop").Call())
	}
	if len(body) > 0 {
		body = append(body, jen.Line())
	}
	body = append(body, p.steps(p.m.Body)...)
	body = append(body, p.finish()...)
	return append(code, jen.Op(p.doc()).Func().Params(jen.Id("m").Op("*").Id(p.g.door("Model"))).Id(p.name).
		Params(jen.Op(signature(params))).Add(results).Block(body...))
}

// sizesType prints the type that tells a method's dynamic sizes, nil if there
// are none.
func (p *methodPrinter) sizesType() []jen.Code {
	fields := codegen.NewScope(nil)
	var list []jen.Code
	add := func(ports []native.Port, dims []native.Dim, out bool, head string) {
		for _, d := range dims {
			if d.Axis < 0 {
				continue
			}
			port := ports[d.Port].Name
			if out {
				port = p.outName(d.Port)
			}
			name := fields.Take(SizeField(port, d.Axis))
			p.sizes[dimKey{out, d.Port, d.Axis}] = name
			if head != "" {
				list = append(list, jen.Comment(head))
				head = ""
			}
			list = append(list, jen.Id(name).Int().Comment(fmt.Sprintf("dimension %d of %s: %s", d.Axis, port, dimText(d.Size))))
		}
	}
	add(p.m.Inputs, p.binding.In, false, "Set by the caller.")
	if len(list) > 0 && len(p.binding.Out) > 0 {
		list = append(list, jen.Line())
	}
	add(p.m.Outputs, p.binding.Out, true, fmt.Sprintf("Set by %s.", p.name))
	if list == nil {
		return nil
	}
	return []jen.Code{jen.Commentf("%sSizes has the dynamic dimensions of a call of %s.", p.name, p.name).Line().
		Type().Id(p.name + "Sizes").Struct(list...)}
}

// dimText words a dynamic size.
func dimText(e sym.Expr) string {
	lo, hi := e.Bounds()
	switch syms := e.Symbols(); {
	case len(syms) != 1 || !e.Equal(syms[0].Expr()):
		return e.String()
	case hi == math.MaxInt64:
		return fmt.Sprintf("%s, at least %d", e, lo)
	}
	return fmt.Sprintf("%s, %d to %d", e, lo, hi)
}

// signature names the parameters and returns them with the results.
func (p *methodPrinter) signature() (params []param, results *jen.Statement) {
	for _, port := range p.m.Inputs {
		params = append(params, p.param(port)...)
	}
	var list []jen.Code
	for i, port := range p.m.Outputs {
		port.Name = p.outName(i)
		params = append(params, p.tensorParam(port)...)
		if t := numberType(port); t != "" {
			list = append(list, jen.Id(t))
			p.zero = append(p.zero, jen.Op(zeroOf(t)))
		}
	}
	if len(p.sizes) > 0 {
		params = append(params, param{"sizes", "*" + p.name + "Sizes"})
	}
	if list == nil {
		return params, jen.Error()
	}
	return params, jen.Params(append(list, jen.Error())...)
}

// outName is what output i is called: "out" if there is no other.
func (p *methodPrinter) outName(i int) string {
	if len(p.m.Outputs) == 1 && p.m.Outputs[0].Name == "out0" {
		return "out"
	}
	return p.m.Outputs[i].Name
}

// numberType returns the Go type of an output that is a number, "" if it is
// none.
func numberType(port native.Port) string {
	if port.Buf != nil {
		return ""
	}
	switch port.Value.(type) {
	case ir.Int:
		return "int"
	case ir.Float:
		return "float64"
	case ir.BoolArg:
		return "bool"
	case nil:
	default:
		return ""
	}
	switch port.Type.Kind {
	case ir.IntKind:
		return "int"
	case ir.FloatKind:
		return "float64"
	case ir.BoolKind:
		return "bool"
	}
	return ""
}

func zeroOf(goType string) string {
	if goType == "bool" {
		return "false"
	}
	return "0"
}

// param declares an input; constants that the model was exported with are
// none.
func (p *methodPrinter) param(port native.Port) []param {
	if port.Buf != nil {
		return p.tensorParam(port)
	}
	t := numberType(port)
	if t == "" || port.Value != nil {
		return nil
	}
	name := p.scope.Take(camel(port.Name))
	if port.Sym != nil {
		p.syms[port.Sym] = name
	}
	if port.Var != nil {
		p.vars[port.Var] = name
		if port.Var.DType == ir.Int64 {
			t = "int64"
		}
	}
	return []param{{name, t}}
}

// tensorParam declares a tensor: a pointer to an array if its size is fixed.
func (p *methodPrinter) tensorParam(port native.Port) []param {
	b := port.Buf
	if b == nil {
		return nil
	}
	name := p.scope.Take(camel(port.Name))
	if n, ok := b.Len.Const(); ok {
		p.exprs[b] = name + "[:]"
		return []param{{name, fmt.Sprintf("*[%d]%s", n, goType(b.DType))}}
	}
	p.exprs[b] = name
	return []param{{name, "[]" + goType(b.DType)}}
}

// doc is the method's documentation.
func (p *methodPrinter) doc() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s runs the model's method %s.\n//\n", p.name, p.m.Name)
	var halves []ir.DType
	row := func(name string, port native.Port, notes ...string) {
		text := codegen.TypeText(port.Type, nil)
		if port.Path != "" {
			notes = append([]string{port.Path}, notes...)
		}
		if port.Buf != nil && isHalf(port.Buf.DType) && !slices.Contains(halves, port.Buf.DType) {
			halves = append(halves, port.Buf.DType)
		}
		if len(notes) > 0 {
			text += " (" + codegen.PlainText(strings.Join(notes, "; ")) + ")"
		}
		fmt.Fprintf(&b, "//   - %s: %s\n", name, text)
	}
	for _, port := range p.m.Inputs {
		switch {
		case port.Buf != nil:
			var notes []string
			if port.Mutated {
				notes = append(notes, "updated in place")
			}
			row(strings.TrimSuffix(p.exprs[port.Buf], "[:]"), port, notes...)
		case port.Value == nil && numberType(port) != "":
			row(camel(port.Name), port)
		}
	}
	for _, port := range p.m.Outputs {
		if port.Buf != nil {
			row(strings.TrimSuffix(p.exprs[port.Buf], "[:]"), port, "written")
		} else if numberType(port) != "" {
			row("result", port)
		}
	}
	b.WriteString("//\n")
	notes := "Tensors are row-major and must not overlap."
	for _, d := range halves {
		if p.g.internal {
			break
		}
		notes += fmt.Sprintf(" Elements of %s are given by their bits: %s and %s convert.", d, p.halfFunc(d, true), p.halfFunc(d, false))
	}
	if !p.fails {
		notes += " The error is always nil."
	}
	b.WriteString(comment(notes))
	return b.String()
}

// halfFunc makes an exported function of the conversion between d and float32.
func (p *methodPrinter) halfFunc(d ir.DType, to bool) string {
	short, long := halfName(d), pascal(d.String())
	internal, public := "F32To"+short, long+"FromFloat32"
	if to {
		internal, public = short+"ToF32", long+"ToFloat32"
	}
	p.unit.helpers[internal] = public
	return public
}

// finish sets the sizes that were not known before and returns.
func (p *methodPrinter) finish() []jen.Code {
	var out []jen.Code
	for _, d := range p.binding.Out {
		if name := p.sizes[dimKey{true, d.Port, d.Axis}]; name != "" {
			out = append(out, jen.Id("sizes").Dot(name).Op("=").Op(p.index(d.Size, precAny)))
		}
	}
	var results []jen.Code
	for _, port := range p.m.Outputs {
		t := numberType(port)
		if t == "" {
			continue
		}
		results = append(results, jen.Op(p.number(port)))
	}
	return append(out, jen.Return(append(results, jen.Nil())...))
}

// number returns the value of an output that is a number.
func (p *methodPrinter) number(port native.Port) string {
	switch v := port.Value.(type) {
	case ir.Int:
		return fmt.Sprint(int64(v))
	case ir.Float:
		s, _ := floatLiteral(ir.Float64, float64(v))
		return s
	case ir.BoolArg:
		return fmt.Sprint(bool(v))
	}
	switch {
	case port.Var != nil:
		s := p.varName(port.Var)
		if port.Var.DType.IsInt() {
			s = "int(" + s + ")"
		}
		return s
	case port.Sym != nil:
		return p.symName(port.Sym)
	}
	return p.index(port.Type.Expr, precAny)
}

// lines writes code that may need statements before it: f's text, after those.
func (p *methodPrinter) lines(f func() jen.Code) []jen.Code {
	outer := p.b
	p.b = &strings.Builder{}
	code := f()
	before := strings.TrimSuffix(p.b.String(), "\n")
	p.b = outer
	if before == "" {
		return []jen.Code{code}
	}
	return []jen.Code{jen.Op(before), code}
}

func (p *methodPrinter) readsWeights() bool {
	found := false
	codegen.Walk(p.m.Body, func(s native.Stmt) {
		for _, b := range codegen.Operands(s) {
			found = found || native.Root(b).Storage == native.Weight
		}
	})
	return found
}

// errorf returns an error that wraps one of the package's.
func (p *methodPrinter) errorf(kind, format string, args ...string) jen.Code {
	p.g.errors[kind], p.fails = true, true
	list := []jen.Code{jen.Lit("%w: " + format), jen.Id(p.g.door(kind))}
	for _, a := range args {
		list = append(list, jen.Op(a))
	}
	return jen.Return(append(append([]jen.Code(nil), p.zero...), jen.Qual("fmt", "Errorf").Call(list...))...)
}
