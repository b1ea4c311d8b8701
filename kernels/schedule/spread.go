package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// maxSpread bounds the scratch buffers of a loop that is spread.
const maxSpread = 8

// spread runs body, which is that of st, for all iterations of st at once: each
// run of statements without loops becomes a loop over st's variable, the loops
// of body go around these. Locals that live longer than a run have an element
// of scratch memory for each of the at most size iterations. It returns nil if
// body has another form.
func (x *interchanger) spread(st *loop.For, body []loop.Stmt, size int64) []loop.Stmt {
	p := spreader{
		w: witness{v: st.Var, vars: map[*expr.Var]bool{},
			syms: map[*sym.Symbol]bool{st.Var: true}, depth: map[*expr.Var]int{}},
		over: st, runs: map[*expr.Var][]*run{}, symRuns: map[*sym.Symbol][]*run{},
		again: map[*expr.Var]*expr.Expr{}, bufs: map[*expr.Var]int{},
	}
	p.w.block(body, 0)
	items := p.items(body)
	if p.failed || !p.place(x.f, size) {
		return nil
	}
	return p.emit(items)
}

// run is successive statements without loops that depend on the variable.
type run struct{ stmts []loop.Stmt }

// item is one of the others: a statement that is the same in all iterations, a
// loop or condition around items, or a run.
type item struct {
	run         *run
	same        loop.Stmt
	around      loop.Stmt // *loop.For or *loop.If
	body, other []item
}

type spreader struct {
	w       witness
	over    *loop.For
	failed  bool
	locals  []*expr.Var // in order of declaration
	runs    map[*expr.Var][]*run
	symRuns map[*sym.Symbol][]*run
	again   map[*expr.Var]*expr.Expr // locals that are loaded again instead
	bufs    map[*expr.Var]int        // scratch buffers of the others
}

// items divides a block.
func (p *spreader) items(body []loop.Stmt) []item {
	var out []item
	var cur *run
	add := func(st loop.Stmt) {
		if cur == nil {
			cur = &run{}
			out = append(out, item{run: cur})
		}
		cur.stmts = append(cur.stmts, st)
		p.note(st, cur)
	}
	for _, st := range body {
		switch st := st.(type) {
		case *loop.For:
			out = append(out, item{around: st, body: p.items(st.Body)})
			cur = nil
		case *loop.If:
			switch {
			case !p.w.varies(st.Cond):
				out = append(out, item{around: st, body: p.items(st.Then), other: p.items(st.Else)})
				cur = nil
			case hasLoop(st):
				p.failed = true
			default:
				for _, c := range chosen(st) {
					add(c)
				}
			}
		case *loop.Let:
			if !st.Mutable && !p.w.varies(st.Value) {
				out = before(out, cur, item{same: st})
				continue
			}
			p.locals = append(p.locals, st.Var)
			add(st)
		case *loop.LetIndex:
			if !p.w.syms[st.Sym] {
				out = before(out, cur, item{same: st})
				continue
			}
			add(st)
		default:
			add(st)
		}
	}
	return out
}

// before adds it to list, in front of the run at its end that still grows.
func before(list []item, cur *run, it item) []item {
	if cur == nil {
		return append(list, it)
	}
	return slices.Insert(list, len(list)-1, it)
}

func hasLoop(st loop.Stmt) bool {
	return loop.Any([]loop.Stmt{st}, func(st loop.Stmt) bool {
		_, ok := st.(*loop.For)
		return ok
	})
}

// chosen returns st as assignments of chosen values if it is only assignments
// of what is known: a loop of these needs no branches.
func chosen(st *loop.If) []loop.Stmt {
	if len(st.Else) > 0 || !plain(st.Then) {
		return []loop.Stmt{st}
	}
	cond := &expr.Var{Name: "ok", DType: ir.Bool}
	out := []loop.Stmt{&loop.Let{Var: cond, Value: st.Cond}}
	for _, s := range st.Then {
		a := s.(*loop.Assign)
		if !trivial(a.Value) || a.Var.Len > 0 {
			return []loop.Stmt{st}
		}
		out = append(out, &loop.Assign{Var: a.Var, Value: expr.Select(expr.Get(cond), a.Value,
			expr.Get(a.Var))})
	}
	return out
}

