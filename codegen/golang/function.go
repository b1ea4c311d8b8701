package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// vectorFunction returns the name of a function that applies fn to vectors: with
// the vector form that package strip has of it, if there is one.
func (u *unit) vectorFunction(fn *expr.Func) string {
	key := "vec " + fn.Name
	if name := u.funcs[key]; name != "" {
		return name
	}
	scalar := u.function(fn)
	name := u.scope.TakeAround(camel("vec_" + fn.Name))
	u.funcs[key] = name
	fast := ""
	if form := schedule.VectorForm(fn); form != "" {
		fast = fmt.Sprintf("if %s(dst, a) {\nreturn\n}\n", u.helper(form))
	}
	u.bodies = append(u.bodies,
		fmt.Sprintf("// %[1]s sets dst[i] = %[2]s(a[i]).\nfunc %[1]s(dst []%[3]s, "+
			"a []%[4]s) {\na = a[:len(dst)]\n%[5]sfor i := range dst {\ndst[i] = %[2]s(a[i])\n}\n}\n",
			name, scalar, goType(fn.Body.DType), goType(fn.Params[0].DType), fast))
	return name
}

// function returns the name of a scalar function, which it prints at first use.
func (u *unit) function(fn *expr.Func) string {
	if name := u.funcs[fn.Name]; name != "" {
		return name
	}
	name := u.scope.TakeAround(camel(fn.Name))
	u.funcs[fn.Name] = name
	body, result := schedule.Function(fn)
	p := u.newPrinter(body, result)
	params := make([]param, len(fn.Params))
	for i, v := range fn.Params {
		p.vars[v] = p.scope.Take(camel(v.Name))
		params[i] = param{p.vars[v], goType(v.DType)}
	}
	p.returns(body, result)
	doc := fn.Doc
	if doc == "" {
		doc = fn.Name
	}
	u.bodies = append(u.bodies, fmt.Sprintf("%sfunc %s(%s) %s {\n%s}\n",
		comment(name+" returns "+strings.TrimSuffix(doc, ".")+"."), name, signature(params),
		goType(fn.Body.DType), joinVars(p.b.String())))
	return name
}

// returns writes the statements of a function and the return of e. A choice
// made last returns from its arms, the shorter one first.
func (p *printer) returns(body []loop.Stmt, e *expr.Expr) {
	n := len(body)
	if n >= 2 && e.Op == expr.OpLocal {
		let, ok := body[n-2].(*loop.Let)
		if ok && let.Var == e.Var && let.Value == nil && setsLast(body[n-1], e.Var) {
			p.stmts(body[:n-2])
			p.leave(body[n-1:])
			return
		}
	}
	p.stmts(body)
	p.result(e)
}

// setsLast reports whether the last thing s does is to set v.
func setsLast(s loop.Stmt, v *expr.Var) bool {
	switch s := s.(type) {
	case *loop.Assign:
		return s.Var == v && v.Len == 0
	case *loop.If:
		return len(s.Then) > 0 && len(s.Else) > 0 && setsLast(s.Then[len(s.Then)-1], v) &&
			setsLast(s.Else[len(s.Else)-1], v)
	}
	return false
}

// leave writes statements that set a local last, as ones that return it.
func (p *printer) leave(body []loop.Stmt) {
	n := len(body)
	p.stmts(body[:n-1])
	switch s := body[n-1].(type) {
	case *loop.Assign:
		p.result(s.Value)
	case *loop.If:
		cond, first, rest := s.Cond, s.Then, s.Else
		if len(rest) < len(first) {
			cond, first, rest = expr.Not(cond), rest, first
		}
		p.line("if %s {", p.arg(cond))
		outer := p.scope
		p.scope = codegen.NewScope(outer)
		p.leave(first)
		p.scope = outer
		p.line("}")
		p.leave(rest)
	}
}

// result writes the return of e.
func (p *printer) result(e *expr.Expr) {
	if e.Op == expr.OpSelect {
		p.line("if %s {", p.arg(e.Args[0]))
		p.result(e.Args[1])
		p.line("}")
		p.result(e.Args[2])
		return
	}
	p.line("return %s", p.arg(e))
}
