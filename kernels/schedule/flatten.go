package schedule

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// nest is a set of outputs computed by the same loops.
type nest struct {
	vars  []*sym.Symbol // loops, outermost first
	outs  []int
	roots []*expr.Expr // parallel to outs: what is stored
	at    sym.Expr     // where, in elements
	share *expr.Sharer // what made equal nodes of roots the same
}

// flatten brings the outputs into loop form: loads have one flat coordinate and
// count buffers, outputs of equal sizes share variables, variables of a single
// value are gone and adjacent ones merged where nothing tells them apart.
func flatten(outs []expr.Tensor, operands []OperandInfo, opts Options) ([]*nest, error) {
	var nests []*nest
	var sizes [][]sym.Expr
	for i, t := range outs {
		size := expr.Extents(t.Vars)
		n := slices.IndexFunc(sizes, func(s []sym.Expr) bool {
			return slices.EqualFunc(s, size, sym.Expr.Equal)
		})
		if n < 0 {
			n = len(nests)
			sizes = append(sizes, size)
			nests = append(nests, newNest(size))
		}
		body, err := flatBody(t, nests[n].vars, len(outs), operands, opts)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		nests[n].outs = append(nests[n].outs, i)
		nests[n].roots = append(nests[n].roots, body)
	}
	share := expr.NewSharer()
	for _, n := range nests {
		n.split()
		n.collapse()
		n.share = share
		for i, r := range n.roots {
			n.roots[i] = share.Share(collapseReductions(r))
		}
	}
	return nests, nil
}

// newNest makes one variable per dimension; flatBody substitutes 0 for those
// of extent 1.
func newNest(size []sym.Expr) *nest {
	vars := expr.Over(size)
	coords := expr.Coords(vars)
	for d, s := range size {
		if s.Is(1) {
			coords[d] = sym.Int(0)
		}
	}
	return &nest{vars: vars, at: sym.RowMajor(size, coords)}
}

func flatBody(t expr.Tensor, vars []*sym.Symbol, firstIn int, operands []OperandInfo,
	opts Options) (*expr.Expr, error) {
	m := expr.Subst{}
	for d, v := range t.Vars {
		if expr.Extent(v).Is(1) {
			m[v] = sym.Int(0)
		} else {
			m[v] = vars[d].Expr()
		}
	}
	var err error
	body := expr.Rewrite(expr.Simplify(expr.SubstIndex(t.Body, m)), func(e *expr.Expr) *expr.Expr {
		switch {
		case e.Op == expr.OpScalar && (e.Buf < 0 || e.Buf >= len(opts.Scalars) ||
			opts.Scalars[e.Buf] != e.DType):
			err = fmt.Errorf("no scalar operand %d of dtype %s", e.Buf, e.DType)
			return e
		case e.Op != expr.OpLoad:
			return e
		case e.Buf < 0 || e.Buf >= len(operands) || operands[e.Buf].DType != e.DType ||
			len(operands[e.Buf].Sizes) != len(e.Coords):
			err = fmt.Errorf("load of operand %d as %s of rank %d does not fit the operands", e.Buf,
				e.DType, len(e.Coords))
			return e
		}
		c := *e
		c.Buf = firstIn + e.Buf
		o := operands[e.Buf]
		c.Coords = []sym.Expr{sym.RowMajor(InOrder(o.Order, o.Sizes), InOrder(o.Order, e.Coords))}
		return &c
	})
	return body, err
}

// collapse drops variables of extent 1 and merges adjacent ones.
func (n *nest) collapse() {
	n.vars = slices.DeleteFunc(n.vars, func(v *sym.Symbol) bool { return expr.Extent(v).Is(1) })
	uses := []sym.Expr{n.at}
	for _, r := range n.roots {
		uses = append(uses, indexUses(r)...)
	}
	merged, m := mergeVars(n.vars, uses)
	if len(m) == 0 {
		return
	}
	n.vars = merged
	n.at = subst(n.at, m)
	for i, r := range n.roots {
		n.roots[i] = expr.SubstIndex(r, m)
	}
}

// collapseReductions merges the variables of reductions.
func collapseReductions(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpReduce || len(e.Vars) < 2 {
			return e
		}
		uses := indexUses(e.Args[0])
		for _, v := range e.Vars {
			uses = append(uses, expr.Extent(v))
		}
		vars, m := mergeVars(e.Vars, uses)
		if len(m) == 0 {
			return e
		}
		c := *e
		c.Vars, c.Args = vars, []*expr.Expr{expr.SubstIndex(e.Args[0], m)}
		return &c
	})
}

// indexUses returns all index expressions in e.
func indexUses(e *expr.Expr) []sym.Expr {
	var out []sym.Expr
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(func(x sym.Expr) {
			out = append(out, x)
			for _, s := range x.Symbols() {
				if expr.DefOf(s) != nil {
					out = append(out, s.Lo, s.Hi)
				}
			}
		})
	})
	return out
}

// mergeVars merges neighbours u, v (of extent n) of vars wherever all uses see
// them only as u*n + v. It returns the remaining variables and what replaces
// the merged ones.
func mergeVars(vars []*sym.Symbol, uses []sym.Expr) ([]*sym.Symbol, expr.Subst) {
	out := slices.Clone(vars)
	all := expr.Subst{}
	for k := len(out) - 2; k >= 0; k-- {
		u, v := out[k], out[k+1]
		w := sym.NewVar(u.Name, sym.Mul(expr.Extent(u), expr.Extent(v)))
		apart := expr.Subst{w: sym.Add(sym.Mul(u.Expr(), expr.Extent(v)), v.Expr())}
		together := expr.Subst{u: sym.Int(0), v: w.Expr()}
		if !slices.ContainsFunc(uses, func(x sym.Expr) bool {
			return (x.Uses(u) || x.Uses(v)) && !subst(subst(x, together), apart).Equal(x)
		}) {
			for i, x := range uses {
				uses[i] = subst(x, together)
			}
			for s, x := range all {
				all[s] = subst(x, together)
			}
			all[u], all[v] = sym.Int(0), w.Expr()
			out = slices.Replace(out, k, k+2, w)
		}
	}
	return out, all
}

// moved returns statements with other indices.
func moved(body []loop.Stmt, m expr.Subst) []loop.Stmt {
	return loop.MapAll(body, func(e *expr.Expr) *expr.Expr { return expr.SubstIndex(e, m) },
		func(x sym.Expr) sym.Expr { return subst(x, m) })
}

// relocated returns e with other values for locals, those of which it is not nil.
func relocated(e *expr.Expr, to func(*expr.Var) *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.OpLocal {
			if x := to(e.Var); x != nil {
				return x
			}
		}
		return e
	})
}

func subst(x sym.Expr, m expr.Subst) sym.Expr {
	return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { to, ok := m[s]; return to, ok })
}

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
	return slices.ContainsFunc(indexUses(e), func(x sym.Expr) bool {
		_, _, linear := x.Coef(v)
		return x.Uses(v) && !linear
	})
}

// byQuotient reports whether e depends on the quotient of v by k alone.
func byQuotient(e *expr.Expr, v *sym.Symbol, k int64) bool {
	group, rest := quotient(v, k)
	m := expr.Subst{v: sym.Add(sym.Mul(sym.Int(k), group.Expr()), rest.Expr())}
	return !slices.ContainsFunc(indexUses(expr.SubstIndex(e, m)), func(x sym.Expr) bool {
		return x.Uses(rest)
	})
}
