package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// divides reports whether goroutines share the parts of a kernel.
func (g *generator) divides(k *native.Kernel) bool {
	return g.opt.Threads > 1 && k.Divided()
}

// dividedCalls reports whether a method calls a kernel that is done in parts.
func (p *methodPrinter) dividedCalls() bool {
	found := false
	codegen.Walk(p.m.Body, func(s native.Stmt) {
		c, ok := s.(*native.Call)
		found = found || ok && p.g.divides(c.Kernel)
	})
	return found
}

// inParts prints a kernel that has goroutines do body, which does a part of a step of it
// and has params, and where they find its arguments.
func (g *generator) inParts(name string, doc foreign.Text, params []param, steps,
	body string) string {
	g.divided = append(g.divided, name)
	var all, used, fields []string
	for _, x := range params {
		all = append(all, x.name)
		if mentions(body, x.name) {
			used, fields = append(used, x.name), append(fields, "c."+x.name)
		}
	}
	if used != nil {
		body = strings.Join(used, ", ") + " := " + strings.Join(fields, ", ") + "\n" + body
	}
	whole := kernelDoc(name, doc)
	if whole == "" {
		whole = comment(name + " computes its results in parts.")
	}
	return whole + fmt.Sprintf(`func %[1]s(s *shared, %[2]s) {
	c := &s.%[1]s
	*c = %[1]sCall{%[3]s}
	s.run(c, %[4]s)
	*c = %[1]sCall{}
}

// %[1]sCall is the arguments of %[1]s.
type %[1]sCall struct {
%[5]s
}

// do does one of so many parts of a step.
func (c *%[1]sCall) do(step, part, parts int) {
%[6]s}
`, name, signature(params), strings.Join(all, ", "), steps, fieldLines(params), body)
}

// fieldLines declares params as fields of a struct, those of one type together.
func fieldLines(params []param) string {
	var b strings.Builder
	for i, x := range params {
		b.WriteString(x.name)
		if i+1 < len(params) && params[i+1].typ == x.typ {
			b.WriteString(", ")
			continue
		}
		b.WriteString(" " + x.typ + "\n")
	}
	return strings.TrimSpace(b.String())
}

// steps is the number of steps of a kernel that is done in parts: its phases, for
// each image of a batch if there are several.
func (p *printer) steps(in *tuned.Instance) string {
	phases := sym.Int(int64(len(in.Phases())))
	if len(in.Phases()) > 1 {
		for _, x := range in.Params {
			if x.Name == "batch" {
				phases = sym.Mul(phases, x.Value)
			}
		}
	}
	return p.index(phases, precAny)
}

// threadsFile prints threads.go, nil if no kernel is done in parts.
func (g *generator) threadsFile() []byte {
	if g.divided == nil {
		return nil
	}
	text := "// shared is what kernels that are done in parts need: goroutines, " +
		"and where\n// they find the arguments of the kernel that is being done.\ntype shared struct " +
		"{\nthreads\n"
	for _, name := range g.divided {
		text += name + " " + name + "Call\n"
	}
	return g.unit.file(g.header(), text+"}\n\n"+ourCode("threads"))
}

// newThreads prints New and NewThreads for a Model that inits initialise.
func (g *generator) newThreads(f *jen.File, model jen.Code) {
	f.Commentf("New is NewThreads(%d).", g.opt.Threads)
	f.Func().Id("New").Params().Op("*").Id("Model").Block(
		jen.Return(jen.Id("NewThreads").Call(jen.Lit(g.opt.Threads))))
	state := ""
	if len(g.p.State) > 0 {
		state = " in its initial state"
	}
	count := jen.Id("n")
	about := fmt.Sprintf(
		"NewThreads returns a Model%s whose larger kernels n goroutines share: the caller's, "+
			"and others that it starts when a method is called and that end soon after the last call. "+
			"Results are the same to the bit for any n.", state)
	if !g.anyDivided() {
		count = jen.Id("_")
		about = fmt.Sprintf(
			"NewThreads returns a Model%s. It has no kernel that several goroutines could share.",
			state)
	}
	f.Op(strings.TrimSuffix(comment(about), "\n"))
	f.Func().Id("NewThreads").Params(count.Int()).Op("*").Id("Model").BlockFunc(func(b *jen.Group) {
		b.Id("m").Op(":=").Add(model)
		if g.anyDivided() {
			b.Id("m").Dot("shared").Dot("set").Call(jen.Id("n"))
		}
		if len(g.p.State) > 0 {
			b.Id("m").Dot("Reset").Call()
		}
		b.Return(jen.Id("m"))
	})
}

func (g *generator) anyDivided() bool {
	return slices.ContainsFunc(g.p.Kernels, func(k *native.Kernel) bool { return g.divides(k) })
}

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
