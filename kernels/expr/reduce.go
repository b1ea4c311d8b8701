package expr

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Sum adds body over all values of vars. Narrow floats are accumulated in
// Float32 and rounded once.
func Sum(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceSum, vars, body) }

// Prod multiplies body over all values of vars.
func Prod(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceProd, vars, body) }

// MaxOf returns the largest body over vars, NaN if there is one; on Bool: any.
func MaxOf(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceMax, vars, body) }

// MinOf returns the smallest body over vars, NaN if there is one; on Bool: all.
func MinOf(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceMin, vars, body) }

// ArgMax returns the Int64 position of the first largest body.
func ArgMax(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceArgMax, vars, body) }

// ArgMin returns the Int64 position of the first smallest body.
func ArgMin(vars []*sym.Symbol, body *Expr) *Expr { return Reduction(ReduceArgMin, vars, body) }

// ArgMaxLastNaN returns the Int64 position of the last NaN among body, else of
// the first largest one.
func ArgMaxLastNaN(vars []*sym.Symbol, body *Expr) *Expr {
	return Reduction(ReduceArgMaxLastNaN, vars, body)
}

// IsArg reports whether k gives a position.
func (k ReduceKind) IsArg() bool { return k >= ReduceArgMax }

// Reduction combines body over all values of vars, which it binds. Without
// vars it is body itself (0 if kind gives a position).
func Reduction(kind ReduceKind, vars []*sym.Symbol, body *Expr) *Expr {
	arg := kind.IsArg()
	d := body.DType
	switch {
	case len(vars) == 0 && arg:
		return Int(ir.Int64, 0)
	case len(vars) == 0:
		return body
	case !castable(d) || d == ir.Bool && (kind == ReduceSum || kind == ReduceProd):
		panic(fmt.Sprintf("expr: %s over %s", kind, d))
	case IsNarrow(d):
		r := Reduction(kind, vars, Cast(ir.Float32, body))
		if arg {
			return r
		}
		return Cast(d, r)
	case arg:
		if d == ir.Bool { // Bool has no order of its own
			body = Cast(ir.Uint8, body)
		}
		d = ir.Int64
	}
	return &Expr{Op: OpReduce, DType: d, Kind: kind, Vars: vars, Args: []*Expr{body}}
}

// Neutral returns what changes nothing when combined by k with a value of d: the
// result over no values.
func Neutral(k ReduceKind, d ir.DType) *Expr {
	switch k {
	case ReduceSum:
		return Num(d, 0)
	case ReduceProd:
		return Num(d, 1)
	}
	low := k != ReduceMin && k != ReduceArgMin
	switch {
	case d.IsFloat() && low:
		return Float(d, math.Inf(-1))
	case d.IsFloat():
		return Float(d, math.Inf(1))
	case d == ir.Bool:
		return Bool(!low)
	}
	lowest, highest := IntRange(d)
	if low {
		return Int(d, lowest)
	}
	return Int(d, highest)
}
