package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// numbersParam is where a method that is divided keeps the numbers that it reads
// at run time, so that all its functions know them.
const numbersParam = "numbers"

// section prints a function of s, and the call of it. What it needs of the
// function around has there and here the same name.
func (b *body) section(s *native.Section) {
	outer := *b.printer
	inner := &body{printer: b.printer, m: b.m, decls: codegen.Declarations(s.Body), uses: b.uses,
		ports: b.ports, bufs: map[*native.Buffer]string{}, given: b.given, numbers: b.numbers,
		fresh: true}
	b.w, b.usage, b.scope = &writer{indent: 1}, usage{}, codegen.NewScope(outer.scope)
	inner.statements(s.Body)
	fails := codegen.Fails(s.Body)
	if fails {
		b.w.blank()
		b.w.line("return %s_OK;", b.g.upper)
	}
	text, used := inner.text()
	b.w, b.usage, b.scope = outer.w, outer.usage, outer.scope

	name := b.functionName()
	var params []parameter
	var args []string
	for _, p := range b.given {
		if used[p.name] {
			params, args = append(params, p), append(args, p.name)
		}
	}
	b.use(args...)
	w := &b.g.methodText
	w.blank()
	result := "void"
	if fails {
		result = b.g.prefix + "_status"
	}
	w.line("%s static %s %s(%s)", b.g.noInline(), result, name, paramList(params))
	w.raw("{")
	w.b.WriteString(text)
	w.raw("}")

	call := fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))
	if !b.fresh {
		b.w.blank()
	}
	b.comment = inner.comment
	if !fails {
		b.w.line("%s;", call)
		return
	}
	status := b.scope.Take("status")
	b.w.line("const %s %s = %s;", result, status, call)
	b.w.open("if (%s != %s_OK) {", status, b.g.upper)
	b.w.line("return %s;", status)
	b.w.close()
}

// give makes a value known to sections.
func (b *body) give(typ, name string) { b.given = append(b.given, parameter{typ: typ, name: name}) }

// giveParams makes the parameters of the method known to sections.
func (b *body) giveParams() {
	for _, p := range b.g.params(b.m) {
		if p.name != arenaParam {
			b.give(strings.TrimSuffix(p.decl, p.name), p.name)
		}
	}
	b.give("char *", arenaBase)
}

// shareNumbers makes members of a struct of the numbers that the method reads at
// run time.
func (b *body) shareNumbers(stmts []native.Stmt) {
	w := &writer{indent: 1}
	b.numbers = map[any]string{}
	scope := codegen.NewScope(b.g.names)
	codegen.Walk(stmts, func(s native.Stmt) {
		l, ok := s.(*native.Let)
		if !ok {
			return
		}
		key, base, t := any(l.Sym), "", b.g.idx
		if l.Sym != nil {
			base = l.Sym.Name
		} else {
			key, base = l.Var, l.Var.Name
			t, _ = typeOf(l.Var.DType)
		}
		if b.numbers[key] == "" {
			member := scope.Take(base)
			b.numbers[key] = numbersParam + "->" + member
			w.line("%s %s;", t, member)
		}
	})
	if len(b.numbers) == 0 {
		return
	}
	name := b.g.names.TakeAround(b.m.name + "_numbers")
	text := &b.g.methodText
	text.blank()
	text.raw("typedef struct {")
	text.b.WriteString(w.b.String())
	text.raw("} " + name + ";")
	b.declared(numbersParam, func() { b.w.line("%s %s[1];", name, numbersParam) })
	b.give(name+" *", numbersParam)
	b.fresh = false
}

// number returns where a number that is read at run time is known to all
// functions of the method, "" if it is a local.
func (b *body) number(v *expr.Var, s *sym.Symbol) string {
	if s != nil {
		return b.numbers[s]
	}
	return b.numbers[v]
}

// testParts prints functions that do many tests of parameters, and returns the
// tests that call them.
func (b *body) testParts(tests []code, of []param) []code {
	var calls []code
	w := &b.g.methodText
	alike := codegen.Alike(b.g.opt.FunctionWeight)
	for i := 0; i < len(tests); i += alike {
		end := min(i+alike, len(tests))
		var decls, names []string
		for _, p := range of[i:end] {
			decls, names = append(decls, p.decl), append(names, p.name)
		}
		name := b.functionName()
		w.blank()
		w.line("%s static bool %s(%s)", b.g.noInline(), name, strings.Join(decls, ", "))
		w.raw("{")
		w.line("    return %s;", anyOf(tests[i:end]).s)
		w.raw("}")
		calls = append(calls, code{s: name + "(" + strings.Join(names, ", ") + ")", p: precPostfix,
			t: tBool})
	}
	return calls
}

// functionName names one more function of the method.
func (b *body) functionName() string {
	b.m.functions++
	return b.g.names.TakeAround(fmt.Sprintf("%s_%d", b.m.name, b.m.functions+1))
}
