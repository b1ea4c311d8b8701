package golang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/tuned"
)

func extraName(i, n int) string {
	if n == 1 {
		return "z"
	}
	return fmt.Sprintf("z%d", i)
}

// afterwards returns statements that apply epilogue e to all results of in at once: the runs
// that a kernel makes are too short for chunks to be quick. It returns "" if it cannot, since
// numbers of channels are not known.
func (p *printer) afterwards(in *tuned.Instance, e *tuned.Epilogue, typ, results string,
	extra []string) string {
	checkEpilogue(e, typ)
	count := sym.NewSymbol("n", 0, 1<<40)
	inner, static := in.Channels.Inner.Const()
	channels, known := in.Channels.Count.Const()
	if !e.Body.Uses(e.C) {
		inner, channels = 1, 1
	} else if !static || !known || inner*channels == 0 {
		return ""
	}
	repeats := inner == 1 && 2*channels <= strip.Size
	block := inner // results that are a loop of their own, which u counts: of a channel, or of all
	if inner == 1 {
		block = channels
	}
	i, u := sym.NewVar("i", count.Expr()), sym.NewVar("u", count.Expr())
	at, channel := sym.Add(sym.Mul(u.Expr(), sym.Int(block)), i.Expr()), i.Expr()
	switch {
	case repeats && channels == 1:
		at, channel = i.Expr(), sym.Int(0)
	case repeats:
		at = i.Expr()
	case inner > 1:
		channel = sym.Mod(u.Expr(), sym.Int(channels))
	}
	inside := &loop.For{Var: i, Extent: sym.Int(block), Vectorizable: true,
		Body: epilogueSteps(e, at, map[*sym.Symbol]sym.Expr{e.O: at, e.C: channel})}
	loops := []loop.Stmt{&loop.For{Var: u, Extent: sym.FloorDiv(count.Expr(), sym.Int(block)),
		Body: []loop.Stmt{inside}}}
	if repeats {
		inside.Extent, loops = count.Expr(), []loop.Stmt{inside}
	}
	q := p.within(loops, append([]string{results}, extra...))
	q.syms[count] = "len(" + results + ")"
	loops = q.vectorized(&loop.Func{Body: loops})
	var tables []temp
	if repeats && channels > 1 {
		if tables = q.repeat(loops, e, channels); tables == nil {
			return ""
		}
	}
	q.stmts(loops)
	p.temps = append(q.temps, tables...)
	return q.b.String()
}

