package expr

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Simplify returns an expression with the same value for every input: rebuilt
// through the constructors, so that constants that substitution or inlining
// brought together fold, with single-valued reduction variables dropped and
// comparisons of indices decided where their ranges allow.
func Simplify(e *Expr) *Expr { return SimplifyAll(e)[0] }

// SimplifyAll is Simplify for expressions that share nodes.
func SimplifyAll(es ...*Expr) []*Expr { return RewriteAll(es, simplifyNode) }

func simplifyNode(e *Expr) *Expr {
	switch {
	case e.Op == OpIndex:
		return Idx(e.DType, e.Idx)
	case e.Op == OpReduce:
		return simplifyReduce(e)
	case e.Op == OpSelect:
		return simplifySelect(e)
	case (e.Op == OpLe || e.Op == OpLt || e.Op == OpGe || e.Op == OpGt) && isIndex(e.Args[0]) &&
		isIndex(e.Args[1]):
		return simplifyIndexCompare(e)
	}
	if made := simplifyIntegral(e); made != nil {
		return made
	}
	return Build(e)
}

// Build makes the node e anew through its constructor; it is e if that makes no other.
func Build(e *Expr) *Expr { return keep(e, build(e)) }

func build(e *Expr) *Expr {
	switch {
	case e.Op == OpFMA:
		return FMA(e.Args[0], e.Args[1], e.Args[2])
	case e.Op >= OpEq && e.Op <= OpGe:
		return comparison(e.Op, e.Args[0], e.Args[1])
	case e.Op == OpSelect:
		return Select(e.Args[0], e.Args[1], e.Args[2])
	case e.Op == OpCast:
		return Cast(e.DType, e.Args[0])
	case e.Op == OpBitcast:
		return Bitcast(e.DType, e.Args[0])
	case e.Op == OpCall || e.Op == OpReduce || len(e.Args) == 0:
		return e
	case len(e.Args) == 1:
		return unary(e.Op, e.Args[0])
	}
	return binary(e.Op, e.Args[0], e.Args[1])
}

// keep returns e if made is the same node, so that nothing is copied without
// need.
func keep(e, made *Expr) *Expr {
	if made.Op != e.Op || made.DType != e.DType || len(made.Args) != len(e.Args) {
		return made
	}
	for i := range e.Args {
		if e.Args[i] != made.Args[i] {
			return made
		}
	}
	if e.Op == OpConst || e.Op == OpIndex {
		return made
	}
	return e
}

// isIndex reports whether e is an index or an integer constant that may stand
// in an index expression.
func isIndex(e *Expr) bool {
	return (e.Op == OpIndex || e.Op == OpConst) && (e.DType == ir.Int32 || e.DType == ir.Int64)
}

func indexOf(e *Expr) sym.Expr {
	if e.Op == OpConst {
		return sym.Int(e.Int)
	}
	return e.Idx
}

func simplifyIndexCompare(e *Expr) *Expr {
	a, b := indexOf(e.Args[0]), indexOf(e.Args[1])
	if e.Op == OpGe || e.Op == OpGt {
		a, b = b, a
	}
	compare := IdxLt
	if e.Op == OpLe || e.Op == OpGe {
		compare = IdxLe
	}
	if r := compare(a, b); r.Op == OpConst {
		return r
	}
	return Build(e)
}

func simplifySelect(e *Expr) *Expr {
	c, a, b := e.Args[0], e.Args[1], e.Args[2]
	if a.Op == OpSelect && a.Args[0] == c {
		a = a.Args[1]
	}
	if b.Op == OpSelect && b.Args[0] == c {
		b = b.Args[2]
	}
	if a == e.Args[1] && b == e.Args[2] {
		return Build(e)
	}
	return Select(c, a, b)
}

// simplifyReduce drops variables that have a single value.
func simplifyReduce(e *Expr) *Expr {
	m := Subst{}
	var vars []*sym.Symbol
	for _, v := range e.Vars {
		if Extent(v).Is(1) {
			m[v] = sym.Int(0)
		} else {
			vars = append(vars, v)
		}
	}
	if len(m) == 0 {
		return e
	}
	body := Simplify(SubstIndex(e.Args[0], m))
	if len(vars) == 0 && !e.Kind.IsArg() {
		return body
	}
	r := Reduction(e.Kind, vars, body)
	if r != body {
		r.InOrder = e.InOrder
	}
	return r
}
