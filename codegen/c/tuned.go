package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	kmath "github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	ctext "github.com/etgen/etgen/templates/c"
)

// tuned prints the function of a tuned kernel: its template with signature,
// integers and epilogue filled in.
func (g *gen) tuned(k *native.Kernel, info *kernel) {
	in := k.Tuned
	g.tiles = g.tiles || in.Tile.Vector
	names := operandNames(in)
	if len(names) != len(info.dtypes) {
		g.fail(fmt.Errorf("kernel %s: %d operands for %d names", k.Name, len(info.dtypes), len(names)))
		return
	}
	text := &ctext.Kernel{Index: g.idx.String(), Ints: map[string]string{}, Rows: in.Tile.Rows, Cols: in.Tile.Cols, Vector: in.Tile.Vector, Func: g.mathFunction}
	p := &printer{g: g, where: "kernel " + k.Name, scope: codegen.NewScope(g.locals), syms: map[*sym.Symbol]string{}}
	p.scope.Reserve(names...)
	for _, s := range k.Params {
		p.syms[s] = p.scope.Take(intName(in, s))
	}
	for _, v := range in.Params {
		text.Ints[v.Name] = p.index(v.Value).at(precPostfix)
	}
	result := g.epilogue(in, info, names)
	text.Result = result.call

	var decls []string
	var drops []*bool
	for i, n := range names {
		decl := g.operandDecl(info, i, written(k, i))
		if n == scratchName {
			decl = "void *"
		}
		decls, drops = append(decls, decl+n), append(drops, &info.dropArg[i])
	}
	for i, s := range k.Params {
		decls, drops = append(decls, g.idx.String()+" "+p.syms[s]), append(drops, &info.dropInt[i])
	}
	bodies := g.bodies(in, text)
	g.tunedHelpers(in, strings.Join(bodies, ""))
	kept, args := decls[:0:0], []string{}
	for i, d := range decls {
		name := d[strings.LastIndexAny(d, " *")+1:]
		if *drops[i] = !mentions(strings.Join(bodies, ""), name); !*drops[i] {
			kept, args = append(kept, d), append(args, name)
		}
	}
	w := &g.kernelText
	if result.text != "" {
		w.blank()
		w.b.WriteString(result.text)
	}
	w.blank()
	if k.Doc != "" {
		w.comment(codegen.PlainText(k.Doc))
	}
	head := strings.TrimSpace(in.Kernel.Head + " static void")
	if len(bodies) == 1 && text.Phase == "" {
		w.line("%s %s(%s)", head, info.name, paramList(kept))
		w.raw(strings.Trim(bodies[0], "\n"))
		return
	}
	g.parts(info.name, head, in.Kernel.Phases, bodies, kept, args)
}

// bodies returns the text of a kernel, or that of each of its phases if threads
// share them.
func (g *gen) bodies(in *tuned.Instance, text *ctext.Kernel) (bodies []string) {
	phases := in.Kernel.Phases
	if g.opt.Threads < 2 || !in.Divided || len(phases) > 1 && !text.One("batch") {
		phases = []string{""}
	}
	for _, text.Phase = range phases {
		body, err := ctext.Text(in.Kernel.Name, text)
		if err != nil {
			g.fail(fmt.Errorf("kernel %s: %w", in.Kernel.Name, err))
		}
		bodies = append(bodies, body)
	}
	return bodies
}

const (
	resultName  = "y"
	scratchName = "scratch"
)

// operandNames are the names of a tuned kernel's buffers in its text.
func operandNames(in *tuned.Instance) []string {
	names := append([]string{resultName}, in.Kernel.Operands[:len(in.Operands)]...)
	for _, p := range in.Packed {
		names = append(names, p.Name)
	}
	if in.Epilogue != nil {
		for i := range in.Epilogue.Extra {
			names = append(names, fmt.Sprintf("extra%d", i))
		}
	}
	if !in.Scratch.IsZero() {
		names = append(names, scratchName)
	}
	return names
}

