package golang

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/lower/native"
)

// bind determines the dynamic sizes from those the caller gives, and checks
// the inputs and outputs against them.
func (p *methodPrinter) bind() []jen.Code {
	var code []jen.Code
	for _, s := range p.binding.Solved {
		code = append(code, p.solve(s)...)
	}
	for _, d := range p.binding.Checks {
		name, value := p.dim(d)
		differs := fmt.Sprintf("%s != %s", value, p.index(d.Size, precCompare+1))
		if p.solves(d) {
			code = append(code, p.reject(differs, name+" is %d, want "+p.allowed(d), value))
			continue
		}
		code = append(code, p.reject(differs, fmt.Sprintf("%s is %%d, want %%d", name), value,
			p.index(d.Size, precAny)))
	}
	return append(code, p.lengths()...)
}

// slice is an input or output of dynamic size.
type slice struct {
	port native.Port
	op   string // that its length may not be to what it should be
}

// lengths checks all slices: many in functions of their own, some in each. A
// compiler's time grows with the slices that a function holds, times its branches.
func (p *methodPrinter) lengths() (code []jen.Code) {
	var list []slice
	add := func(port native.Port, op string) {
		if port.Buf == nil {
			return
		}
		if _, ok := port.Buf.Len.Const(); !ok {
			list = append(list, slice{port, op})
		}
	}
	for _, port := range p.m.Inputs {
		add(port, "!=")
	}
	for i, port := range p.m.Outputs {
		port.Name = codegen.OutputName(p.m, i)
		add(port, "<")
	}
	alike := codegen.Alike(p.g.opt.FunctionWeight)
	if len(list) <= alike {
		for _, s := range list {
			code = append(code, p.length(s, "")...)
		}
		return code
	}
	for part := range slices.Chunk(list, alike) {
		code = append(code, p.lengthChecks(part))
	}
	return code
}

// lengthChecks prints a function that checks slices, which it is given as
// pointers, and returns the call of it.
func (p *methodPrinter) lengthChecks(part []slice) jen.Code {
	outer, zero := p.reads, p.zero
	p.reads, p.zero = map[any]bool{}, nil
	var params []param
	var args, body []jen.Code
	for _, s := range part {
		name := p.ports[s.port.Buf]
		params = append(params, param{name, "*[]" + goType(s.port.Buf.DType)})
		args = append(args, jen.Op("&").Id(name))
		body = append(body, p.length(s, "*")...)
	}
	for _, x := range p.given {
		if p.reads[x.key] {
			params, args = append(params, x.param), append(args, jen.Id(x.name))
		}
	}
	maps.Copy(outer, p.reads)
	p.reads, p.zero = outer, zero
	p.count++
	base := fmt.Sprintf("%s%d", unexported(p.name), p.count)
	name := p.g.sectionName(base, base)
	p.sections = append(p.sections,
		jen.Commentf("%s checks slices for %s, which is too long for one function.", name,
			p.name).Line().
			Func().Id(name).Params(jen.Op(signature(params))).Error().
			Block(append(body, jen.Return(jen.Nil()))...))
	return p.failing(jen.Id(name).Call(args...))
}

// solves reports whether a symbol is determined by d.
func (p *methodPrinter) solves(d native.Dim) bool {
	return slices.ContainsFunc(p.binding.Solved, func(s native.Solve) bool {
		return s.Dim.Port == d.Port && s.Dim.Axis == d.Axis
	})
}

// dim returns how messages call a dynamic number and its value.
func (p *methodPrinter) dim(d native.Dim) (name, value string) {
	port := p.m.Inputs[d.Port]
	if d.Axis < 0 {
		return port.Name.GoFormat(), p.scalars[d.Port]
	}
	return fmt.Sprintf("dimension %d of %s", d.Axis, port.Name.GoFormat()), "sizes." +
		p.sizes.Name(false, d.Port, d.Axis)
}

// solve binds a symbol and checks its bounds.
func (p *methodPrinter) solve(s native.Solve) []jen.Code {
	var code []jen.Code
	text := ""
	if s.Dim.Axis >= 0 || p.m.Inputs[s.Dim.Port].Sym != s.Sym {
		_, value := p.dim(s.Dim)
		text = value
		if !s.Rest.IsZero() {
			text += " - " + p.index(s.Rest, precAdd+1)
		}
		if s.Coef != 1 {
			if !s.Rest.IsZero() {
				text = "(" + text + ")"
			}
			text = fmt.Sprintf("%s / %d", text, s.Coef)
		}
		if !p.alive(s.Sym) {
			return nil
		}
		name := p.scope.Take(camel(unexported(codegen.SolvedName(s, p.sizes))))
		p.syms[s.Sym] = name
		p.give(s.Sym, name, "int")
		code = append(code, jen.Id(name).Op(":=").Op(text))
	}
	return append(code, p.bounds(s)...)
}

// bounds checks a symbol's bounds.
func (p *methodPrinter) bounds(s native.Solve) []jen.Code {
	lo, hi := s.Sym.Expr().Bounds()
	name, value := p.dim(s.Dim)
	v := p.symName(s.Sym)
	var tests []string
	if lo != math.MinInt64 {
		tests = append(tests, fmt.Sprintf("%s < %d", v, lo))
	}
	if hi != math.MaxInt64 {
		tests = append(tests, fmt.Sprintf("%s > %d", v, hi))
	}
	if tests == nil {
		return nil
	}
	return []jen.Code{p.reject(strings.Join(tests, " || "), name+" is %d, want "+p.allowed(s.Dim),
		value)}
}

// allowed words what a dimension may be, as part of a format.
func (p *methodPrinter) allowed(d native.Dim) string {
	return strings.ReplaceAll(p.words.Input(d), "%", "%%")
}

// reject returns ErrShape if cond holds.
func (p *methodPrinter) reject(cond, format string, args ...string) jen.Code {
	return jen.If(jen.Op(cond)).Block(p.errorf("ErrShape", format, args...))
}

// length checks the length of a slice that a tensor of dynamic size is in, and
// cuts off what is more. A size that is only known later counts with its bound.
// Before its name stands star: "*" if it is a pointer.
func (p *methodPrinter) length(s slice, star string) []jen.Code {
	port, op := s.port, s.op
	b := port.Buf
	name := star + p.ports[b]
	whole := name
	if star != "" {
		whole = "(" + name + ")"
	}
	want := ""
	for _, s := range b.Len.Symbols() {
		if _, ok := p.syms[s]; !ok {
			want = fmt.Sprint(b.MaxLen)
		}
	}
	if want != "" {
		p.late[b] = true
		return []jen.Code{p.reject(fmt.Sprintf("len(%s) < %s", name, want),
			fmt.Sprintf("%s has %%d elements, want at least %s", port.Name.GoFormat(), want),
			"len("+name+")")}
	}
	want = p.index(b.Len, precCompare+1)
	least := ""
	if op == "<" {
		least = "at least "
	}
	code := []jen.Code{p.reject(fmt.Sprintf("len(%s) %s %s", name, op, want),
		fmt.Sprintf("%s has %%d elements, want %s%%d", port.Name.GoFormat(), least),
		"len("+name+")", p.index(b.Len, precAny))}
	if op == "<" {
		code = append(code, jen.Op(name).Op("=").Op(whole).Index(
			jen.Op(":"+p.index(b.Len, precAny))))
	}
	return code
}
