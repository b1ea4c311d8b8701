package c

import (
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/lower/native"
)

// kernel is a kernel with its C name and what its calls have in common.
type kernel struct {
	name     string
	dtypes   []ir.DType // of the operands
	disjoint []bool     // written operands that no other operand of any call overlaps
	dropArg  []bool     // parameters the text does not use
	dropInt  []bool
	dropNum  []bool
	fields   [][]sym.Expr // of all calls of a tuned kernel
	dynamic  bool         // one of them is not constant
	params   *tunedParams // of a tuned kernel
	calls    int
}

// ownKernels names and prints the kernels that no file has that this one shares, by what holds for
// all their calls.
func (g *gen) ownKernels() {
	own := seq.Filter(g.p.Kernels, func(k *native.Kernel) bool { return g.kernels[k] == nil })
	is := map[*native.Kernel]bool{}
	for _, k := range own {
		is[k] = true
		info := &kernel{name: g.names.Take(g.prefix + "_" + k.Name), dropInt: make([]bool,
			len(k.Params))}
		g.kernels[k] = info
		if k.Loop != nil {
			info.dropNum = make([]bool, len(k.Loop.Scalars))
			for _, b := range k.Loop.Bufs {
				info.dtypes = append(info.dtypes, b.DType)
			}
		}
	}
	for _, m := range g.p.Methods {
		codegen.Walk(m.Body, func(s native.Stmt) {
			if c, ok := s.(*native.Call); ok && is[c.Kernel] {
				g.analyseCall(c)
			}
		})
	}
	for _, k := range own {
		must.Check(eval.Stopped(g.opt.Done))
		must.Do(func() { g.kernel(k) }, "kernel %s", k.Name)
	}
}

func (g *gen) analyseCall(c *native.Call) {
	info := g.kernels[c.Kernel]
	if info.calls++; info.calls == 1 {
		info.disjoint = make([]bool, len(c.Args))
		info.dropArg = make([]bool, len(c.Args))
		for i := range c.Args {
			info.disjoint[i] = written(c.Kernel, i)
		}
		if c.Kernel.Loop == nil {
			for _, b := range c.Args {
				info.dtypes = append(info.dtypes, b.DType)
			}
		}
	}
	if c.Kernel.Tuned != nil {
		info.fields = append(info.fields, c.Fields())
	}
	for _, e := range c.Ints {
		_, constant := e.Const()
		info.dynamic = info.dynamic || !constant
	}
	for i := range c.Args {
		for j := range c.Args {
			if info.disjoint[i] && i != j && codegen.MayOverlap(c.Args[i], c.Args[j]) {
				info.disjoint[i] = false
			}
		}
	}
}

// kernel prints k's function.
func (g *gen) kernel(k *native.Kernel) {
	info := g.kernels[k]
	if info.calls == 0 {
		return
	}
	if k.Tuned != nil {
		g.tuned(k, info)
		return
	}
	p := g.newPrinter(g.locals)
	var params []parameter
	add := func(typ, name string, drop *bool) {
		params = append(params, parameter{typ, name, drop})
	}
	divided := g.divides(k)
	if divided {
		p.scope.Reserve(partName, partsName)
	}
	var scratch []own
	for i, b := range k.Loop.Bufs {
		name := p.scope.Take(b.Name)
		if b.Role == loop.Scratch {
			scratch = append(scratch, own{name, native.OwnScratch(b)})
		}
		p.bufs = append(p.bufs, operand{name, b.DType, []string{name}})
		add(g.operandDecl(info, i, written(k, i)), name, &info.dropArg[i])
	}
	for i, s := range k.Params {
		name := p.scope.Take(s.Name)
		p.syms[s] = name
		add(g.idx.String()+" ", name, &info.dropInt[i])
	}
	for i, v := range k.Loop.Scalars {
		t := typeOf(v.DType)
		c := name(p.scope.Take(v.Name), t)
		p.scalars = append(p.scalars, c)
		add(t.String()+" ", c.s, &info.dropNum[i])
	}
	if divided {
		p.parts = p.shares(k.Loop.Body)
	}
	p.block(loop.WithoutDead(settled(k.Loop.Body)))
	body := p.w.b.String()
	used := p.used()
	kept := g.needed(params, used)
	w := &g.kernelText
	w.blank()
	if !k.Doc.IsEmpty() {
		w.comment(k.Doc.Comment())
	}
	if divided {
		g.parts(info.name, g.static(), []phase{{"share", "{\n" + body + "}", used}}, kept,
			scratch...)
		return
	}
	static := g.static()
	if k.Fails() {
		static = strings.TrimSuffix(static, "void") + "bool"
	}
	w.function(body, "%s", g.kernelHead(static, info.name, kept))
}

