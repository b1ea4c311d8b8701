package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// The parameters of a function that does a part: which of how many.
const (
	partName  = "part"
	partsName = "parts"
)

// divided writes a loop of which the function does a part of the iterations.
func (p *printer) divided(s *loop.For) {
	outer := p.scope
	p.scope = codegen.NewScope(outer)
	defer func() { p.scope = outer }()
	r := p.parts[s.Extent.Key()]
	p.syms[s.Var] = p.scope.Take(camel(s.Var.Name))
	p.line("for %[1]s := %[2]s; %[1]s < %[3]s; %[1]s++ {", p.syms[s.Var], p.syms[r.first],
		p.syms[r.end])
	p.block(s.Body)
	p.line("}")
}

// own returns a divided loop over the iterations of a part alone, for vectors.
func (p *printer) own(s *loop.For) *loop.For {
	r := p.parts[s.Extent.Key()]
	v := sym.NewVar(s.Var.Name, sym.Sub(r.end.Expr(), r.first.Expr()))
	m := expr.Subst{s.Var: sym.Add(r.first.Expr(), v.Expr())}
	own := *s
	own.Divided, own.Var, own.Extent = false, v, expr.Extent(v)
	own.Body = loop.MapAll(s.Body, func(e *expr.Expr) *expr.Expr { return expr.SubstIndex(e, m) },
		func(x sym.Expr) sym.Expr {
			return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { e, ok := m[s]; return e, ok })
		})
	return &own
}

// share is a part's share of a number of iterations: the first, and the end.
type share struct{ first, end *sym.Symbol }

// shares declares what of the iterations of divided loops a part does, by their
// number.
func (p *printer) shares(body []loop.Stmt) map[string]share {
	shares := map[string]share{}
	for _, n := range native.Shared(body) {
		_, most := n.Bounds()
		s := share{sym.NewSymbol("first", 0, most), sym.NewSymbol("end", 0, most)}
		p.syms[s.first], p.syms[s.end] = p.scope.Take("first"), p.scope.Take("end")
		of := p.index(n, precMul)
		p.line("%s, %s := %s*%s/%s, %s*(%s+1)/%s", p.syms[s.first], p.syms[s.end], of, partName,
			partsName, of, partName, partsName)
		shares[n.Key()] = s
	}
	return shares
}

// ownScratch returns the statements by which a part of f takes its scratch memory:
// there is some for so many threads.
func (p *printer) ownScratch(f *loop.Func, threads int) string {
	var b strings.Builder
	for i, buf := range f.Bufs {
		if buf.Role != loop.Scratch {
			continue
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, "if %[2]s = min(%[2]s, %[3]d); %[1]s >= %[2]s {\nreturn\n}\n", partName,
				partsName, threads)
		}
		fmt.Fprintf(&b, "%[1]s = %[1]s[%[2]s*%[3]d:][:%[4]s]\n", p.bufs[i], partName,
			native.OwnScratch(buf), p.index(buf.Len, precAny))
	}
	return b.String()
}
