package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// nameSizes names the fields of the method's Sizes struct.
func (p *methodPrinter) nameSizes() {
	p.sizes = codegen.NameSizes(p.m, p.binding, codegen.NewScope(nil), SizeField)
	p.words = codegen.NewSizeWords(p.binding, func(out bool, d native.Dim) string {
		if d.Axis < 0 {
			return camel(codegen.PortName(p.m, out, d.Port).Identifier())
		}
		return p.sizes.Name(out, d.Port, d.Axis)
	})
}

// sizesType prints the type that tells a method's dynamic sizes, nil if there
// are none.
func (p *methodPrinter) sizesType() []jen.Code {
	if len(p.sizes) == 0 {
		return nil
	}
	var list []jen.Code
	add := func(dims []native.Dim, out bool, head string, words func(native.Dim) string) {
		for _, d := range dims {
			if d.Axis < 0 {
				continue
			}
			if head != "" {
				list = append(list, jen.Comment("// "+head))
				head = ""
			}
			list = append(list, jen.Id(p.sizes.Name(out, d.Port, d.Axis)).Int().
				Comment(fmt.Sprintf("// dimension %d of %s: %s", d.Axis,
					codegen.PortName(p.m, out, d.Port).Comment(), words(d))))
		}
	}
	add(p.binding.In, false, "Set by the caller.", p.words.Input)
	if len(list) > 0 && len(p.binding.Out) > 0 {
		list = append(list, jen.Line())
	}
	add(p.binding.Out, true, fmt.Sprintf("Set by %s.", p.name), p.words.Output)
	return []jen.Code{jen.Commentf("%sSizes has the dynamic dimensions of a call of %s.", p.name,
		p.name).Line().
		Type().Id(p.name + "Sizes").Struct(list...)}
}

// signature names the parameters and returns them with the results.
func (p *methodPrinter) signature() (params []param, results *jen.Statement) {
	for i, port := range p.m.Inputs {
		params = append(params, p.param(i, port)...)
	}
	var list []jen.Code
	if p.m.Rows != nil {
		list = append(list, jen.Bool())
		p.zero = append(p.zero, jen.False())
	}
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
func (p *methodPrinter) param(i int, port native.Port) []param {
	if port.Buf != nil {
		return p.tensorParam(port)
	}
	t := numberType(port)
	if t == "" || port.Value != nil {
		return nil
	}
	name := p.scope.Take(camel(port.Name.Identifier()))
	p.scalars[i] = name
	if _, taken := p.syms[port.Sym]; port.Sym != nil && !taken { // another is held against it
		p.syms[port.Sym] = name
		p.give(port.Sym, name, t)
	}
	if port.Var != nil {
		p.vars[port.Var] = name
		if port.Var.DType == ir.Int64 {
			t = "int64"
		}
		p.give(port.Var, name, t)
	}
	return []param{{name, t}}
}

// tensorParam declares a tensor: a pointer to an array if its size is fixed.
func (p *methodPrinter) tensorParam(port native.Port) []param {
	b := port.Buf
	if b == nil {
		return nil
	}
	name := p.scope.Take(camel(port.Name.Identifier()))
	typ := "[]" + goType(b.DType)
	p.ports[b] = name
	rows := p.m.Rows != nil && b == p.m.Inputs[p.m.Rows.Port].Buf
	if n, ok := b.Len.Const(); ok && !rows {
		typ = fmt.Sprintf("*[%d]%s", n, goType(b.DType))
		p.ports[b] += "[:]"
	}
	p.given = append(p.given, given{b, param{name, typ}})
	return []param{{name, typ}}
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
