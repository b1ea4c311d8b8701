package c

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// settled returns body with the comparisons decided that always come out the
// same, about which compilers warn, and with what depends on them.
func settled(body []loop.Stmt) []loop.Stmt {
	return loop.MapAll(body, settle, func(x sym.Expr) sym.Expr { return x })
}

func settle(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
			if truth, known := decided(e.Op, e.Args[0], e.Args[1], sameLeaf(e.Args[0], e.Args[1])); known {
				return expr.Bool(truth)
			}
		case expr.OpSelect:
			if e.Args[0].Op == expr.OpConst {
				return expr.Select(e.Args[0], e.Args[1], e.Args[2])
			}
		case expr.OpAnd, expr.OpOr:
			if e.DType == ir.Bool {
				return logical(e)
			}
		case expr.OpNot:
			if e.Args[0].Op == expr.OpConst {
				return expr.Not(e.Args[0])
			}
		case expr.OpMin, expr.OpMax:
			if sameLeaf(e.Args[0], e.Args[1]) {
				return e.Args[0]
			}
		}
		return e
	})
}

// logical simplifies And and Or with a constant operand.
func logical(e *expr.Expr) *expr.Expr {
	for i, a := range e.Args {
		switch {
		case a.Op != expr.OpConst:
		case (a.Int != 0) == (e.Op == expr.OpAnd):
			return e.Args[1-i]
		default:
			return a
		}
	}
	return e
}

// sameLeaf reports whether two expressions read the same thing.
func sameLeaf(x, y *expr.Expr) bool {
	if x == y {
		return true
	}
	if x.Op != y.Op || len(x.Args) > 0 || len(y.Args) > 0 || len(x.Coords) != len(y.Coords) {
		return false
	}
	for i, c := range x.Coords {
		if !c.Equal(y.Coords[i]) {
			return false
		}
	}
	switch x.Op {
	case expr.OpLoad, expr.OpScalar:
		return x.Buf == y.Buf
	case expr.OpLocal:
		return x.Var == y.Var
	case expr.OpIndex:
		return x.Idx.Equal(y.Idx)
	}
	return false
}

// decided returns the outcome of a comparison of integers that is always the
// same; same tells that x and y are one value.
func decided(op expr.Op, x, y *expr.Expr, same bool) (truth, known bool) {
	if x.DType.IsFloat() {
		return false, false
	}
	a, aok := intRange(x)
	b, bok := intRange(y)
	var less, equal, more bool // what is possible
	switch {
	case same:
		equal = true
	case aok && bok:
		less, more = a.lo < b.hi, a.hi > b.lo
		equal = a.lo <= b.hi && b.lo <= a.hi
	case bok && b.hi == 0 && b.lo == 0: // a uint64 and 0
		equal, more = true, true
	case aok && a.hi == 0 && a.lo == 0:
		equal, less = true, true
	default:
		return false, false
	}
	var yes, no bool
	switch op {
	case expr.OpEq, expr.OpNe:
		yes, no = equal, less || more
	case expr.OpLt, expr.OpGe:
		yes, no = less, equal || more
	case expr.OpLe, expr.OpGt:
		yes, no = less || equal, more
	}
	if op == expr.OpNe || op == expr.OpGe || op == expr.OpGt {
		yes, no = no, yes
	}
	return yes, yes != no
}