// static is the declaration of a kernel up to its name. In a divided program no
// kernel is put where it is called, or its functions would be large again.
func (g *gen) static() string {
	if g.divided {
		return g.noInline() + " static void"
	}
	return "static void"
}

// operandDecl is the declaration of operand i up to its name.
func (g *gen) operandDecl(info *kernel, i int, written bool) string {
	t := storageOf(info.dtypes[i])
	switch {
	case !written:
		return "const " + t.String() + " *"
	case info.disjoint[i] && len(info.dtypes) > 1:
		return t.String() + " " + restricted
	}
	return t.String() + " *"
}

// parameter is a parameter of a function.
type parameter struct {
	typ, name string // typ is what stands before the name: "const float *"
	drop      *bool  // set if no text needs it
}

// restricted is what the type of a parameter ends with that no other overlaps.
const restricted = "*restrict "

// needed returns those of the parameters whose names are used, and notes which
// are not.
func (g *gen) needed(params []parameter, used map[string]bool) []parameter {
	kept := params[:0:0]
	for _, p := range params {
		if *p.drop = !used[p.name]; !*p.drop {
			kept = append(kept, p)
			g.restricts = g.restricts || strings.HasSuffix(p.typ, restricted)
		}
	}
	return kept
}

func paramList(params []parameter) string {
	if len(params) == 0 {
		return "void"
	}
	decls := seq.Map(params, func(p parameter) string { return p.typ + p.name })
	return strings.Join(decls, ", ")
}

// functionText prints a scalar function.
func (g *gen) functionText(fn *expr.Func, cname string) string {
	p := g.newPrinter(g.locals)
	var params []parameter
	for _, v := range fn.Params {
		t := typeOf(v.DType)
		p.vars[v] = p.scope.Take(v.Name)
		params = append(params, parameter{typ: t.String() + " ", name: p.vars[v]})
	}
	ret := typeOf(fn.Body.DType)
	body, result := schedule.Function(fn)
	body, result = settled(body), new(ranges).settle(result)
	p.block(loop.WithoutDead(body, result))
	p.returns(result, ret)
	w := &writer{}
	if fn.Doc != "" {
		w.comment(fn.Doc)
	}
	w.function(p.w.b.String(), "static inline %s %s(%s)", ret, cname, paramList(params))
	return w.b.String()
}

// returns prints what makes a function return e: for a choice, the first arm
// under its condition, then the other.
func (p *printer) returns(e *expr.Expr, t ctype) {
	p.spilled = nil
	if e.Op != expr.OpSelect {
		p.share(e)
	}
	if e.Op == expr.OpSelect && (e.Args[1].Op == expr.OpSelect || e.Args[2].Op == expr.OpSelect) {
		p.w.line("if (%s) {", p.expr(e.Args[0]).s)
		outer := p.scope
		p.scope = codegen.NewScope(outer)
		p.w.indent++
		p.returns(e.Args[1], t)
		p.w.closeWith("}")
		p.scope = outer
		p.returns(e.Args[2], t)
		return
	}
	v := p.expr(e)
	if v.t != tBool {
		v = convert(v, t)
	}
	p.w.line("return %s;", v.s)
}

// written reports whether a kernel writes its operand i.
func written(k *native.Kernel, i int) bool {
	_, w := k.Uses(i)
	return w
}
