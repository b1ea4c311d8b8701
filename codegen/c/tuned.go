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
	slots := in.Slots()
	if len(slots) != len(info.dtypes) {
		g.fail(fmt.Errorf("kernel %s: %d operands for %d names", k.Name, len(info.dtypes),
			len(slots)))
		return
	}
	text := &ctext.Kernel{Index: g.idx.String(), Known: map[string]int64{}, Rows: in.Tile.Rows,
		Cols: in.Tile.Cols, Vector: in.Tile.Vector, Func: g.mathFunction}
	for _, v := range in.Params {
		if n, ok := v.Value.Const(); ok {
			text.Known[v.Name] = n
		}
	}
	var names []string
	for _, s := range slots {
		names = append(names, s.Name)
	}
	result := g.epilogue(in, info, names)
	text.Result = result.call

	var params []parameter
	for i, s := range slots {
		typ := g.operandDecl(info, i, written(k, i))
		if s.Kind == tuned.Scratch {
			typ = "void *"
		}
		params = append(params, parameter{typ, s.Name, &info.dropArg[i]})
	}
	phases := g.phases(in, text)
	used := map[string]bool{}
	for _, ph := range phases {
		maps.Copy(used, ph.used)
	}
	g.tunedHelpers(in, used)
	integers, given := g.integers(k, info, used)
	for i, ph := range phases {
		var declared []string
		for _, d := range integers {
			if ph.used[d.name] {
				declared = append(declared, d.line)
				phases[i].used[d.given] = true
				used[d.given] = true
			}
		}
		phases[i].body = ctext.Prefixed(ctext.WithIntegers(ph.body, declared), g.prefix)
	}
	kept := g.needed(append(params, given...), used)
	w := &g.kernelText
	if result.text != "" {
		w.blank()
		w.b.WriteString(result.text)
	}
	g.paramsType(in, info)
	w.blank()
	if !k.Doc.IsEmpty() {
		w.comment(k.Doc.Comment())
	}
	head := strings.TrimSpace(ctext.Prefixed(in.Kernel.Head, g.prefix) + " " + g.static())
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
		g.support.texts = append(g.support.texts,
			ctext.Prefixed(strings.Trim(s, "\n"), g.prefix)+"\n")
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
	first := in.First(tuned.Extra)
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
