package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/lower/native"
)

// numbersName is where a method that is divided keeps the numbers that it reads
// at run time, so that all its functions know them.
const numbersName = "numbers"

// numbersKey stands for the struct of these numbers among what functions read.
type numbersKey struct{}

// given is what sections can have of the functions around: under the same name.
type given struct {
	key any // a port's buffer, a symbol, a local or numbersKey
	param
}

func (p *methodPrinter) give(key any, name, typ string) {
	p.given = append(p.given, given{key, param{name, typ}})
}

// section prints a function of s, and returns the call of it.
func (p *methodPrinter) section(s *native.Section) []jen.Code {
	outer, around := p.function, *p.printer
	p.scope = codegen.NewScope(p.scope)
	p.top, p.reads = p.scope, map[any]bool{}
	p.function = newFunction(s.Body)
	var body []jen.Code
	if readsWeights(s.Body) {
		body = append(body, jen.Id("w").Op(":=").Id("m").Dot("weights"), jen.Line())
	}
	body = append(body, p.steps(s.Body)...)
	fails := codegen.Fails(s.Body)
	if fails {
		body = append(body, jen.Return(jen.Nil()))
	}
	reads := p.reads
	p.scope, p.top, p.reads = around.scope, around.top, around.reads
	p.function = outer

	for x := range reads {
		p.reads[x] = true
		if p.numbers[x] != "" {
			p.reads[numbersKey{}], reads[numbersKey{}] = true, true
		}
	}
	params, args := []param{{"m", "*" + p.g.door("Model")}}, []jen.Code{jen.Id("m")}
	for _, x := range p.given {
		if reads[x.key] {
			params, args = append(params, x.param), append(args, jen.Id(x.name))
		}
	}
	p.count++
	name := p.g.sectionName(s, fmt.Sprintf("%s%d", unexported(p.name), p.count))
	f := jen.Commentf("%s is a part of %s, which is too long for one function.", name,
		p.name).Line().
		Func().Id(name).Params(jen.Op(signature(params)))
	call := jen.Id(name).Call(args...)
	if fails {
		f.Error()
		call = p.failing(call)
	}
	p.sections = append(p.sections, f.Block(body...))
	return []jen.Code{call}
}

// failing returns the call of a function whose error ends this one.
func (p *methodPrinter) failing(call *jen.Statement) *jen.Statement {
	return jen.If(jen.Err().Op(":=").Add(call), jen.Err().Op("!=").Nil()).
		Block(jen.Return(append(append([]jen.Code(nil), p.zero...), jen.Err())...))
}

// sectionName returns the name of the function of a section, or of another separate part.
// A method may be printed twice, so the name is kept.
func (g *generator) sectionName(s any, base string) string {
	if g.sections[s] == "" {
		g.sections[s] = g.unit.scope.TakeAround(base)
	}
	return g.sections[s]
}

// shareNumbers makes fields of a struct of the numbers that the method reads at
// run time. It returns the type, and the statement that makes one.
func (p *methodPrinter) shareNumbers() (typ, made []jen.Code) {
	var fields []jen.Code
	scope := codegen.NewScope(nil)
	for _, n := range codegen.Numbers(p.m.Body) {
		if !p.alive(n.Key) {
			continue
		}
		t := "int"
		if !n.Index {
			t = goType(n.DType)
		}
		field := scope.Take(camel(n.Name))
		p.numbers[n.Key] = numbersName + "." + field
		fields = append(fields, jen.Id(field).Id(t))
	}
	if fields == nil {
		return nil, nil
	}
	name := p.g.numbersType(p.m, unexported(p.name)+"Numbers")
	p.scope.Reserve(numbersName)
	p.give(numbersKey{}, numbersName, "*"+name)
	doc := jen.Commentf("%s is the numbers that a call of %s reads at run time.", name, p.name)
	return []jen.Code{doc.Line().Type().Id(name).Struct(fields...)},
		[]jen.Code{jen.Id(numbersName).Op(":=").New(jen.Id(name))}
}

// numbersType names the type of a method's numbers once.
func (g *generator) numbersType(m *native.Method, base string) string {
	if g.numbers[m] == "" {
		g.numbers[m] = g.unit.scope.TakeAround(base)
	}
	return g.numbers[m]
}
