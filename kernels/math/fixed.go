package math

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// Fixed-point arithmetic on int32 as CMSIS-NN and gemmlowp define it, to the
// bit. A number of q fractional bits stands for x/2^q; of 31 bits it lies in
// [-1, 1).

func i32(n int64) node   { return expr.Int(ir.Int32, n) }
func wide(a node) node   { return expr.Cast(ir.Int64, a) }
func shl(a, b node) node { return expr.Shl(a, b) }
func shr(a, b node) node { return expr.Shr(a, b) }

// HighMul returns the product of two numbers of 31 fractional bits, rounded to
// the nearest, ties up: (a·b + 2^30) >> 31. It wraps around only for a = b = -1.
func HighMul(a, b *expr.Expr) *expr.Expr {
	return expr.Cast(ir.Int32, shr(add(mul(wide(a), wide(b)), expr.Int(ir.Int64, 1<<30)),
		expr.Int(ir.Int64, 31)))
}

// HighHalf returns the upper half of the product of two numbers, rounded down.
func HighHalf(a, b *expr.Expr) *expr.Expr {
	return expr.Cast(ir.Int32, shr(mul(wide(a), wide(b)), expr.Int(ir.Int64, 32)))
}

// IsHighMul reports whether e is a HighMul, and of what.
func IsHighMul(e *expr.Expr) (a, b *expr.Expr, ok bool) {
	if e.Op != expr.OpCast || e.DType != ir.Int32 || e.Args[0].Op != expr.OpShr {
		return nil, nil, false
	}
	m := e.Args[0].Args[0]
	if m.Op == expr.OpAdd {
		m = m.Args[0]
	}
	if m.Op != expr.OpMul || m.Args[0].Op != expr.OpCast {
		return nil, nil, false
	}
	a, b = m.Args[0].Args[0], m.Args[1]
	switch {
	case b.Op == expr.OpCast:
		b = b.Args[0]
	case b.Op == expr.OpConst && b.Int == int64(int32(b.Int)):
		b = i32(b.Int)
	}
	ok = a.DType == ir.Int32 && b.DType == ir.Int32 && expr.Equal(e, HighMul(a, b))
	return a, b, ok
}

// IsRoundShift reports whether e is a RoundShift, and of what.
func IsRoundShift(e *expr.Expr) (x, by *expr.Expr, ok bool) {
	if e.Op != expr.OpAdd || e.DType != ir.Int32 || e.Args[0].Op != expr.OpShr {
		return nil, nil, false
	}
	x, by = e.Args[0].Args[0], e.Args[0].Args[1]
	return x, by, expr.Equal(e, RoundShift(x, by))
}

// RoundShift returns x/2^by for 0 ≤ by ≤ 31, rounded to the nearest, ties away
// from zero.
func RoundShift(x, by *expr.Expr) *expr.Expr {
	if by.Op == expr.OpConst && by.Int == 0 {
		return x
	}
	mask := sub(shl(i32(1), by), i32(1))
	half := add(shr(mask, i32(1)), sel(lt(x, i32(0)), i32(1), i32(0)))
	return add(shr(x, by), sel(gt(expr.And(x, mask), half), i32(1), i32(0)))
}

// Requantize returns x·scale·2^shift, where scale has 31 fractional bits and
// -31 ≤ shift ≤ 30. It rounds twice: the product by HighMul, then by RoundShift
// if shift is negative. x·2^shift wraps around.
func Requantize(x, scale, shift *expr.Expr) *expr.Expr {
	left, right := expr.Max(shift, i32(0)), expr.Max(neg(shift), i32(0))
	return RoundShift(HighMul(shl(x, left), scale), right)
}

// shlSaturating returns x·2^by, limited to the range of int32.
func shlSaturating(x node, by int64) node {
	limit := int64(1)<<(31-by) - 1
	y := sel(gt(x, i32(limit)), i32(math.MaxInt32), shl(x, i32(by)))
	return sel(lt(x, i32(-limit)), i32(math.MinInt32), y)
}

// LeadingZeros returns the number of zero bits above the highest one of x, 32
// for 0.
func LeadingZeros(x *expr.Expr) *expr.Expr {
	n := i32(0)
	for _, k := range []int64{16, 8, 4, 2, 1} {
		// The upper k bits are zero.
		clear := expr.Eq(shr(expr.Bitcast(ir.Uint32, x), expr.Int(ir.Uint32, 32-k)),
			expr.Int(ir.Uint32, 0))
		n = add(n, sel(clear, i32(k), i32(0)))
		x = sel(clear, shl(x, i32(k)), x)
	}
	return add(n, sel(expr.Eq(x, i32(0)), i32(1), i32(0)))
}

