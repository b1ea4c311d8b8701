package schedule

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// What makes a table worth its memory: so many operations for an element,
// repeated so often, for loops that do not do much more with it.
const (
	tableCost   = 8
	tableRepeat = 4
	tableInner  = 256  // iterations of the loops inside
	tableLength = 4096 // elements
	maxTables   = 8    // of a loop
)

// tabulate computes beforehand, in scratch memory, what the iterations of a loop
// compute of nothing but its variable, where loops around repeat it:
//
//	for i < 24 {
//	  for j < 24 strip {
//	    let t: f32 = max(0.5*(f32(index(j)) + 0.5) - 0.5, 0.0)
//	    index at in [0, 11] = min(i64(floor(t)), 11)
//	    out[24*i + j] = in[12*i + at]*t
//	  }
//	}
//
// becomes
//
//	for j < 24 strip {
//	  let t: f32 = max(0.5*(f32(index(j)) + 0.5) - 0.5, 0.0)
//	  table[j] = t
//	  table1[j] = i32(min(i64(floor(t)), 11))
//	}
//	for i < 24 {
//	  for j < 24 strip {
//	    let t: f32 = table[j]
//	    index at in [0, 11] = i64(table1[j])
//	    out[24*i + j] = in[12*i + at]*t
//	  }
//	}
//
// It reports whether it has changed f.
func tabulate(f *loop.Func) bool {
	t := tabulator{f: f}
	var out []loop.Stmt
	for _, st := range f.Body {
		t.before = nil
		t.inside(st, 1)
		out = append(append(out, t.before...), st)
		t.changed = t.changed || t.before != nil
	}
	f.Body = out
	return t.changed
}

type tabulator struct {
	f       *loop.Func
	before  []loop.Stmt // the loops that fill tables
	changed bool
}

// inside looks for loops in st, which runs so many times.
func (t *tabulator) inside(st loop.Stmt, times int64) {
	l, ok := st.(*loop.For)
	if !ok {
		return
	}
	if times >= tableRepeat && innerTrips(l.Body) <= tableInner {
		t.loop(l)
	}
	for _, st := range l.Body {
		t.inside(st, times*trips(l))
	}
}

// trips estimates the iterations of a loop.
func trips(l *loop.For) int64 {
	lo, hi := l.Extent.Bounds()
	return min(max(lo, 16), hi)
}

// innerTrips returns how often the innermost statements of body run.
func innerTrips(body []loop.Stmt) int64 {
	most := int64(1)
	for _, st := range body {
		for _, b := range loop.Blocks(st) {
			n := innerTrips(b)
			if l, ok := st.(*loop.For); ok {
				n *= trips(l)
			}
			most = max(most, n)
		}
	}
	return most
}

// loop makes tables of what l computes of its variable alone.
func (t *tabulator) loop(l *loop.For) {
	n, known := l.Extent.Const()
	if !known || n > tableLength {
		return
	}
	alone := map[loop.Stmt]bool{}
	locals := map[*expr.Var]bool{}
	cost := 0.0
	for _, st := range l.Body {
		e, ok := definition(st)
		if !ok || !dependsOn(e, l.Var, locals) {
			continue
		}
		alone[st] = true
		cost += expr.Cost(e)
		if let, ok := st.(*loop.Let); ok {
			locals[let.Var] = true
		}
	}
	if cost < tableCost {
		return
	}
	used := uses(l.Body, alone)
	fill := &loop.For{Var: sym.NewVar(l.Var.Name, l.Extent), Extent: l.Extent, Vectorizable: true}
	at := fill.Var.Expr()
	again := map[*expr.Var]*expr.Expr{}
	value := func(e *expr.Expr) *expr.Expr {
		return relocated(expr.SubstIndex(e, expr.Subst{l.Var: at}),
			func(v *expr.Var) *expr.Expr { return again[v] })
	}
	var body []loop.Stmt
	tables := 0
	for _, st := range l.Body {
		if !alone[st] {
			body = append(body, st)
			continue
		}
		switch st := st.(type) {
		case *loop.Let:
			v := &expr.Var{Name: st.Var.Name, DType: st.Var.DType}
			fill.Body = append(fill.Body, &loop.Let{Var: v, Value: value(st.Value)})
			again[st.Var] = expr.Get(v)
			if used[st.Var] {
				k := scratch(t.f, "table", v.DType, l.Extent)
				fill.Body = append(fill.Body, &loop.Store{Buf: k, At: at, Value: expr.Get(v)})
				body = append(body, &loop.Let{Var: st.Var, Value: expr.At(k, v.DType,
					l.Var.Expr())})
				tables++
			}
		case *loop.LetIndex:
			k := scratch(t.f, "table", ir.Int32, l.Extent)
			fill.Body = append(fill.Body, &loop.Store{Buf: k, At: at, Value: expr.Cast(ir.Int32,
				value(st.Value))})
			body = append(body, &loop.LetIndex{Sym: st.Sym, Value: expr.Cast(ir.Int64,
				expr.At(k, ir.Int32, l.Var.Expr()))})
			tables++
		}
	}
	if tables > maxTables {
		t.f.Bufs = t.f.Bufs[:len(t.f.Bufs)-tables]
		return
	}
	l.Body = body
	t.before = append(t.before, fill)
}

// definition returns the value of a local that does not change, or of an index
// that fits 32 bits.
func definition(st loop.Stmt) (*expr.Expr, bool) {
	switch st := st.(type) {
	case *loop.Let:
		return st.Value, !st.Mutable && st.Value != nil && st.Var.Len == 0
	case *loop.LetIndex:
		lo, hi := st.Sym.Expr().Bounds()
		return st.Value, lo >= math.MinInt32 && hi <= math.MaxInt32
	}
	return nil, false
}

// dependsOn reports whether e is computed of v and locals alone, not of memory.
func dependsOn(e *expr.Expr, v *sym.Symbol, locals map[*expr.Var]bool) bool {
	found, other := false, false
	expr.Walk(e, func(e *expr.Expr) {
		switch {
		case e.Op == expr.OpLoad || e.Op == expr.OpScalar:
			other = true
		case e.Op == expr.OpLocal:
			found, other = true, other || !locals[e.Var]
		}
		e.Indices(func(x sym.Expr) {
			for _, s := range x.Symbols() {
				found, other = true, other || s != v
			}
		})
	})
	return found && !other
}

// uses returns the locals that statements of body other than those in but read.
func uses(body []loop.Stmt, but map[loop.Stmt]bool) map[*expr.Var]bool {
	used := map[*expr.Var]bool{}
	for _, st := range body {
		if but[st] {
			continue
		}
		loop.Walk([]loop.Stmt{st}, func(st loop.Stmt) {
			loop.Nodes(st, func(e *expr.Expr) {
				if e.Op == expr.OpLocal {
					used[e.Var] = true
				}
			})
		})
	}
	return used
}
