package schedule

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// maxSaved bounds the elements of scratch memory for a saved value.
const maxSaved = 4096

// saved is a value under a reduction that the results need again at the same
// position, such as the exponentials of a softmax: the reduction stores it, the
// results load it.
type saved struct {
	value *expr.Expr // in terms of the reduction's variables
	buf   int
	at    sym.Expr // likewise
}

// save finds the dear values under reductions that the results of n, whose
// loops are in order, need again, and makes the roots load them. They lie in an
// output that is not stored to before the last of them is read, else in scratch
// memory.
func (s *scheduler) save(n *nest) {
	for i := range n.roots {
		for _, red := range unguarded(n.roots[i]) {
			if red.Op == expr.OpReduce && s.saves[red] == nil {
				s.saveUnder(red, n)
			}
		}
	}
}

// saveUnder saves one value of the reduction red.
func (s *scheduler) saveUnder(red *expr.Expr, n *nest) {
	on := func(e *expr.Expr, v *sym.Symbol) bool { return slices.Contains(s.free.Of(e), v) }
	k := slices.IndexFunc(n.vars, func(v *sym.Symbol) bool { return !on(red, v) })
	if k < 0 || len(n.vars)-k != len(red.Vars) {
		return
	}
	// The reduction runs once for each iteration of the outer loops, before the
	// inner ones; one of its variables stands for each of these.
	outer, inner := n.vars[:k], n.vars[k:]
	toNest, toRed := expr.Subst{}, expr.Subst{}
	for i, v := range inner {
		r := red.Vars[i]
		if maybeEmpty(v) || on(red, v) || !expr.Extent(v).Equal(expr.Extent(r)) {
			return
		}
		toNest[r], toRed[v] = v.Expr(), r.Expr()
	}
	varies := slices.Concat(outer, red.Vars)
	for _, e := range unguarded(red.Args[0]) {
		if e.Op == expr.OpReduce || !dear(e) ||
			slices.ContainsFunc(varies, func(v *sym.Symbol) bool { return !on(e, v) }) {
			continue
		}
		again := n.share.Share(expr.SubstIndex(e, toNest))
		last := len(n.roots) - 1
		for last >= 0 && !contains(n.roots[last], again) {
			last--
		}
		if last < 0 {
			continue
		}
		if sv, ok := s.room(e, n, last, inner); ok {
			for i, r := range n.roots {
				n.roots[i] = expr.Rewrite(r, func(x *expr.Expr) *expr.Expr {
					if x == again {
						return expr.At(sv.buf, e.DType, sv.at)
					}
					return x
				})
			}
			sv.at = subst(sv.at, toRed)
			s.saves[red] = sv
		}
		return
	}
}

// room finds memory for e, the results of which up to root last read it again,
// at positions in terms of the variables of n, inner being those that the
// reduction runs through itself.
func (s *scheduler) room(e *expr.Expr, n *nest, last int, inner []*sym.Symbol) (*saved, bool) {
	for _, out := range n.outs[last:] {
		taken := slices.ContainsFunc(slices.Collect(maps.Values(s.saves)), func(sv *saved) bool {
			return sv.buf == out
		})
		if s.f.Bufs[out].DType == e.DType && !taken {
			return &saved{e, out, n.at}, true
		}
	}
	sizes, coords := make([]sym.Expr, len(inner)), make([]sym.Expr, len(inner))
	for i, v := range inner {
		sizes[i], coords[i] = expr.Extent(v), v.Expr()
	}
	size := sym.Mul(sizes...)
	if elements, ok := size.Const(); !ok || elements > maxSaved {
		return nil, false
	}
	return &saved{e, scratch(s.f, "kept", e.DType, size), sym.RowMajor(sizes, coords)}, true
}

// unguarded returns what is evaluated whenever e is, outside of reductions in
// it, users before operands.
func unguarded(e *expr.Expr) []*expr.Expr {
	var out []*expr.Expr
	seen := map[*expr.Expr]bool{}
	var walk func(e *expr.Expr)
	walk = func(e *expr.Expr) {
		if seen[e] {
			return
		}
		seen[e] = true
		out = append(out, e)
		args := e.Args
		switch e.Op {
		case expr.OpReduce:
			return
		case expr.OpSelect:
			args = args[:1]
		}
		for _, a := range args {
			walk(a)
		}
	}
	walk(e)
	return out
}

// dear reports whether e is worth a store and a load: it calls a function.
func dear(e *expr.Expr) bool {
	return slices.ContainsFunc(unguarded(e), func(x *expr.Expr) bool { return x.Op == expr.OpCall })
}
