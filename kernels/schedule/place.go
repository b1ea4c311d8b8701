package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// home returns the outermost block, from at outwards, where e is best
// evaluated: before an arm if what is not in the arm needs it too, before a
// loop, which would repeat it, unless it is dear, an arm in between may not need
// it at all, and the loop repeats it a few times only.
func (s *scheduler) home(e *expr.Expr, at *block) *block {
	best, cheap := at, true
	for b := at; b.parent != nil && s.mayLeave(e, b); b = b.parent {
		switch {
		case b.guard && (b.parent.sure[e] || b.parent.uses[e] > b.uses[e] && !s.reduces(e)):
			best, cheap = b.parent, true
		case b.guard:
			cheap = cheap && s.cheap(e)
		case cheap || atLeast(b.v, worthVain):
			best, cheap = b.parent, true
		}
	}
	return best
}

// worthVain is how many iterations make it worth evaluating what is dear before
// a loop in which an arm may not need it.
const worthVain = 4

// atLeast reports whether a loop has n iterations or more.
func atLeast(v *sym.Symbol, n int64) bool {
	least, _ := expr.Extent(v).Bounds()
	return least >= n
}

// mayLeave reports whether e, needed in b, may be evaluated before b: it does
// not depend on b's variable, and evaluating it is harmless if b is not run.
func (s *scheduler) mayLeave(e *expr.Expr, b *block) bool {
	switch {
	case b.guard:
		return b.parent.sure[e] || s.harmless(e)
	case slices.Contains(s.free.Of(e), b.v):
		return false
	}
	return !maybeEmpty(b.v) || s.harmless(e)
}

// reduces reports whether there is a reduction in e.
func (s *scheduler) reduces(e *expr.Expr) bool {
	found, ok := s.hasReduce[e]
	if !ok {
		expr.Walk(e, func(n *expr.Expr) { found = found || n.Op == expr.OpReduce })
		s.hasReduce[e] = found
	}
	return found
}

// harmless reports whether e may be evaluated where nobody asked for it: no
// load may be out of bounds, no operation undefined.
func (s *scheduler) harmless(e *expr.Expr) bool {
	if h, ok := s.isHarmless[e]; ok {
		return h
	}
	h := s.harmlessNode(e)
	for _, a := range e.Args {
		h = h && s.harmless(a)
	}
	s.isHarmless[e] = h
	return h
}

func (s *scheduler) harmlessNode(e *expr.Expr) bool {
	if len(dataIndices(e)) > 0 {
		return false // their bounds may hold under the guard only
	}
	switch e.Op {
	case expr.OpLoad:
		if e.Buf >= len(s.f.Bufs) {
			return false // a scalar function does not know how large its buffers are
		}
		return sym.NonNegative(e.Coords[0]) && sym.Less(e.Coords[0], s.f.Bufs[e.Buf].Len)
	case expr.OpDiv, expr.OpRem:
		d := e.Args[1]
		return e.DType.IsFloat() || d.Op == expr.OpConst && d.Int != 0
	case expr.OpShl, expr.OpShr:
		return e.Args[1].Op == expr.OpConst
	case expr.OpCast:
		return e.DType.IsFloat() || !e.Args[0].DType.IsFloat()
	case expr.OpCall:
		return s.harmless(e.Fn.Body)
	}
	return true
}

// enoughCost is the most that what is evaluated in vain may cost.
const enoughCost = 4

// cheap reports whether evaluating e in vain does not matter.
func (s *scheduler) cheap(e *expr.Expr) bool {
	if len(e.Args) == 0 {
		return e.Op != expr.OpLoad
	}
	switch e.Op {
	case expr.OpReduce, expr.OpCall, expr.OpDiv, expr.OpRem, expr.OpSqrt:
		return false
	}
	return s.cost(e) <= enoughCost && !slices.ContainsFunc(e.Args, func(a *expr.Expr) bool {
		return !s.cheap(a)
	})
}

// worthLocal reports whether e, needed in at and known already in home, is
// better computed once there.
func (s *scheduler) worthLocal(e *expr.Expr, home, at *block) bool {
	if trivial(e) {
		return false
	}
	if home.uses[e] > 1 {
		return true
	}
	return home != at && !inSameIteration(home, at) && (s.cost(e) >= 2 || e.Op == expr.OpLoad)
}

// inSameIteration reports whether only arms lie between home and at.
func inSameIteration(home, at *block) bool {
	for ; at != home; at = at.parent {
		if !at.guard {
			return false
		}
	}
	return true
}

// trivial reports whether e is as cheap as reading a local.
func trivial(e *expr.Expr) bool {
	switch e.Op {
	case expr.OpConst, expr.OpIndex, expr.OpScalar, expr.OpLocal:
		return true
	case expr.OpCast:
		return trivial(e.Args[0]) && e.DType != ir.Float16 && e.DType != ir.BFloat16
	}
	return false
}

// cost is what it takes to evaluate e, up to enoughCost.
func (s *scheduler) cost(e *expr.Expr) float64 {
	c, ok := s.costs[e]
	if !ok {
		c = expr.CostUpTo(e, enoughCost)
		s.costs[e] = c
	}
	return c
}

// order sorts loop variables such that reductions below find those they
// depend on outside of those they do not depend on, and are not repeated for
// the latter. Otherwise variables stay in order.
func (s *scheduler) order(vars []*sym.Symbol, roots []*expr.Expr) []*sym.Symbol {
	need := map[*sym.Symbol]int{}
	seen := map[*expr.Expr]bool{}
	for _, r := range roots {
		expr.Walk(r, func(e *expr.Expr) {
			if e.Op != expr.OpReduce || seen[e] {
				return
			}
			seen[e] = true
			var on []*sym.Symbol
			for _, v := range vars {
				if slices.Contains(s.free.Of(e), v) {
					on = append(on, v)
				}
			}
			if len(on) < len(vars) {
				for _, v := range on {
					need[v]++
				}
			}
		})
	}
	out := slices.Clone(vars)
	slices.SortStableFunc(out, func(a, b *sym.Symbol) int { return need[b] - need[a] })
	return out
}
