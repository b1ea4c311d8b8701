package way

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// Terms returns, for each method of a lowered program, the number of values
// that its longest reduction combines, dynamic sizes at their bounds; at least
// 1. An operator that is defined by loops counts with the longest of them.
func Terms(t *ops.Table, p *ir.Program) []int64 {
	all := make([]int64, len(p.Methods))
	for i, m := range p.Methods {
		all[i] = 1
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				if len(n.Regions) == 0 {
					all[i] = max(all[i], nodeTerms(t, n, 0))
				}
			}
		})
	}
	return all
}

// maxNesting bounds how deep definitions are followed.
const maxNesting = 8

func nodeTerms(t *ops.Table, n *ir.Node, depth int) int64 {
	c, err := t.Bind(n)
	if err != nil || depth > maxNesting {
		return 1
	}
	longest := int64(1)
	switch {
	case c.Op.Compute != nil:
		ts, err := c.Op.Compute(c)
		if err != nil {
			return 1
		}
		for _, tensor := range ts {
			longest = max(longest, exprTerms(tensor.Body, map[*expr.Expr]bool{}))
		}
	case c.Op.Loops != nil:
		if f, err := c.Op.Loops(c); err == nil {
			longest = loopTerms(f.Body)
		}
	case c.Op.Decompose != nil:
		g, _, err := ops.Decomposition(t, c)
		if err != nil {
			return 1
		}
		g.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				if len(n.Regions) == 0 {
					longest = max(longest, nodeTerms(t, n, depth+1))
				}
			}
		})
	}
	return longest
}

func exprTerms(e *expr.Expr, seen map[*expr.Expr]bool) int64 {
	if e == nil || seen[e] {
		return 1
	}
	seen[e] = true
	longest := int64(1)
	for _, a := range e.Args {
		longest = max(longest, exprTerms(a, seen))
	}
	if e.Op == expr.OpReduce {
		terms := int64(1)
		for _, v := range e.Vars {
			terms = saturatingMul(terms, extent(v))
		}
		longest = max(longest, terms)
	}
	return longest
}

func loopTerms(body []loop.Stmt) int64 {
	longest := int64(1)
	for _, s := range body {
		switch s := s.(type) {
		case *loop.For:
			_, hi := s.Extent.Bounds()
			longest = max(longest, hi, loopTerms(s.Body))
		case *loop.While:
			longest = max(longest, loopTerms(s.Body))
		case *loop.If:
			longest = max(longest, loopTerms(s.Then), loopTerms(s.Else))
		}
	}
	return longest
}

// extent is the number of values of a loop variable, at the bound.
func extent(v *sym.Symbol) int64 {
	_, hi := v.Hi.Bounds()
	if hi == math.MaxInt64 {
		return 1 // unbounded: nothing is known
	}
	return max(hi+1, 1)
}

func saturatingMul(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
