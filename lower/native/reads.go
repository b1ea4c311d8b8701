package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// reads returns how often each operand is read per element of t. A reduction
// is computed once for every combination of the result's variables it depends
// on, for the scheduler puts their loops outside; one that depends on another
// reduction's variable stands in that one's loop.
func reads(t expr.Tensor, number func(sym.Expr) float64) map[int]float64 {
	w := &reader{free: &expr.Free{}, number: number, times: map[int]float64{},
		seen: map[*expr.Expr]bool{}}
	w.walk(t.Body, t.Vars, len(t.Vars))
	total := w.size(t.Vars)
	for k := range w.times {
		w.times[k] /= max(total, 1)
	}
	return w.times
}

type reader struct {
	free   *expr.Free
	number func(sym.Expr) float64
	times  map[int]float64
	seen   map[*expr.Expr]bool
}

func (w *reader) size(vars []*sym.Symbol) float64 {
	n := 1.0
	for _, v := range vars {
		n *= max(w.number(expr.Extent(v)), 0)
	}
	return n
}

// walk counts the loads of e, which is evaluated for all values of vars. The
// first results of them are variables of the result, the rest of reductions,
// outer ones first.
func (w *reader) walk(e *expr.Expr, vars []*sym.Symbol, results int) {
	if w.seen[e] {
		return // shared: computed once
	}
	w.seen[e] = true
	switch e.Op {
	case expr.OpLoad:
		w.times[e.Buf] += w.size(vars)
	case expr.OpReduce:
		vars, results = w.home(e, vars, results)
		vars = append(vars, e.Vars...)
	}
	for _, d := range e.Defs() {
		w.walk(d, vars, results)
	}
	for _, a := range e.Args {
		w.walk(a, vars, results)
	}
}

// home returns the loops in which reduction e is computed.
func (w *reader) home(e *expr.Expr, vars []*sym.Symbol, results int) ([]*sym.Symbol, int) {
	free := w.free.Of(e)
	for i := len(vars) - 1; i >= results; i-- {
		if slices.Contains(free, vars[i]) {
			return slices.Clone(vars[:i+1]), results
		}
	}
	var home []*sym.Symbol
	for _, v := range vars[:results] {
		if slices.Contains(free, v) {
			home = append(home, v)
		}
	}
	return home, len(home)
}

// underReduction reports for every operand whether a reduction of t reads it.
func underReduction(t expr.Tensor) map[int]bool {
	under := map[int]bool{}
	expr.Walk(t.Body, func(e *expr.Expr) {
		if e.Op == expr.OpReduce {
			for _, k := range expr.Loads(e) {
				under[k] = true
			}
		}
	})
	return under
}

// sharesReductions reports whether elements of t have reductions in common, as
// the elements of a row do in a softmax: one loop nest for t computes each once.
func sharesReductions(t expr.Tensor) bool {
	var free expr.Free
	found := false
	expr.Walk(t.Body, func(e *expr.Expr) {
		if e.Op != expr.OpReduce {
			return
		}
		for _, v := range t.Vars {
			found = found || !expr.Extent(v).Is(1) && !slices.Contains(free.Of(e), v)
		}
	})
	return found
}
