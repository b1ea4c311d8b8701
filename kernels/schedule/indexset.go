package schedule

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// split returns statements that do what s does, an innermost loop that stores
// one of two values: one loop for the iterations from which on, and up to which,
// the first is stored, and loops before and behind it. Conditions on the variable
// are gone from them then, and other conditions are looked at once. Padding is of
// that form. It returns nil if s is not, or nothing would be gained.
func split(s *loop.For) []loop.Stmt {
	n, ok := s.Extent.Const()
	if !ok || !s.Strip || len(s.Body) != 1 {
		return nil
	}
	st, ok := s.Body[0].(*loop.Store)
	if !ok || st.Value.Op != expr.OpSelect {
		return nil
	}
	from, to, rest := int64(0), n, expr.Bool(true)
	for _, c := range conjuncts(st.Value.Args[0], nil) {
		if !indexed(c, s.Var) {
			rest = expr.And(rest, c)
			continue
		}
		lo, hi, ok := interval(c, s.Var, n)
		if !ok {
			return nil
		}
		from, to = max(from, lo), min(to, hi)
	}
	to = max(to, from)
	if from == 0 && to == n && rest.Op == expr.OpConst || from == n {
		return nil
	}
	part := func(v *expr.Expr, from, to int64) []loop.Stmt {
		if from >= to {
			return nil
		}
		k := sym.NewVar(s.Var.Name, sym.Int(to-from))
		at := expr.Subst{s.Var: sym.Add(k.Expr(), sym.Int(from))}
		if to-from == 1 {
			at[s.Var] = sym.Int(from)
		}
		store := &loop.Store{Buf: st.Buf, At: subst(st.At, at), Value: expr.SubstIndex(v, at)}
		if to-from == 1 {
			return []loop.Stmt{store}
		}
		return []loop.Stmt{&loop.For{Var: k, Extent: sym.Int(to - from), Strip: true,
			Body: []loop.Stmt{store}}}
	}
	yes, no := st.Value.Args[1], st.Value.Args[2]
	in := append(append(part(no, 0, from), part(yes, from, to)...), part(no, to, n)...)
	if rest.Op == expr.OpConst && rest.Int != 0 {
		return in
	}
	return []loop.Stmt{&loop.If{Cond: rest, Then: in, Else: part(no, 0, n)}}
}

// conjuncts appends the conditions that c is made of.
func conjuncts(c *expr.Expr, list []*expr.Expr) []*expr.Expr {
	if c.Op == expr.OpAnd {
		return conjuncts(c.Args[1], conjuncts(c.Args[0], list))
	}
	return append(list, c)
}

// interval returns the values of v, from lo up to but without hi, of n in all, for
// which a comparison of indices holds; ok is false if c is something else.
func interval(c *expr.Expr, v *sym.Symbol, n int64) (lo, hi int64, ok bool) {
	if len(c.Args) != 2 {
		return 0, 0, false
	}
	a, okA := indexOf(c.Args[0])
	b, okB := indexOf(c.Args[1])
	gap := int64(0)
	switch c.Op {
	case expr.OpLt:
		gap = 1
	case expr.OpLe:
	case expr.OpGt:
		a, b, gap = b, a, 1
	case expr.OpGe:
		a, b = b, a
	default:
		return 0, 0, false
	}
	if !okA || !okB {
		return 0, 0, false
	}
	coef, rest, ok := sym.Sub(b, a).Coef(v)
	if !ok {
		return 0, 0, false
	}
	k, okK := coef.Const()
	r, okR := rest.Const()
	r -= gap
	switch { // k·v + r is not negative
	case !okK || !okR || r != int64(int32(r)):
		return 0, 0, false
	case k == 1:
		return min(max(-r, 0), n), n, true
	case k == -1:
		return 0, min(max(r+1, 0), n), true
	}
	return 0, 0, false
}

// indexOf returns an integer expression as an index.
func indexOf(e *expr.Expr) (sym.Expr, bool) {
	switch {
	case e.Op == expr.OpIndex:
		return e.Idx, true
	case e.Op == expr.OpConst && e.DType.IsInt():
		return sym.Int(e.Int), true
	}
	return sym.Expr{}, false
}
