package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// maxSplit is the largest extent of a variable that split looks at.
const maxSplit = 4096

// split makes two variables of each that reductions know by its quotient only,
// as the channel of a group norm, whose sums are those of the channel's group:
// then the loop over groups computes them, not that over channels.
func (n *nest) split() {
	for d := 0; d < len(n.vars); d++ {
		v := n.vars[d]
		k := n.groupOf(v)
		if k == 0 {
			continue
		}
		group, rest := quotient(v, k)
		m := expr.Subst{v: sym.Add(sym.Mul(sym.Int(k), group.Expr()), rest.Expr())}
		n.vars = slices.Replace(n.vars, d, d+1, group, rest)
		n.at = subst(n.at, m)
		for i, r := range n.roots {
			n.roots[i] = expr.SubstIndex(r, m)
		}
	}
}

// quotient returns variables for the quotient and the remainder of v by k, which
// divides its extent.
func quotient(v *sym.Symbol, k int64) (group, rest *sym.Symbol) {
	return sym.NewVar(v.Name, sym.FloorDiv(expr.Extent(v), sym.Int(k))),
		sym.NewVar(v.Name, sym.Int(k))
}

// groupOf returns by what some reduction divides v, not using it otherwise; 0 if
// there is none.
func (n *nest) groupOf(v *sym.Symbol) int64 {
	extent, known := expr.Extent(v).Const()
	if !known || extent > maxSplit {
		return 0
	}
	found := int64(0)
	seen := map[*expr.Expr]bool{}
	for _, r := range n.roots {
		expr.Walk(r, func(e *expr.Expr) {
			if e.Op != expr.OpReduce || seen[e] {
				return
			}
			seen[e] = true
			if !divides(e, v) {
				return
			}
			for k := extent / 2; k > found; k-- {
				if extent%k == 0 && k > 1 && byQuotient(e, v, k) {
					found = k
				}
			}
		})
	}
	return found
}

// divides reports whether an index in e is not linear in v.
func divides(e *expr.Expr, v *sym.Symbol) bool {
	found := false
	for _, x := range indexUses(e) {
		_, _, linear := x.Coef(v)
		found = found || x.Uses(v) && !linear
	}
	return found
}

// byQuotient reports whether e depends on the quotient of v by k alone.
func byQuotient(e *expr.Expr, v *sym.Symbol, k int64) bool {
	group, rest := quotient(v, k)
	m := expr.Subst{v: sym.Add(sym.Mul(sym.Int(k), group.Expr()), rest.Expr())}
	return !slices.ContainsFunc(indexUses(expr.SubstIndex(e, m)), func(x sym.Expr) bool {
		return x.Uses(rest)
	})
}