// repeat makes the loop, in whose chunks channels are positions, one that has so many channels
// again and again: it reads tables of them. It returns nil if that is not one of chunks, or
// asks for a channel in another way.
func (p *printer) repeat(loops []loop.Stmt, e *tuned.Epilogue, channels int64) (tables []temp) {
	c, ok := loops[0].(*loop.Chunks)
	given := map[int]bool{} // buffers of channels
	expr.Walk(e.Body, func(x *expr.Expr) {
		x.Indices(func(at sym.Expr) {
			if !at.Uses(e.C) {
				return
			}
			ok = ok && x.Op == expr.OpLoad && at.Equal(e.C.Expr())
			given[x.Buf+1] = true
		})
	})
	for k := range given {
		there, _ := e.Reads(k - 1)
		ok = ok && !there
	}
	if !ok {
		return nil
	}
	c.Whole, c.Size = false, c.Size-c.Size%channels
	for _, s := range c.Body {
		v, _ := s.(*loop.Vector)
		if v == nil {
			return nil
		}
		for i, a := range v.Args {
			switch {
			case a.Kind == loop.RunOperand && given[a.Buf]:
				v.Args[i].At = sym.Int(0)
			case a.Kind == loop.BufferOperand && given[a.Buf]:
				return nil
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		t := temp{p.tempName(), e.Extra[k-1], c.Size}
		p.line("%s(%s[:], %s[:%d])", p.unit.helperAs("Repeat", "vecRepeat"), t.name, p.bufs[k],
			channels)
		p.bufs[k] = t.name + "[:]"
		tables = append(tables, t)
	}
	return tables
}

// epilogue returns a function literal that applies in's epilogue to a run of
// results.
func (p *printer) epilogue(in *tuned.Instance, typ string, extra []string) string {
	e := in.Epilogue
	checkEpilogue(e, typ)
	count := sym.NewSymbol("n", 0, 1<<40)
	o := sym.NewSymbol("o", 0, 1<<40)
	c := sym.NewSymbol("c", 0, 1<<40)
	i := sym.NewVar("i", count.Expr())
	channel := c.Expr()
	if in.RunChannels {
		channel = sym.Add(channel, i.Expr())
	}
	steps := epilogueSteps(e, i.Expr(), map[*sym.Symbol]sym.Expr{
		e.O: sym.Add(o.Expr(), i.Expr()), e.C: channel})
	// Runs are short, so vector primitives pay only for functions and for rounding to
	// integers.
	expensive := false
	expr.Walk(e.Body, func(e *expr.Expr) {
		expensive = expensive || e.Op == expr.OpCall || e.Op == expr.OpCast && e.DType.IsInt() &&
			e.Args[0].DType.IsFloat()
	})
	loops := []loop.Stmt{&loop.For{Var: i, Extent: count.Expr(), Body: steps,
		Vectorizable: expensive}}
	q := p.within(loops, nil)
	run := q.scope.Take("run")
	q.bufs = append([]string{run}, extra...)
	q.syms[count] = "len(" + run + ")"
	q.syms[o], q.syms[c] = q.scope.Take("o"), q.scope.Take("c")
	q.stmts(q.vectorized(&loop.Func{Body: loops}))
	p.temps = q.temps // outside of the function, so that they are cleared once
	on, cn := q.syms[o], q.syms[c]
	if !e.Body.Uses(e.O) {
		on = "_"
	}
	if !e.Body.Uses(e.C) {
		cn = "_"
	}
	return fmt.Sprintf("func(%s %s, %s, %s int) {\n%s}", run, typ, on, cn, q.b)
}

func checkEpilogue(e *tuned.Epilogue, typ string) {
	if "[]"+goType(e.DType) != typ || e.Acc.DType != e.DType {
		must.Fail("an epilogue turns %s into %s", e.Acc.DType, e.DType)
	}
}

// epilogueSteps are the statements of e for a result of buffer 0. The other buffers are e's;
// m says what its symbols are.
func epilogueSteps(e *tuned.Epilogue, at sym.Expr, m map[*sym.Symbol]sym.Expr) []loop.Stmt {
	var steps []loop.Stmt
	result := &expr.Expr{Op: expr.OpLoad, DType: e.Acc.DType, Buf: 0, Coords: []sym.Expr{at}}
	body := expr.SubstIndex(expr.ShiftLoads(e.Body, 1), m)
	if reads(body, e.Acc) > 1 {
		steps = append(steps, &loop.Let{Var: e.Acc, Value: result})
	} else {
		body = expr.Rewrite(body, func(x *expr.Expr) *expr.Expr {
			if x.Op == expr.OpLocal && x.Var == e.Acc {
				return result
			}
			return x
		})
	}
	return append(steps, &loop.Store{Buf: 0, At: at, Value: body})
}

// within returns a printer of a block inside of p's function.
func (p *printer) within(loops []loop.Stmt, bufs []string) *printer {
	q := p.unit.newPrinter(loops)
	q.scope = codegen.NewScope(p.scope)
	q.top = q.scope
	q.bufs = bufs
	return q
}

// reads counts where e reads v.
func reads(e *expr.Expr, v *expr.Var) int {
	if e.Op == expr.OpLocal && e.Var == v {
		return 1
	}
	n := 0
	for _, a := range e.Args {
		n += reads(a, v)
	}
	return n
}