// note records which locals and indices a statement of r mentions.
func (p *spreader) note(st loop.Stmt, r *run) {
	local := func(v *expr.Var) {
		if !slices.Contains(p.runs[v], r) {
			p.runs[v] = append(p.runs[v], r)
		}
	}
	loop.Walk([]loop.Stmt{st}, func(st loop.Stmt) {
		switch st := st.(type) {
		case *loop.Let:
			local(st.Var)
		case *loop.Assign:
			local(st.Var)
		case *loop.LetIndex:
			p.symRuns[st.Sym] = append(p.symRuns[st.Sym], r)
		}
		loop.Nodes(st, func(e *expr.Expr) {
			if e.Op == expr.OpLocal {
				local(e.Var)
			}
		})
		loop.Indices(st, func(x sym.Expr) {
			for _, s := range x.Symbols() {
				if s != p.w.v && p.w.syms[s] {
					p.symRuns[s] = append(p.symRuns[s], r)
				}
			}
		})
	})
}

// place decides where locals are that more than one run mentions.
func (p *spreader) place(f *loop.Func, size int64) bool {
	for _, list := range p.symRuns {
		for _, r := range list {
			if r != list[0] {
				return false
			}
		}
	}
	var far []*expr.Var
	for _, v := range p.locals {
		if len(p.runs[v]) < 2 {
			continue
		}
		if e := p.loaded(f, v); e != nil {
			p.again[v] = e
			continue
		}
		far = append(far, v)
	}
	if len(far) > maxSpread {
		return false
	}
	for _, v := range far {
		p.bufs[v] = scratch(f, v.Name, v.DType, sym.Int(size))
	}
	return true
}

// loaded returns the load from an input that v is, nil if it is something else.
func (p *spreader) loaded(f *loop.Func, v *expr.Var) *expr.Expr {
	for _, st := range p.runs[v][0].stmts {
		let, ok := st.(*loop.Let)
		if ok && let.Var == v && !let.Mutable && let.Value != nil && let.Value.Op == expr.OpLoad &&
			f.Bufs[let.Value.Buf].Role == loop.In {
			coef, rest, linear := let.Value.Coords[0].Coef(p.w.v)
			if linear && coef.Is(1) && !p.w.index(rest) {
				return let.Value
			}
		}
	}
	return nil
}

func (p *spreader) emit(items []item) []loop.Stmt {
	var out []loop.Stmt
	for _, it := range items {
		switch {
		case it.same != nil:
			out = append(out, it.same)
		case it.run != nil:
			if body := p.stmts(it.run.stmts); len(body) > 0 {
				out = append(out, &loop.For{Var: p.over.Var, Extent: p.over.Extent, Body: body,
					Vectorizable: true})
			}
		default:
			switch st := it.around.(type) {
			case *loop.For:
				out = append(out, &loop.For{Var: st.Var, Extent: st.Extent, Body: p.emit(it.body)})
			case *loop.If:
				out = append(out, &loop.If{Cond: st.Cond, Then: p.emit(it.body),
					Else: p.emit(it.other)})
			}
		}
	}
	return out
}

// stmts returns statements of a run with locals where they are now.
func (p *spreader) stmts(body []loop.Stmt) []loop.Stmt {
	var out []loop.Stmt
	at := p.w.v.Expr()
	for _, st := range body {
		switch st := st.(type) {
		case *loop.Let:
			if p.again[st.Var] != nil {
				continue
			}
			if k, ok := p.bufs[st.Var]; ok {
				if st.Value != nil {
					out = append(out, &loop.Store{Buf: k, At: at, Value: p.value(st.Value)})
				}
				continue
			}
		case *loop.Assign:
			if k, ok := p.bufs[st.Var]; ok {
				out = append(out, &loop.Store{Buf: k, At: at, Value: p.value(st.Value)})
				continue
			}
		case *loop.If:
			out = append(out, &loop.If{Cond: p.value(st.Cond), Then: p.stmts(st.Then),
				Else: p.stmts(st.Else)})
			continue
		}
		out = append(out, loop.Map(st, p.value, same))
	}
	return out
}

// value returns e with locals where they are now.
func (p *spreader) value(e *expr.Expr) *expr.Expr {
	return relocated(e, func(v *expr.Var) *expr.Expr {
		if k, ok := p.bufs[v]; ok {
			return expr.At(k, v.DType, p.w.v.Expr())
		}
		return p.again[v]
	})
}
