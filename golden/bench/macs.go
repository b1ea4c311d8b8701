package main

import (
	"errors"
	"path/filepath"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// macs counts the multiply-accumulates of a case's model: the terms of all sums
// of products in its operators' definitions. It is 0 if that depends on data or
// on dynamic sizes.
func macs(c *testcase.Case) int64 {
	p, closer, err := compile.Read(filepath.Join(c.Dir, c.Models[0]))
	if err != nil {
		return 0
	}
	defer closer.Close()
	if err := compile.Lower(p, compile.Options{}); err != nil {
		return 0
	}
	n, err := graphMACs(ops.Standard(), p.Methods[0].Graph)
	if err != nil {
		return 0
	}
	return n
}

var errUnknown = errors.New("the number depends on the call")

func graphMACs(t *ops.Table, g *ir.Graph) (int64, error) {
	sum := int64(0)
	for _, n := range g.Nodes {
		var m int64
		var err error
		if len(n.Regions) == 0 {
			m, err = nodeMACs(t, n)
		}
		for _, region := range n.Regions { // how often it runs is not known
			if inside, err := graphMACs(t, region); err != nil || inside > 0 {
				return 0, errUnknown
			}
		}
		if err != nil {
			return 0, err
		}
		sum += m
	}
	return sum, nil
}

func nodeMACs(t *ops.Table, n *ir.Node) (int64, error) {
	c, err := t.Bind(n)
	if err != nil || c.Op.Loops != nil {
		return 0, nil // no product of matrices
	}
	if c.Op.Decompose != nil {
		g, err := ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil, func(e *ir.Emitter) (_ []ir.Arg, err error) {
			_, err = ops.NewBuilder(t, e).Decompose(c)
			return nil, err
		})
		if err != nil {
			return 0, err
		}
		return graphMACs(t, g)
	}
	if c.Op.Compute == nil {
		return 0, nil
	}
	tensors, err := c.Op.Compute(c)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, x := range tensors {
		terms, err := sumTerms(x.Body, map[*expr.Expr]bool{})
		if err == nil && terms > 0 {
			var each int64
			each, err = extents(x.Vars)
			sum += each * terms
		}
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// sumTerms counts the terms of the sums of products in e.
func sumTerms(e *expr.Expr, seen map[*expr.Expr]bool) (int64, error) {
	if e == nil || seen[e] {
		return 0, nil
	}
	seen[e] = true
	if e.Op == expr.OpReduce && e.Kind == expr.ReduceSum && multiplies(e.Args[0]) {
		return extents(e.Vars)
	}
	sum := int64(0)
	for _, a := range e.Args {
		n, err := sumTerms(a, seen)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
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
func extents(vars []*sym.Symbol) (int64, error) {
	n := int64(1)
	for _, v := range vars {
		extent, fixed := expr.Extent(v).Const()
		if !fixed {
			return 0, errUnknown
		}
		n *= extent
	}
	return n, nil
}
