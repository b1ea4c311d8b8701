package ops

import (
	"errors"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// errDepends is for nodes with regions: how often these run is not known.
var errDepends = errors.New("the number depends on data")

// graphMACs is MACs of all nodes of g.
func graphMACs(t *Table, g *ir.Graph) (sym.Expr, error) {
	sum := sym.Int(0)
	for _, n := range g.Nodes {
		if len(n.Regions) > 0 {
			return sum, errDepends
		}
		terms, err := MACs(t, n)
		if err != nil {
			return sum, err
		}
		sum = sym.Add(sum, terms)
	}
	return sum, nil
}

// MACs returns the multiply-accumulates of an operator's node: the terms of all sums of products
// in its definition. The error is for definitions that do not tell.
func MACs(t *Table, n *ir.Node) (sym.Expr, error) {
	zero := sym.Int(0)
	c, err := t.Bind(n)
	if err != nil || c.Op.Loops != nil {
		return zero, nil // no product of matrices
	}
	if c.Op.Decompose != nil {
		g, _, err := Decomposition(t, c)
		if err != nil {
			return zero, err
		}
		return graphMACs(t, g)
	}
	if c.Op.Compute == nil {
		return zero, nil
	}
	tensors, err := c.Op.Compute(c)
	if err != nil {
		return zero, err
	}
	sum := zero
	for _, x := range tensors {
		if terms := sumTerms(x.Body, map[*expr.Expr]bool{}); !terms.IsZero() {
			sum = sym.Add(sum, sym.Mul(terms, sym.Mul(expr.Extents(x.Vars)...)))
		}
	}
	return sum, nil
}

// sumTerms counts the terms of the sums of products in e; where a factor is such a sum, as of
// groups that have scales, those of the factor.
func sumTerms(e *expr.Expr, seen map[*expr.Expr]bool) sym.Expr {
	sum := sym.Int(0)
	if e == nil || seen[e] {
		return sum
	}
	seen[e] = true
	if e.Op == expr.OpReduce && e.Kind == expr.ReduceSum && multiplies(e.Args[0]) {
		inner := factorTerms(e.Args[0])
		if inner.IsZero() {
			inner = sym.Int(1)
		}
		return sym.Mul(inner, sym.Mul(expr.Extents(e.Vars)...))
	}
	for _, a := range e.Args {
		sum = sym.Add(sum, sumTerms(a, seen))
	}
	return sum
}

// factorTerms is sumTerms of the factors of a product that are sums.
func factorTerms(e *expr.Expr) sym.Expr {
	switch {
	case e.Op == expr.OpCast:
		return factorTerms(e.Args[0])
	case e.Op == expr.OpMul:
		return sym.Add(factorTerms(e.Args[0]), factorTerms(e.Args[1]))
	case e.Op == expr.OpReduce:
		return sumTerms(e, map[*expr.Expr]bool{})
	}
	return sym.Int(0)
}

// multiplies reports whether e is a product, converted or chosen perhaps.
func multiplies(e *expr.Expr) bool {
	switch e.Op {
	case expr.OpMul:
		return true
	case expr.OpCast:
		return multiplies(e.Args[0])
	case expr.OpSelect:
		return multiplies(e.Args[1]) || multiplies(e.Args[2])
	}
	return false
}
