package expr

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
)

// fold returns e, or its value if all its operands are constants and it has
// one.
func fold(e *Expr) *Expr {
	for _, a := range e.Args {
		if a.Op != OpConst {
			return e
		}
	}
	vals := seq.Map(e.Args, func(a *Expr) Value { return Value{I: a.Int, F: a.Float} })
	v, err := Apply(e.Op, e.DType, e.Args[0].DType, vals...)
	if err != nil {
		return e // division by zero: an error where it is executed
	}
	return Const(e.DType, v)
}

func (e *Expr) isInt(n int64) bool { return e.Op == OpConst && !e.DType.IsFloat() && e.Int == n }

// isFloat reports whether e is the constant x, the sign of zero included.
func (e *Expr) isFloat(x float64) bool {
	return e.Op == OpConst && e.DType.IsFloat() && math.Float64bits(e.Float) == math.Float64bits(x)
}

func (e *Expr) isOne() bool { return e.isFloat(1) || e.isInt(1) }

func unary(op Op, a *Expr) *Expr {
	d := a.DType
	ok := d.IsInt() || d.IsFloat()
	switch op {
	case OpNot:
		ok = d.IsInt() || d == ir.Bool
	case OpSqrt, OpFloor, OpCeil, OpTrunc, OpRound:
		ok = d.IsFloat()
	}
	if !ok {
		panic(fmt.Sprintf("expr: %s of %s", op, d))
	}
	switch {
	case IsNarrow(d):
		return Cast(d, unary(op, Cast(ir.Float32, a)))
	case (op == OpNeg || op == OpNot) && a.Op == op:
		return a.Args[0]
	case op == OpNot && d == ir.Bool && a.Op >= OpEq && a.Op <= OpGe:
		if n, ok := negated(a.Op, a.Args[0].DType); ok {
			return &Expr{Op: n, DType: ir.Bool, Args: a.Args}
		}
	case op == OpAbs && d.IsUnsigned(), op == OpAbs && a.Op == OpAbs && d.IsFloat():
		return a
	}
	return fold(&Expr{Op: op, DType: d, Args: []*Expr{a}})
}

// negated returns the comparison that holds exactly when op does not. NaN
// leaves only equality on floats.
func negated(op Op, operands ir.DType) (Op, bool) {
	all := uint8(less | equal | greater)
	if operands.IsFloat() {
		all |= unordered
	}
	for n := OpEq; n <= OpGe; n++ {
		if holds[n]&all == all&^holds[op] {
			return n, true
		}
	}
	return op, false
}

func binary(op Op, a, b *Expr) *Expr {
	d := a.DType
	ok := d == b.DType && (d.IsInt() || d.IsFloat())
	switch op {
	case OpAnd, OpOr, OpXor:
		ok = d == b.DType && (d.IsInt() || d == ir.Bool)
	case OpShl, OpShr:
		ok = d == b.DType && d.IsInt()
	case OpMin, OpMax:
		ok = ok || d == ir.Bool && b.DType == d
	}
	if !ok {
		panic(fmt.Sprintf("expr: %s of %s and %s", op, a.DType, b.DType))
	}
	switch {
	case IsNarrow(d):
		return Cast(d, binary(op, Cast(ir.Float32, a), Cast(ir.Float32, b)))
	case d == ir.Bool && op == OpMin:
		op = OpAnd
	case d == ir.Bool && op == OpMax:
		op = OpOr
	}
	if e := identity(op, a, b); e != nil {
		return e
	}
	return fold(&Expr{Op: op, DType: d, Args: []*Expr{a, b}})
}

// identity returns what a op b equals for all values of its non-constant
// operand, nil if nothing is known.
func identity(op Op, a, b *Expr) *Expr {
	if a.Op == OpConst && b.Op == OpConst {
		return nil
	}
	negZero := math.Copysign(0, -1)
	switch op {
	case OpAdd:
		switch {
		case a.isInt(0), a.isFloat(negZero):
			return b
		case b.isInt(0), b.isFloat(negZero):
			return a
		}
	case OpSub:
		if b.isInt(0) || b.isFloat(0) {
			return a
		}
	case OpMul:
		switch {
		case a.isOne():
			return b
		case b.isOne():
			return a
		case a.isInt(0):
			return a
		case b.isInt(0):
			return b
		}
	case OpDiv:
		if b.isOne() {
			return a
		}
	case OpShl, OpShr:
		if b.isInt(0) {
			return a
		}
	case OpMin, OpMax:
		if a == b {
			return a
		}
	case OpAnd, OpOr, OpXor:
		return bitIdentity(op, a, b)
	}
	return nil
}

func bitIdentity(op Op, a, b *Expr) *Expr {
	if a == b && op != OpXor {
		return a
	}
	if a.Op == OpConst {
		a, b = b, a
	}
	all := Wrap(a.DType, -1)
	switch {
	case op == OpAnd && b.isInt(0), op == OpOr && b.isInt(all):
		return b
	case op == OpAnd && b.isInt(all), op != OpAnd && b.isInt(0):
		return a
	case op == OpXor && b.isInt(all):
		return Not(a)
	}
	return nil
}

func comparison(op Op, a, b *Expr) *Expr {
	d := a.DType
	if d != b.DType || !castable(d) {
		panic(fmt.Sprintf("expr: %s of %s and %s", op, d, b.DType))
	}
	if IsNarrow(d) {
		return comparison(op, Cast(ir.Float32, a), Cast(ir.Float32, b))
	}
	if d == ir.Bool { // Go has no order on bool, nor arithmetic
		switch op {
		case OpEq:
			return Not(Xor(a, b))
		case OpNe:
			return Xor(a, b)
		case OpLt:
			return And(Not(a), b)
		case OpLe:
			return Or(Not(a), b)
		case OpGt:
			return And(a, Not(b))
		}
		return Or(a, Not(b))
	}
	if isTruth(a) && b.Op == OpConst || a.Op == OpConst && isTruth(b) {
		// C compilers warn of what holds for both truth values.
		no, yes := comparison(op, ofTruth(a, false), ofTruth(b, false)),
			comparison(op, ofTruth(a, true), ofTruth(b, true))
		if no.Int == yes.Int {
			return no
		}
	}
	return fold(&Expr{Op: op, DType: ir.Bool, Args: []*Expr{a, b}})
}

// isTruth reports whether e is a bool as a number.
func isTruth(e *Expr) bool { return e.Op == OpCast && e.Args[0].DType == ir.Bool }

// ofTruth returns e as it is if the bool that it converts is x.
func ofTruth(e *Expr, x bool) *Expr {
	if !isTruth(e) {
		return e
	}
	return Cast(e.DType, Bool(x))
}
