package schedule

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// home returns the outermost block, from at outwards, where e is best
// evaluated: before an arm if what is not in the arm needs it too, before a
// loop, which would repeat it, unless it is expensive, an arm in between may not need
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

// worthVain is how many iterations make it worth evaluating what is expensive before
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
			on := seq.Filter(vars, func(v *sym.Symbol) bool {
				return slices.Contains(s.free.Of(e), v)
			})
			if len(on) < len(vars) {
				for _, v := range on {
					need[v]++
				}
			}
		})
	}
	out := slices.Clone(vars)
	seq.Sort(out, func(a, b *sym.Symbol) int { return need[b] - need[a] })
	return out
}

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

// save finds the expensive values under reductions that the results of n, whose
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
		if e.Op == expr.OpReduce || !expensive(e) ||
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
		if sv, ok := s.scratch(e, n, last, inner); ok {
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

// scratch finds memory for e, the results of which up to root last read it again,
// at positions in terms of the variables of n, inner being those that the
// reduction runs through itself.
func (s *scheduler) scratch(e *expr.Expr, n *nest, last int, inner []*sym.Symbol) (*saved, bool) {
	for _, out := range n.outs[last:] {
		taken := slices.ContainsFunc(slices.Collect(maps.Values(s.saves)), func(sv *saved) bool {
			return sv.buf == out
		})
		if s.f.Bufs[out].DType == e.DType && !taken {
			return &saved{e, out, n.at}, true
		}
	}
	sizes := expr.Extents(inner)
	size := sym.Mul(sizes...)
	if elements, ok := size.Const(); !ok || elements > maxSaved {
		return nil, false
	}
	at := sym.RowMajor(sizes, expr.Coords(inner))
	return &saved{e, scratch(s.f, "kept", e.DType, size), at}, true
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

// expensive reports whether e is worth a store and a load: it calls a function.
func expensive(e *expr.Expr) bool {
	return slices.ContainsFunc(unguarded(e), func(x *expr.Expr) bool { return x.Op == expr.OpCall })
}
