package golang

import (
	"fmt"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
)

func extraName(i, n int) string {
	if n == 1 {
		return "z"
	}
	return fmt.Sprintf("z%d", i)
}

// afterwards returns statements that apply in's epilogue, which asks for no
// channels, to all results at once: the runs that a kernel makes are too short
// for chunks to be quick.
func (p *printer) afterwards(in *tuned.Instance, typ, results string, extra []string) string {
	e := in.Epilogue
	checkEpilogue(e, typ)
	count := sym.NewSymbol("n", 0, 1<<40)
	i := sym.NewVar("i", count.Expr())
	body := epilogueSteps(e, i, map[*sym.Symbol]sym.Expr{e.O: i.Expr()})
	loops := []loop.Stmt{&loop.For{Var: i, Extent: count.Expr(), Body: body, Vectorizable: true}}
	q := p.within(loops, append([]string{results}, extra...))
	q.syms[count] = "len(" + results + ")"
	q.stmts(q.vectorized(&loop.Func{Body: loops}))
	p.temps = q.temps
	return q.b.String()
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
	steps := epilogueSteps(e, i, map[*sym.Symbol]sym.Expr{e.O: sym.Add(o.Expr(), i.Expr()),
		e.C: channel})
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

// epilogueSteps are the statements of e for result number i of buffer 0. The
// other buffers are e's; m says what its symbols are.
func epilogueSteps(e *tuned.Epilogue, i *sym.Symbol, m map[*sym.Symbol]sym.Expr) []loop.Stmt {
	var steps []loop.Stmt
	result := &expr.Expr{Op: expr.OpLoad, DType: e.Acc.DType, Buf: 0, Coords: []sym.Expr{i.Expr()}}
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
	return append(steps, &loop.Store{Buf: 0, At: i.Expr(), Value: body})
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
