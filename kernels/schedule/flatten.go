package schedule

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
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
		size := make([]sym.Expr, len(t.Vars))
		for d, v := range t.Vars {
			size[d] = expr.Extent(v)
		}
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
	n := &nest{}
	coords := make([]sym.Expr, len(size))
	for d, s := range size {
		v := sym.NewVar(fmt.Sprintf("i%d", d), s)
		n.vars = append(n.vars, v)
		if !s.Is(1) {
			coords[d] = v.Expr()
		}
	}
	n.at = sym.RowMajor(size, coords)
	return n
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
		c.Coords = []sym.Expr{sym.RowMajor(operands[e.Buf].Sizes, e.Coords)}
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

func subst(x sym.Expr, m expr.Subst) sym.Expr {
	return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { to, ok := m[s]; return to, ok })
}
