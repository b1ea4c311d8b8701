package c

import (
	"fmt"
	"maps"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
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
		g.fail(fmt.Errorf("kernel %s: %d operands for %d names", k.Name, len(info.dtypes),
			len(names)))
		return
	}
	text := &ctext.Kernel{Index: g.idx.String(), Ints: map[string]string{}, Rows: in.Tile.Rows,
		Cols: in.Tile.Cols, Vector: in.Tile.Vector, Func: g.mathFunction}
	p := &printer{g: g, where: "kernel " + k.Name, scope: codegen.NewScope(g.locals),
		syms: map[*sym.Symbol]string{}}
	p.scope.Reserve(names...)
	for _, s := range k.Params {
		p.syms[s] = p.scope.Take(intName(in, s))
	}
	for _, v := range in.Params {
		text.Ints[v.Name] = p.index(v.Value).at(precPostfix)
	}
	result := g.epilogue(in, info, names)
	text.Result = result.call

	var params []parameter
	for i, n := range names {
		typ := g.operandDecl(info, i, written(k, i))
		if n == scratchName {
			typ = "void *"
		}
		params = append(params, parameter{typ, n, &info.dropArg[i]})
	}
	for i, s := range k.Params {
		params = append(params, parameter{g.idx.String() + " ", p.syms[s], &info.dropInt[i]})
	}
	phases := g.phases(in, text)
	used := map[string]bool{}
	for _, ph := range phases {
		maps.Copy(used, ph.used)
	}
	g.tunedHelpers(in, used)
	kept := g.needed(params, used)
	w := &g.kernelText
	if result.text != "" {
		w.blank()
		w.b.WriteString(result.text)
	}
	w.blank()
	if !k.Doc.IsEmpty() {
		w.comment(k.Doc.Comment())
	}
	head := strings.TrimSpace(in.Kernel.Head + " " + g.static())
	if len(phases) == 1 && text.Phase == "" {
		w.line("%s %s(%s)", head, info.name, paramList(kept))
		w.raw(strings.Trim(phases[0].body, "\n"))
		return
	}
	g.parts(info.name, head, phases, kept)
}

// phases returns the text of a kernel, or that of each of its phases if threads
// share them.
func (g *gen) phases(in *tuned.Instance, text *ctext.Kernel) (phases []phase) {
	names := in.Kernel.Phases
	if g.opt.Threads < 2 || !in.Divided || len(names) > 1 && !text.One("batch") {
		names = []string{""}
	}
	for _, text.Phase = range names {
		body, err := ctext.Text(in.Kernel.Name, text)
		if err != nil {
			g.fail(fmt.Errorf("kernel %s: %w", in.Kernel.Name, err))
		}
		phases = append(phases, phase{text.Phase, body, ctext.Identifiers(body)})
	}
	return phases
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

// tunedHelpers emits the templates that a kernel's text, with the names used in
// it, needs before it.
func (g *gen) tunedHelpers(in *tuned.Instance, used map[string]bool) {
	for _, h := range in.Kernel.HelpersFor(used) {
		key := fmt.Sprintf("tuned %s %+v", h, in.Tile)
		if _, done := g.support.names[key]; done {
			continue
		}
		g.support.names[key] = h
		s, err := ctext.Text(h, &ctext.Kernel{Index: g.idx.String(), Rows: in.Tile.Rows,
			Cols: in.Tile.Cols, Vector: in.Tile.Vector, Func: g.mathFunction})
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
	p := &printer{g: g, w: &writer{indent: 1}, where: "epilogue of " + info.name,
		scope: codegen.NewScope(g.locals),
		vars:  map[*expr.Var]string{}, syms: map[*sym.Symbol]string{}}
	acc, _ := typeOf(ep.Acc.DType)
	ret, _ := storageOf(ep.DType)
	p.vars[ep.Acc] = p.scope.Take("acc")
	p.syms[ep.O], p.syms[ep.C] = p.scope.Take("o"), p.scope.Take("c")
	dropped := make([]bool, 3+len(ep.Extra))
	params := []parameter{{acc.String() + " ", p.vars[ep.Acc], &dropped[0]}, {g.idx.String() + " ",
		p.syms[ep.O], &dropped[1]}, {g.idx.String() + " ", p.syms[ep.C], &dropped[2]}}
	first := 1 + len(in.Operands) + len(in.Packed)
	extras := names[first : first+len(ep.Extra)]
	for i, d := range ep.Extra {
		n := p.scope.Take(extras[i])
		p.bufs = append(p.bufs, operand{n, d, []string{n}})
		t, _ := storageOf(d)
		params = append(params, parameter{"const " + t.String() + " *", n, &dropped[3+i]})
	}
	fn := &expr.Func{Name: info.name, Params: []*expr.Var{ep.Acc}, Body: ep.Body}
	stmts, value := schedule.Function(fn)
	stmts, value = settled(stmts), new(ranges).settle(value)
	if value.Op == expr.OpLocal && value.Var == ep.Acc && acc == ret {
		return result{call: func(acc, _, _ string) string { return acc }}
	}
	p.block(loop.WithoutDead(stmts, value))
	p.returns(value, ret)
	body := p.w.b.String()
	kept := g.needed(params, p.used())
	w := &writer{}
	key := "result " + ret.String() + " " + paramList(kept) + " " + body
	cname, done := g.support.names[key]
	if !done {
		cname = g.names.TakeAround(g.prefix + "_result")
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
			if !dropped[i] {
				args = append(args, a)
			}
		}
		return cname + "(" + strings.Join(args, ", ") + ")"
	}}
}
