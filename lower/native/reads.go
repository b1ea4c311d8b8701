package native

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// reads returns how often each operand is read per element of t. A reduction
// is computed once for every combination of the variables it depends on, as
// the scheduler does, so what is under it counts accordingly.
func reads(t expr.Tensor, number func(sym.Expr) float64) map[int]float64 {
	w := &reader{free: &expr.Free{}, number: number, times: map[int]float64{}, seen: map[*expr.Expr]bool{}}
	w.walk(t.Body, t.Vars)
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

// walk counts the loads of e, which is evaluated for all values of vars.
func (w *reader) walk(e *expr.Expr, vars []*sym.Symbol) {
	if w.seen[e] {
		return // shared: computed once
	}
	w.seen[e] = true
	switch e.Op {
	case expr.OpLoad:
		w.times[e.Buf] += w.size(vars)
	case expr.OpReduce:
		vars = append(append([]*sym.Symbol(nil), w.free.Of(e)...), e.Vars...)
	}
	e.Indices(func(x sym.Expr) {
		for _, s := range x.Symbols() {
			if d := expr.DefOf(s); d != nil {
				w.walk(d, vars)
			}
		}
	})
	for _, a := range e.Args {
		w.walk(a, vars)
	}
}
