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
	rs := &ranges{}
	return loop.MapAll(body, rs.settle, func(x sym.Expr) sym.Expr { return x })
}

func (rs *ranges) settle(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e = expr.Build(e); len(e.Args) == 0 {
			return e
		}
		if made := rounding(e); made != nil {
			return made
		}
		switch e.Op {
		case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
			if truth, known := rs.decided(e.Op, e.Args[0], e.Args[1]); known {
				return expr.Bool(truth)
			}
		case expr.OpXor:
			if e.DType == ir.Bool && same(e.Args[0], e.Args[1]) {
				return expr.Bool(false)
			}
		case expr.OpMin, expr.OpMax:
			if same(e.Args[0], e.Args[1]) {
				return e.Args[0]
			}
		}
		return e
	})
}

// same reports whether two expressions are the same computation.
func same(x, y *expr.Expr) bool {
	if x == y {
		return true
	}
	return x.Op == y.Op && x.DType == y.DType && len(x.Args) == len(y.Args) && expr.Equal(x, y)
}

// decided returns the outcome of a comparison of integers that is always the
// same.
func (rs *ranges) decided(op expr.Op, x, y *expr.Expr) (truth, known bool) {
	if x.DType.IsFloat() {
		return false, false
	}
	if (op == expr.OpEq || op == expr.OpNe) && (rs.neverEqual(x, y) || rs.neverEqual(y, x)) {
		return op == expr.OpNe, true
	}
	a, aok := rs.intRange(x)
	b, bok := rs.intRange(y)
	var less, equal, more bool // what is possible
	switch {
	case same(x, y):
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

// neverEqual reports whether bits that x has or lacks keep it from being the
// constant y.
func (rs *ranges) neverEqual(x, y *expr.Expr) bool {
	if y.Op != expr.OpConst {
		return false
	}
	for x.Op == expr.OpCast && x.Args[0].DType.IsInt() {
		t, _ := typeOf(x.DType)
		if r, ok := rs.intRange(x.Args[0]); !ok || !r.in(rangeOf(t)) {
			return false
		}
		x = x.Args[0]
	}
	if x.Op != expr.OpAnd && x.Op != expr.OpOr || !x.DType.IsInt() {
		return false
	}
	for _, a := range x.Args {
		switch {
		case a.Op != expr.OpConst:
		case x.Op == expr.OpOr && a.Int&^y.Int != 0, x.Op == expr.OpAnd && y.Int&^a.Int != 0:
			return true
		}
	}
	return false
}
