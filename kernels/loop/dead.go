package loop

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// WithoutDead returns body without the locals and indices that nothing reads,
// about which compilers warn. results are expressions evaluated after body.
func WithoutDead(body []Stmt, results ...*expr.Expr) []Stmt {
	for {
		r := &reads{vars: map[*expr.Var]bool{}, syms: map[*sym.Symbol]bool{}}
		for _, e := range results {
			r.expr(e)
		}
		Walk(body, r.stmt)
		kept := r.keep(body)
		if !r.dropped {
			return body
		}
		body = kept
	}
}

// reads is what is read anywhere.
type reads struct {
	vars    map[*expr.Var]bool
	syms    map[*sym.Symbol]bool
	dropped bool
}

func (r *reads) stmt(s Stmt) {
	Indices(s, r.index)
	Exprs(s, r.expr)
}

func (r *reads) index(e sym.Expr) {
	for _, s := range e.Symbols() {
		r.syms[s] = true
	}
}

func (r *reads) expr(e *expr.Expr) {
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(r.index)
		if e.Op == expr.OpLocal {
			r.vars[e.Var] = true
		}
	})
}

// keep returns body without statements that set what is not read, and without
// loops and branches that are empty then.
func (r *reads) keep(body []Stmt) []Stmt {
	out := make([]Stmt, 0, len(body))
	for _, s := range body {
		drop := false
		switch t := s.(type) {
		case *Let:
			drop = !r.vars[t.Var]
		case *Assign:
			drop = !r.vars[t.Var]
		case *LetIndex:
			drop = !r.syms[t.Sym]
		case *For:
			c := *t
			c.Body = r.keep(t.Body)
			s, drop = &c, len(c.Body) == 0
		case *While:
			s = &While{Cond: t.Cond, Body: r.keep(t.Body)}
		case *If:
			c := &If{Cond: t.Cond, Then: r.keep(t.Then), Else: r.keep(t.Else)}
			if len(c.Then) == 0 && len(c.Else) > 0 {
				c = &If{Cond: expr.Not(t.Cond), Then: c.Else}
			}
			s, drop = c, len(c.Then) == 0
		}
		if drop {
			r.dropped = true
			continue
		}
		out = append(out, s)
	}
	return out
}
