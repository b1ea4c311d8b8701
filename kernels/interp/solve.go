package interp

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// mostTried bounds how many values a symbol may have to be looked for.
const mostTried = 1 << 16

// solve gives symbols their values that sizes of inputs do not tell by themselves, as s in
// (s+1)//2: one with which all sizes of inputs are what they are. It leaves out a symbol of which
// two such values make a difference to anything in the graph.
func (m *Interpreter) solve(g *ir.Graph) {
	var given []told
	for _, v := range g.Inputs {
		x := m.env[v]
		if x.Kind == ir.IntKind && v.Type.HasExpr {
			given = append(given, told{v.Type.Expr, x.Scalar.I})
		}
		for d, e := range v.Type.Sizes {
			if x.Kind == ir.TensorKind && d < len(x.Tensor.Sizes) {
				given = append(given, told{e, x.Tensor.Sizes[d]})
			}
		}
	}
	for _, t := range given {
		for _, s := range t.e.Symbols() {
			if _, known := m.syms[s]; !known {
				m.solveOne(g, s, given)
			}
		}
	}
}

// told is an expression with its value.
type told struct {
	e sym.Expr
	n int64
}

// solveOne gives a symbol its value, if that is known.
func (m *Interpreter) solveOne(g *ir.Graph, s *sym.Symbol, given []told) {
	given = slices.DeleteFunc(slices.Clone(given), func(t told) bool { return !t.e.Uses(s) })
	uses := usesOf(g, s)
	with := func(e sym.Expr, v int64) (int64, bool) {
		n, err := e.Eval(func(x *sym.Symbol) (int64, bool) {
			if x == s {
				return v, true
			}
			n, ok := m.syms[x]
			return n, ok
		})
		return n, err == nil
	}
	lo, hi := s.Expr().Bounds()
	if hi >= lo+mostTried {
		return
	}
	found, one := int64(0), false
	for v := lo; v <= hi; v++ {
		if slices.ContainsFunc(given, func(t told) bool {
			n, ok := with(t.e, v)
			return !ok ||
				n != t.n
		}) {
			continue
		}
		if !one {
			found, one = v, true
			continue
		}
		if slices.ContainsFunc(uses, func(e sym.Expr) bool {
			a, okA := with(e, found)
			b, okB := with(e, v)
			return !okA || !okB || a != b
		}) {
			return
		}
	}
	if one {
		m.syms[s] = found
	}
}

// usesOf returns the sizes, strides, offsets and integers of a graph's nodes that mention a symbol.
func usesOf(g *ir.Graph, s *sym.Symbol) (all []sym.Expr) {
	for n := range g.All() {
		for _, v := range n.Outputs {
			if v == nil {
				continue
			}
			t := v.Type
			for _, e := range slices.Concat(t.Sizes, t.Strides, []sym.Expr{t.Offset, t.Expr}) {
				if e.Uses(s) {
					all = append(all, e)
				}
			}
		}
	}
	return all
}
