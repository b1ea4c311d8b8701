package c

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// body prints the statements of one method.
type body struct {
	*printer
	m       *method
	decls   map[native.Stmt][]*native.Buffer
	uses    map[*native.Buffer]use
	ports   map[*native.Buffer]string // C expressions for pointers to the caller's buffers
	bufs    map[*native.Buffer]string // and to those of the function
	given   []parameter               // what sections can have of the functions around
	numbers map[any]string            // by symbol or local, members for numbers read at run time
	comment foreign.Text              // the last one
	fresh   bool                      // nothing stands in the block yet
	locals  []localText               // in order of declaration
}

// declared prints what declares a local.
func (b *body) declared(name string, print func()) {
	start, from := b.w.b.Len(), len(b.names)
	print()
	b.locals = append(b.locals, localText{name, start, b.w.b.Len(), from, len(b.names)})
}

// text returns what is printed, and the names in it, without the declarations of
// locals that are not used: those of buffers and numbers that no kernel turned out
// to need.
func (b *body) text() (string, map[string]bool) {
	text := b.w.b.String()
	var out strings.Builder
	at := 0
	drop := b.unneeded(b.locals)
	for _, l := range drop {
		out.WriteString(text[at:l.start])
		at = l.end
	}
	out.WriteString(text[at:])
	return out.String(), b.usedWithout(drop)
}

// method prints m's function.
func (g *gen) method(m *method) {
	b := &body{printer: g.newPrinter(m.scope), m: m, decls: codegen.Declarations(m.Body),
		uses:  usesOf(m.Body),
		ports: map[*native.Buffer]string{}, bufs: map[*native.Buffer]string{}, fresh: true}
	b.findPorts()
	b.giveParams()
	b.checkArguments()
	b.bindSizes()
	if b.usesArena() {
		b.declareArenas()
		b.fresh = false
	}
	if codegen.Divided(m.Body) {
		b.shareNumbers(m.Body)
	}
	if m.Rows != nil {
		b.awaits(m.Body)
	} else {
		b.statements(m.Body)
		b.results()
		if !b.fresh {
			b.w.blank()
		}
		b.w.line("return %s_OK;", g.upper)
	}

	w := &g.methodText
	w.blank()
	text, _ := b.text()
	w.function(text, "%s", g.prototype(m))
}

// use is what a method does with a buffer.
type use struct {
	count       int
	first, last native.Stmt // in the text; of a root, those of its views count
}

// usesOf returns the uses of all buffers.
func usesOf(body []native.Stmt) map[*native.Buffer]use {
	uses := map[*native.Buffer]use{}
	touch := func(b *native.Buffer, s native.Stmt, n int) {
		u := uses[b]
		u.count += n
		if u.first == nil {
			u.first = s
		}
		u.last = s
		uses[b] = u
	}
	codegen.Walk(body, func(s native.Stmt) {
		for _, b := range native.Operands(s) {
			touch(b, s, 1)
			if b.Root != nil {
				touch(b.Root, s, 0)
			}
		}
	})
	return uses
}

// findPorts makes the caller's memory known.
func (b *body) findPorts() {
	for _, p := range b.m.ports {
		switch {
		case p.Buf != nil:
			b.ports[p.Buf] = p.name
		case p.Var != nil && !p.Output:
			b.vars[p.Var] = p.name
		}
	}
	for buf, name := range b.g.fields {
		b.ports[buf] = stateParam + "->" + name
	}
}

// usesArena reports whether the method has buffers in the arena.
func (b *body) usesArena() bool {
	for buf := range b.uses {
		if root := native.Root(buf); root.Storage == native.Arena && root.MaxLen != 0 {
			return true
		}
	}
	return false
}

// checkArguments prints the test of all pointers.
func (b *body) checkArguments() {
	var tests []code
	var tested []param
	for _, p := range b.g.params(b.m) {
		switch {
		case p.name == arenaParam || p.name == arenasParam:
			for _, t := range b.arenaTests(p) {
				tests, tested = append(tests, t), append(tested, p)
			}
		case p.elem > 0:
			tests = append(tests, b.misaligned(p, strconv.Itoa(p.elem)))
			tested = append(tested, p)
		}
	}
	if len(tests) > codegen.Alike(b.g.opt.FunctionWeight) {
		tests = b.testParts(tests, tested)
	}
	b.guard(anyOf(tests), "ERR_ARGUMENT")
}

