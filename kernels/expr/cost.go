package expr

import (
	"math"

	"github.com/etgen/etgen/ir/sym"
)

// typicalExtent stands in for extents that have no bound.
const typicalExtent = 64

// Cost estimates the operations it takes to evaluate e once, its shared nodes
// computed once. Reductions count with their extents (dynamic ones with their
// upper bounds), functions with their bodies, loads as one operation.
func Cost(e *Expr) float64 { return costOf(e, map[*Expr]bool{}, math.Inf(1)) }

// CostUpTo is Cost where that is at most limit, and more than limit otherwise. It
// goes through no more of e than that takes.
func CostUpTo(e *Expr, limit float64) float64 { return costOf(e, map[*Expr]bool{}, limit) }

func costOf(e *Expr, seen map[*Expr]bool, limit float64) float64 {
	if seen[e] {
		return 0
	}
	seen[e] = true
	if e.Op == OpReduce { // over no values it costs less than its body
		limit = math.Inf(1)
	}
	var c float64
	for i, a := range e.Args {
		if e.Likely && i == 2 {
			c += Unlikely * costOf(a, seen, limit)
			continue
		}
		if c += costOf(a, seen, limit-c); c > limit {
			return c
		}
	}
	for _, d := range e.Defs() {
		if c += costOf(d, seen, limit-c); c > limit {
			return c
		}
	}
	switch e.Op {
	case OpConst, OpIndex, OpLocal, OpScalar:
		return c
	case OpReduce:
		c++
		for _, v := range e.Vars {
			c *= Count(Extent(v))
		}
		return c
	case OpCall:
		return c + Cost(e.Fn.Body)
	case OpDiv, OpRem, OpSqrt:
		return c + 4
	}
	return c + 1
}

// Unlikely is how often an arm is chosen that nearly never is.
const Unlikely = 1.0 / 64

// Count returns the value of an extent, its upper bound if it is dynamic, and
// some typical value if it has none.
func Count(x sym.Expr) float64 {
	_, hi := x.Bounds()
	if hi == math.MaxInt64 {
		return typicalExtent
	}
	return math.Max(float64(hi), 0)
}