// intName names an integer parameter as the kernel's text names the number it
// stands for, so that it is none of the text's own variables.
func intName(in *tuned.Instance, s *sym.Symbol) string {
	for _, p := range in.Params {
		if p.Value.Equal(s.Expr()) {
			return p.Name
		}
	}
	return "size_" + s.Name
}

// tunedHelpers emits the templates that a kernel's text needs before it.
func (g *gen) tunedHelpers(in *tuned.Instance, body string) {
	for _, h := range in.Kernel.HelpersFor(body) {
		key := fmt.Sprintf("tuned %s %+v", h, in.Tile)
		if _, done := g.support.names[key]; done {
			continue
		}
		g.support.names[key] = h
		s, err := ctext.Text(h, &ctext.Kernel{Index: g.idx.String(), Rows: in.Tile.Rows, Cols: in.Tile.Cols, Vector: in.Tile.Vector, Func: g.mathFunction})
		if err != nil {
			g.fail(err)
		}
		g.support.texts = append(g.support.texts, strings.Trim(s, "\n")+"\n")
	}
}

// mathFunction returns the name of a float32 function of kernels/math.
func (g *gen) mathFunction(name string) string {
	return g.function(kmath.Func(name, ir.Float32))
}

// result is the function that makes of a plain result what is stored.
type result struct {
	text string // "" if nothing is to be done
	call func(acc, o, c string) string
}

// epilogue prints the function of an instance's epilogue. It has the parameters
// it uses of: acc, o, c and the extra operands.
func (g *gen) epilogue(in *tuned.Instance, info *kernel, names []string) result {
	ep := in.Epilogue
	if ep == nil {
		return result{call: func(acc, _, _ string) string { return acc }}
	}
	p := &printer{g: g, w: &writer{indent: 1}, where: "epilogue of " + info.name, scope: codegen.NewScope(g.locals),
		vars: map[*expr.Var]string{}, syms: map[*sym.Symbol]string{}}
	acc, _ := typeOf(ep.Acc.DType)
	ret, _ := storageOf(ep.DType)
	p.vars[ep.Acc] = p.scope.Take("acc")
	p.syms[ep.O], p.syms[ep.C] = p.scope.Take("o"), p.scope.Take("c")
	decls := []string{acc.String() + " " + p.vars[ep.Acc], g.idx.String() + " " + p.syms[ep.O], g.idx.String() + " " + p.syms[ep.C]}
	first := 1 + len(in.Operands) + len(in.Packed)
	extras := names[first : first+len(ep.Extra)]
	for i, d := range ep.Extra {
		p.bufs = append(p.bufs, operand{p.scope.Take(extras[i]), d})
		t, _ := storageOf(d)
		decls = append(decls, "const "+t.String()+" *"+p.bufs[i].name)
	}
	fn := &expr.Func{Name: info.name, Params: []*expr.Var{ep.Acc}, Body: ep.Body}
	stmts, value := schedule.Function(fn)
	stmts, value = settled(stmts), new(ranges).settle(value)
	if value.Op == expr.OpLocal && value.Var == ep.Acc && acc == ret {
		return result{call: func(acc, _, _ string) string { return acc }}
	}
	p.block(withoutDead(stmts, value))
	p.returns(value, ret)
	body := p.w.b.String()
	kept := decls[:0:0]
	used := make([]bool, len(decls))
	for i, d := range decls {
		if used[i] = mentions(body, d[strings.LastIndexAny(d, " *")+1:]); used[i] {
			kept = append(kept, d)
		}
	}
	w := &writer{}
	key := "result " + ret.String() + " " + paramList(kept) + " " + body
	cname, done := g.support.names[key]
	if !done {
		cname = g.names.Take(g.prefix + "_result")
		g.support.names[key] = cname
	}
	w.line("static inline %s %s(%s)", ret, cname, paramList(kept))
	w.raw("{")
	w.b.WriteString(body)
	w.raw("}")
	text := w.b.String()
	if done {
		text = ""
	}
	return result{text: text, call: func(acc, o, c string) string {
		all := append([]string{acc, o, c}, extras...)
		var args []string
		for i, a := range all {
			if used[i] {
				args = append(args, a)
			}
		}
		return cname + "(" + strings.Join(args, ", ") + ")"
	}}
}
