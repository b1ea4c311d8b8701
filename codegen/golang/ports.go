package golang

import (
	"fmt"
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// dimKey is a dimension of an input or output.
type dimKey struct {
	out        bool
	port, axis int
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
				port = codegen.OutputName(p.m, d.Port)
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
		port.Name = codegen.OutputName(p.m, i)
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
