package ops

import (
	"errors"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

var errDepends = errors.New("the number depends on data")

func graphMACs(t *Table, g *ir.Graph) (sym.Expr, error) {
	sum := sym.Int(0)
	for _, n := range g.Nodes {
		if len(n.Regions) > 0 { // how often it runs is not known
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
		g, err := ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
			func(e *ir.Emitter) (_ []ir.Arg, err error) {
				_, err = NewBuilder(t, e).Decompose(c)
				return nil, err
			})
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
			sum = sym.Add(sum, sym.Mul(terms, extents(x.Vars)))
		}
	}
	return sum, nil
}

// sumTerms counts the terms of the sums of products in e.
func sumTerms(e *expr.Expr, seen map[*expr.Expr]bool) sym.Expr {
	sum := sym.Int(0)
	if e == nil || seen[e] {
		return sum
	}
	seen[e] = true
	if e.Op == expr.OpReduce && e.Kind == expr.ReduceSum && multiplies(e.Args[0]) {
		return extents(e.Vars)
	}
	for _, a := range e.Args {
		sum = sym.Add(sum, sumTerms(a, seen))
	}
	return sum
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

// extents is the number of values that loop variables take together.
func extents(vars []*sym.Symbol) sym.Expr {
	n := sym.Int(1)
	for _, v := range vars {
		n = sym.Mul(n, expr.Extent(v))
	}
	return n
}