// InverseRoot returns root and half, from 0 to 30, with 1/sqrt(v) = root·2^(half-60), for int64 v
// from 1 to below 2^62.
func InverseRoot(v *expr.Expr) (root, half *expr.Expr) {
	high := expr.Cast(ir.Int32, shr(v, expr.Int(ir.Int64, 32)))
	none := expr.Eq(high, i32(0))
	zeros := add(LeadingZeros(sel(none, expr.Cast(ir.Int32, v), high)), sel(none, i32(32), i32(0)))
	half = shr(sub(zeros, i32(2)), i32(1))
	m := shr(shl(v, wide(shl(half, i32(1)))), expr.Int(ir.Int64, 31))
	return expr.CallFn(whole["inverse_root_fixed"], expr.Cast(ir.Int32, m)), half
}

// fixed are the functions of int32.
func fixed() map[string]*expr.Func {
	return map[string]*expr.Func{"exp_fixed": expFixed(), "inverse_fixed": inverseFixed(),
		"inverse_root_fixed": inverseRootFixed()}
}

func fixedFunc(name, doc string, body func(x node) node) *expr.Func {
	x := &expr.Var{Name: "x", DType: ir.Int32}
	return &expr.Func{Name: name + "_i32", Params: []*expr.Var{x},
		Body: body(expr.Get(x)), Doc: doc}
}

// expFixed takes x apart into a multiple of -1/4, whose exponential is a
// product of constants for its bits, and a rest in [-1/4, 0), for which there
// is a polynomial around -1/8.
func expFixed() *expr.Func {
	const quarter = 24 // the bit of 1/4 in a number of 26 fractional bits
	const expMinusEighth, third = 1895147668, 715827883
	doc := "exp(x) for x <= 0 of 26 fractional bits, with 31: CMSIS-NN's to the bit."
	return fixedFunc("exp_fixed", doc, func(x node) node {
		rest := sub(expr.And(x, i32(1<<quarter-1)), i32(1<<quarter))
		whole := sub(rest, x)
		a := add(shl(rest, i32(5)), i32(1<<28))
		a2 := HighMul(a, a)
		a3 := HighMul(a2, a)
		a4 := HighMul(a2, a2)
		cubic := add(HighMul(add(RoundShift(a4, i32(2)), a3), i32(third)), a2)
		y := add(i32(expMinusEighth), HighMul(i32(expMinusEighth),
			add(a, RoundShift(cubic, i32(1)))))
		// exp of -1/4, -1/2, -1, …, -16.
		for i, c := range []int64{1672461947, 1302514674, 790015084, 290630308, 39332535,
			720401, 242} {
			bit := expr.And(whole, i32(1<<(quarter+i)))
			y = sel(expr.Eq(bit, i32(0)), y, HighMul(y, i32(c)))
		}
		return sel(expr.Eq(x, i32(0)), i32(math.MaxInt32), y)
	})
}

// inverseFixed does three steps of Newton-Raphson from 48/17 - 32/17·d.
func inverseFixed() *expr.Func {
	const start, slope = 1515870810, -1010580540
	doc := "1/(1+x) for x in [0, 1), both of 31 fractional bits: CMSIS-NN's to the bit."
	return fixedFunc("inverse_fixed", doc, func(x node) node {
		// (1+x)/2, of 31 fractional bits
		d := expr.Cast(ir.Int32, shr(add(wide(x), expr.Int(ir.Int64, 1<<31)),
			expr.Int(ir.Int64, 1)))
		y := add(i32(start), HighMul(d, i32(slope)))
		for range 3 {
			y = add(y, shlSaturating(HighMul(y, sub(i32(1<<29), HighMul(d, y))), 2))
		}
		return shlSaturating(y, 1)
	})
}

// inverseRootFixed does three steps of Newton-Raphson from the line that is nearest.
func inverseRootFixed() *expr.Func {
	const start, slope = 1145038281, -1308676535 // 1.0664 of 30 fractional bits, 0.6094 of 31
	doc := "1/(2*sqrt(x)), with 30 fractional bits, for x in [1/4, 1) of 31, but for 2^-24."
	return fixedFunc("inverse_root_fixed", doc, func(x node) node {
		// Half of the slope, as the product has 31 fractional bits less one.
		y := add(i32(start), shr(HighMul(x, i32(slope)), i32(1)))
		for range 3 {
			// y/2·(3 - 4·x·y²): what is less than 1/4 has 29 fractional bits.
			rest := sub(i32(1<<27), HighMul(x, HighMul(y, y)))
			y = add(y, shl(HighMul(y, rest), i32(3)))
		}
		return y
	})
}
