package schedule

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// laneable reports whether the sum e, its loops in the order vars, is worth
// splitting into lanes: the innermost loop is long and runs along memory.
func (s *scheduler) laneable(e *expr.Expr, vars []*sym.Symbol) bool {
	lanes := int64(s.opts.Lanes)
	if lanes < 2 || e.Kind != expr.ReduceSum {
		return false
	}
	v := vars[len(vars)-1]
	if n, ok := expr.Extent(v).Const(); ok && n < 2*lanes {
		return false
	}
	along, across := 0, 0
	expr.Walk(e.Args[0], func(n *expr.Expr) {
		n.Indices(func(x sym.Expr) {
			coef, _, linear := x.Coef(v)
			switch {
			case !linear:
				across++
			case coef.Is(1) && n.Op == expr.OpLoad:
				along++
			case !coef.IsZero() && n.Op == expr.OpLoad:
				across++
			}
		})
	})
	return along > 0 && across == 0
}

// lanes computes the sum e in b by partial sums of every s.opts.Lanes-th value
// and leaves their sum in a local.
func (s *scheduler) lanes(e *expr.Expr, vars []*sym.Symbol, b *block) {
	n := sym.Int(int64(s.opts.Lanes))
	v := vars[len(vars)-1]
	whole := sym.FloorDiv(expr.Extent(v), n)
	chunk, lane, rest := s.newVar("r", whole), s.newVar("lane", n), s.newVar("rest", sym.Mod(expr.Extent(v), n))
	part := func(at sym.Expr) *expr.Expr { return expr.SubstIndex(e.Args[0], expr.Subst{v: at}) }
	main := part(sym.Add(sym.Mul(chunk.Expr(), n), lane.Expr()))
	tail := part(sym.Add(sym.Mul(whole, n), rest.Expr()))

	acc := s.local("part", e)
	acc.Len = s.opts.Lanes
	zero := s.newVar("lane", n)
	b.stmts = append(b.stmts, &loop.Let{Var: acc},
		&loop.For{Var: zero, Extent: n, Unroll: true, Body: []loop.Stmt{
			&loop.Assign{Var: acc, At: zero.Expr(), Value: expr.Neutral(e.Kind, e.DType)},
		}})
	add := func(body *expr.Expr, lane *sym.Symbol) func(*block) {
		return func(in *block) {
			x := s.value(body, in)
			at := lane.Expr()
			in.stmts = append(in.stmts, &loop.Assign{Var: acc, At: at, Value: expr.Add(expr.GetAt(acc, at), x)})
		}
	}
	s.loops(b, vars[:len(vars)-1], []*expr.Expr{main, tail}, false, func(in *block) {
		s.loops(in, []*sym.Symbol{chunk, lane}, []*expr.Expr{main}, false, add(main, lane))
		chunks := in.stmts[len(in.stmts)-1].(*loop.For)
		chunks.Body[len(chunks.Body)-1].(*loop.For).Unroll = true
		if !expr.Extent(rest).IsZero() {
			s.loops(in, []*sym.Symbol{rest}, []*expr.Expr{tail}, false, add(tail, rest))
		}
	})
	sum := s.local("sum", e)
	b.stmts = append(b.stmts, &loop.Let{Var: sum, Value: total(acc, 0, acc.Len)})
	b.values[e] = expr.Get(sum)
}

// total adds elements lo to hi-1 of acc in pairs.
func total(acc *expr.Var, lo, hi int) *expr.Expr {
	if hi-lo == 1 {
		return expr.GetAt(acc, sym.Int(int64(lo)))
	}
	mid := (lo + hi) / 2
	return expr.Add(total(acc, lo, mid), total(acc, mid, hi))
}

func (s *scheduler) newVar(name string, extent sym.Expr) *sym.Symbol {
	v := sym.NewVar(name, extent)
	s.loopVars[v] = true
	return v
}
