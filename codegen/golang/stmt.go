package golang

import (
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// block writes statements in a scope of their own.
func (p *printer) block(body []loop.Stmt) {
	outer := p.scope
	p.scope = codegen.NewScope(outer)
	p.stmts(body)
	p.scope = outer
}

func (p *printer) stmts(body []loop.Stmt) {
	for _, s := range body {
		p.stmt(s)
	}
}

func (p *printer) stmt(s loop.Stmt) {
	switch s := s.(type) {
	case *loop.For:
		if p.parts != nil && s.Divided {
			p.divided(s)
		} else {
			p.loop(s)
		}
	case *loop.Chunks:
		p.chunks(s)
	case *loop.Transpose:
		p.transpose(s)
	case *loop.While:
		p.while(s)
	case *loop.If:
		p.line("if %s {", p.arg(s.Cond))
		p.block(s.Then)
		p.otherwise(len(s.Else) == 1 && isIf(s.Else[0]), len(s.Else) == 0, func() {
			p.block(s.Else)
		})
	case *loop.Let:
		p.let(s)
	case *loop.Assign:
		if !p.used.vars[s.Var] {
			return
		}
		dst := p.varName(s.Var)
		if s.Var.Len > 0 {
			dst += "[" + p.index(s.At, precAny) + "]"
		}
		p.set(dst, s.Value, func(e *expr.Expr) bool {
			return s.Var.Len == 0 && e.Op == expr.OpLocal && e.Var == s.Var
		})
	case *loop.LetIndex:
		if !p.used.syms[s.Sym] {
			return
		}
		v := "int(" + p.arg(s.Value) + ")"
		p.syms[s.Sym] = p.scope.Take(camel(s.Sym.Name))
		p.line("%s := %s", p.syms[s.Sym], v)
	case *loop.Store:
		if loads(s, s.Value) {
			return
		}
		dst := p.buf(s.Buf) + "[" + p.index(s.At, precAny) + "]"
		p.set(dst, s.Value, func(e *expr.Expr) bool { return loads(s, e) })
	case *loop.Break:
		p.line("break")
	case *loop.Invoke:
		p.invoke(s)
	default:
		must.Fail("unknown statement %T", s)
	}
}

// loads tells whether e is the element that s stores to.
func loads(s *loop.Store, e *expr.Expr) bool {
	return e.Op == expr.OpLoad && e.Buf == s.Buf && len(e.Coords) == 1 && e.Coords[0].Equal(s.At)
}

func (p *printer) loop(s *loop.For) {
	extent := p.index(s.Extent, precAny)
	if n, ok := strings.CutPrefix(extent, "len("); ok && strings.Count(n, ")") == 1 &&
		n[len(n)-1] == ')' {
		extent = n[:len(n)-1]
	}
	outer := p.scope
	p.scope = codegen.NewScope(outer)
	if p.used.syms[s.Var] {
		p.syms[s.Var] = p.scope.Take(camel(s.Var.Name))
		p.line("for %s := range %s {", p.syms[s.Var], extent)
	} else {
		p.line("for range %s {", extent)
	}
	p.block(s.Body)
	p.line("}")
	p.scope = outer
}

// while writes the condition in the loop's head unless it takes statements.
func (p *printer) while(s *loop.While) {
	outer := p.b
	p.b = &strings.Builder{}
	cond := p.arg(s.Cond)
	before := p.b.String()
	p.b = outer
	if before == "" {
		p.line("for %s {", cond)
	} else {
		p.line("for {")
		p.b.WriteString(before)
		p.line("if !(%s) {\nbreak\n}", cond)
	}
	p.block(s.Body)
	p.line("}")
}

func (p *printer) let(s *loop.Let) {
	v := s.Var
	if !p.used.vars[v] {
		return
	}
	t := goType(v.DType)
	declare := func() string {
		p.vars[v] = p.scope.Take(camel(v.Name))
		return p.vars[v]
	}
	switch {
	case v.Len > 0:
		if s.Value != nil {
			must.Fail("array %s is declared with a value", v.Name)
		}
		p.line("var %s [%d]%s", declare(), v.Len, t)
	case s.Value == nil || expr.IsZero(s.Value):
		p.line("var %s %s", declare(), t)
	case s.Value.Op == expr.OpConst:
		text := typedLiteral(s.Value)
		p.line("%s := %s", declare(), text)
	case s.Value.Op == expr.OpSelect:
		p.chosen(s.Value, declare)
	default:
		text := p.arg(s.Value)
		p.line("%s := %s", declare(), text)
	}
}

// set writes the assignment of e to dst. same tells whether an expression is
// dst itself.
func (p *printer) set(dst string, e *expr.Expr, same func(*expr.Expr) bool) {
	switch {
	case same(e):
	case e.Op == expr.OpSelect && same(e.Args[2]):
		p.line("if %s {", p.arg(e.Args[0]))
		p.set(dst, e.Args[1], same)
		p.line("}")
	case e.Op == expr.OpSelect:
		p.line("if %s {", p.arg(e.Args[0]))
		p.set(dst, e.Args[1], same)
		p.otherwise(e.Args[2].Op == expr.OpSelect, false, func() { p.set(dst, e.Args[2], same) })
	case p.limits(e) && same(e.Args[1]) && e.Args[0].Op == expr.OpConst:
		op := "<" // c > dst ? c : dst
		if e.Op == expr.OpMin {
			op = ">"
		}
		limit := p.arg(e.Args[0])
		p.line("if %s %s %s {\n%s = %s\n}", dst, op, limit, dst, limit)
	case p.updates(e) && same(e.Args[0]):
		p.line("%s %s= %s", dst, updateOps[e.Op], p.arg(e.Args[1]))
	case p.updates(e) && e.Op != expr.OpSub && same(e.Args[1]):
		p.line("%s %s= %s", dst, updateOps[e.Op], p.arg(e.Args[0]))
	default:
		p.line("%s = %s", dst, p.arg(e))
	}
}

var updateOps = map[expr.Op]string{expr.OpAdd: "+", expr.OpSub: "-", expr.OpMul: "*"}

// updates reports whether there is an assignment that does e.
func (p *printer) updates(e *expr.Expr) bool {
	return updateOps[e.Op] != "" && e.DType != ir.Bool && !e.DType.IsHalf() &&
		!(e.Op == expr.OpMul && e.DType.IsFloat() && p.fusible)
}

// limits reports whether e is the lesser or greater of two floats, which
// package cmp and the builtins order in other ways.
func (p *printer) limits(e *expr.Expr) bool {
	return (e.Op == expr.OpMin || e.Op == expr.OpMax) && (e.DType == ir.Float32 ||
		e.DType == ir.Float64)
}

// choice writes a Select as statements that set a new variable, whose name it
// returns.
func (p *printer) choice(e *expr.Expr) string {
	return p.chosen(e, func() string { return p.scope.Take("v") })
}

// chosen declares a variable with the value of a Select. declare gives its
// name, which the value does not see.
func (p *printer) chosen(e *expr.Expr, declare func() string) string {
	cond, a, b := e.Args[0], e.Args[1], e.Args[2]
	t := goType(e.DType)
	never := func(*expr.Expr) bool { return false }
	test := p.arg(cond)
	if simple(b) {
		var init string
		if b.Op == expr.OpConst {
			init = typedLiteral(b)
		} else {
			init = p.arg(b)
		}
		name := declare()
		if expr.IsZero(b) {
			p.line("var %s %s", name, t)
		} else {
			p.line("%s := %s", name, init)
		}
		p.line("if %s {", test)
		p.set(name, a, never)
		p.line("}")
		return name
	}
	name := declare()
	p.line("var %s %s\nif %s {", name, t, test)
	p.set(name, a, never)
	p.otherwise(b.Op == expr.OpSelect, false, func() { p.set(name, b, never) })
	return name
}

// otherwise ends an if statement with what f writes as the else branch: if that
// is a choice that begins with its condition, as an else if.
func (p *printer) otherwise(choice, empty bool, f func()) {
	outer := p.b
	p.b = &strings.Builder{}
	f()
	body := p.b.String()
	p.b = outer
	switch {
	case empty:
		p.line("}")
	case choice && strings.HasPrefix(body, "if "):
		p.b.WriteString("} else " + body)
	default:
		p.b.WriteString("} else {\n" + body + "}\n")
	}
}

func isIf(s loop.Stmt) bool { _, ok := s.(*loop.If); return ok }

// simple reports whether e may be evaluated in vain and costs nothing.
func simple(e *expr.Expr) bool {
	return e.Op == expr.OpConst || e.Op == expr.OpScalar || e.Op == expr.OpLocal && e.Var.Len == 0
}