// misaligned is the test that a pointer is null or not aligned.
func (b *body) misaligned(p param, align string) code {
	return code{s: fmt.Sprintf("!%s(%s, %s)", b.g.helper("aligned"), p.name, align), p: precUnary,
		t: tBool}
}

// guard prints a return of an error if test holds; an empty one never does.
func (b *body) guard(test code, status string) {
	if test.s == "" {
		return
	}
	b.w.open("if (%s) {", test.s)
	b.w.line("return %s_%s;", b.g.upper, status)
	b.w.close()
	b.fresh = false
}

// dim returns the value the caller gives for a dynamic number.
func (b *body) dim(d native.Dim) code {
	if d.Axis < 0 {
		return name(b.m.sizeName(false, d), tI64)
	}
	return name(sizesParam+"->"+b.m.fields.Name(false, d.Port, d.Axis), b.g.idx)
}

// bindSizes prints what checks the dynamic sizes and makes them known under
// their names.
func (b *body) bindSizes() {
	idx := b.g.idx
	for _, s := range b.m.binding.Solved {
		v := b.dim(s.Dim)
		b.guard(outside(v, s.Dim.Size), "ERR_SHAPE")
		x := convert(v, idx)
		if !s.Rest.IsZero() {
			x = join("-", x, b.index(s.Rest), idx)
		}
		if s.Coef != 1 {
			x = join("/", x, intLiteral(s.Coef, idx), idx)
		}
		b.syms[s.Sym] = b.scope.Take(codegen.SolvedName(s, b.m.fields))
		b.declared(b.syms[s.Sym], func() { b.w.line("const %s %s = %s;", idx, b.syms[s.Sym], x.s) })
		b.give(idx.String()+" ", b.syms[s.Sym])
		if _, known := s.Rest.Const(); !known {
			b.use(b.syms[s.Sym])
			b.guard(outside(name(b.syms[s.Sym], idx), s.Sym.Expr()), "ERR_SHAPE")
		}
		b.fresh = false
	}
	tests := seq.Map(b.m.binding.Checks, func(d native.Dim) code {
		return join("!=", b.dim(d), b.index(d.Size), tBool)
	})
	b.guard(anyOf(tests), "ERR_SHAPE")
}

// outside returns the test that v is not between the bounds of e.
func outside(v code, e sym.Expr) code {
	lo, hi := e.Bounds()
	var tests []code
	if lo != math.MinInt64 {
		tests = append(tests, join("<", v, intLiteral(lo, v.t), tBool))
	}
	if hi != math.MaxInt64 {
		tests = append(tests, join(">", v, intLiteral(hi, v.t), tBool))
	}
	return anyOf(tests)
}

// results writes the numbers that are results: scalars and sizes.
func (b *body) results() {
	for _, p := range b.m.ports {
		switch {
		case p.name == "" || !p.Output || p.Buf != nil:
		case p.Var != nil:
			b.w.line("*%s = %s;", p.name, b.local(expr.Get(p.Var), tI32).s)
		default:
			b.w.line("*%s = %s;", p.name, b.index(p.Type.Expr).s)
		}
	}
	for _, d := range b.m.binding.Out {
		b.w.line("%s->%s = %s;", sizesParam, b.m.fields.Name(true, d.Port, d.Axis),
			b.index(d.Size).s)
	}
}

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
	w.function(text, "%s static %s %s(%s)", b.g.noInline(), result, name, paramList(params))

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
		if p.name != arenaParam && p.name != arenasParam {
			b.give(strings.TrimSuffix(p.decl, p.name), p.name)
		}
	}
	b.giveArenas()
}

// shareNumbers makes members of a struct of the numbers that the method reads at
// run time.
func (b *body) shareNumbers(stmts []native.Stmt) {
	w := &writer{indent: 1}
	b.numbers = map[any]string{}
	scope := codegen.NewScope(b.g.names)
	for _, n := range codegen.Numbers(stmts) {
		member := scope.Take(n.Name)
		b.numbers[n.Key] = numbersParam + "->" + member
		w.line("%s %s;", b.numberType(n), member)
	}
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

// numberType is the type of a number that is read at run time.
func (b *body) numberType(n codegen.Number) ctype {
	if n.Index {
		return b.g.idx
	}
	return typeOf(n.DType)
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
			if !slices.Contains(names, p.name) { // the arenas have a test each
				decls, names = append(decls, p.decl), append(names, p.name)
			}
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
