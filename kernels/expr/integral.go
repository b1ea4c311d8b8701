package expr

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// simplifyIntegral simplifies arithmetic on floats that are known to be small
// integers: what a tensor that was dequantised and is quantised again with the
// same parameters comes to. It returns nil if it knows nothing.
func simplifyIntegral(e *Expr) *Expr {
	if !e.DType.IsFloat() || IsNarrow(e.DType) {
		if e.Op == OpCast && e.DType.IsInt() {
			if _, _, ok := integral(e.Args[0]); ok && e.Args[0].Op == OpCast &&
				e.Args[0].Args[0].DType == e.DType {
				return e.Args[0].Args[0]
			}
		}
		return nil
	}
	switch e.Op {
	case OpRound:
		if _, _, ok := integral(e.Args[0]); ok {
			return e.Args[0]
		}
		return rescaled(e.Args[0])
	case OpAdd, OpSub:
		return shifted(e)
	case OpMin, OpMax:
		c, y := e.Args[0], e.Args[1]
		if c.Op != OpConst {
			c, y = y, c
		}
		lo, hi, ok := integral(y)
		if ok && c.Op == OpConst && !c.isFloat(math.Copysign(0, -1)) &&
			(e.Op == OpMin && hi <= c.Float || e.Op == OpMax && lo >= c.Float) {
			return y
		}
	}
	return nil
}

// integralLimit bounds what integral knows: sums of a few stay exact.
const integralLimit = 1 << 16

// integral returns what e lies between if it is a float whose value is always
// an integer of at most integralLimit, and never -0.
func integral(e *Expr) (lo, hi float64, ok bool) {
	switch e.Op {
	case OpCast:
		d := e.Args[0].DType
		if !d.IsInt() || d.Size() > 2 || IsNarrow(e.DType) {
			return 0, 0, false
		}
		l, h := IntRange(d)
		return float64(l), float64(h), true
	case OpAdd, OpSub:
		c := e.Args[1]
		if !wholeConst(c) {
			return 0, 0, false
		}
		if lo, hi, ok = integral(e.Args[0]); !ok {
			return 0, 0, false
		}
		by := c.Float
		if e.Op == OpSub {
			by = -by
		}
		lo, hi = lo+by, hi+by
		return lo, hi, math.Abs(lo) <= integralLimit && math.Abs(hi) <= integralLimit
	}
	return 0, 0, false
}

// wholeConst reports whether e is a constant float that is a small integer.
func wholeConst(e *Expr) bool {
	return e.Op == OpConst && e.DType.IsFloat() && e.Float == math.Trunc(e.Float) &&
		math.Abs(e.Float) <= integralLimit
}

// rescaled returns y if x is y·a·b, y an integer and b the reciprocal of a but
// for some roundings, whose errors are less than a half then: the nearest
// integer to x.
func rescaled(x *Expr) *Expr {
	y, b := factor(x)
	if b == nil {
		return nil
	}
	y, a := factor(y)
	if a == nil || y.DType != ir.Float32 && y.DType != ir.Float64 {
		return nil
	}
	// Products that are no subnormal numbers: each rounds by 2^-24 of it at most.
	if s := math.Abs(a.Float); s < 0x1p-100 || s > 0x1p100 ||
		!(math.Abs(a.Float*b.Float-1) < 0x1p-20) {
		return nil
	}
	if _, _, ok := integral(y); !ok {
		return nil
	}
	return y
}

// factor takes the constant from a product, nil if there is none.
func factor(x *Expr) (y, c *Expr) {
	if x.Op != OpMul {
		return x, nil
	}
	y, c = x.Args[0], x.Args[1]
	if y.Op == OpConst {
		y, c = c, y
	}
	if c.Op != OpConst {
		return x, nil
	}
	return y, c
}

// shifted makes one of two sums of an integer and a constant.
func shifted(e *Expr) *Expr {
	in := e.Args[0]
	if in.Op != OpAdd && in.Op != OpSub || !wholeConst(e.Args[1]) || !wholeConst(in.Args[1]) {
		if _, _, ok := integral(in); ok && e.Args[1].isFloat(0) {
			return in // not -0
		}
		return nil
	}
	if _, _, ok := integral(in); !ok {
		return nil
	}
	by := 0.0
	for _, x := range []*Expr{in, e} {
		if x.Op == OpAdd {
			by += x.Args[1].Float
		} else {
			by -= x.Args[1].Float
		}
	}
	if by == 0 {
		return in.Args[0]
	}
	return Add(in.Args[0], Float(e.DType, by))
}
