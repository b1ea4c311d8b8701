package random

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// scaled multiplies x by a number in one of the ways to say so.
func (a *attended) scaled(x *ir.Value, by float64) *ir.Value {
	number := func() any {
		switch a.r.IntN(3) {
		case 0:
			return a.op("aten.full.default", []int{}, by, ops.Kw("dtype", a.d))
		case 1:
			return a.weight(a.d, pick(a.r, []sym.Expr{}, []sym.Expr{sym.Int(1)})...)
		}
		return by
	}
	switch a.r.IntN(4) {
	case 0:
		return a.op("aten.mul.Scalar", x, by)
	case 1:
		return a.op("aten.div.Tensor", x, pick[any](a.r, 1/by, a.op("aten.scalar_tensor.default",
			1/by, ops.Kw("dtype", a.d))))
	}
	y := number()
	if v, ok := y.(*ir.Value); ok && a.chance(2) {
		return a.op("aten.mul.Tensor", v, x)
	}
	return a.op("aten.mul.Tensor", x, y)
}

// keepMask returns a tensor that tells of scores whether they count.
func (a *attended) keepMask() *ir.Value {
	if a.chance(3) { // causal
		if a.chance(2) {
			ones := a.op("aten.ones.default", []sym.Expr{a.l, a.s}, ops.Kw("dtype", ir.Bool))
			return a.op("aten.tril.default", ones, a.r.IntN(2))
		}
		i := a.op("aten.unsqueeze.default", a.op("aten.arange.default", a.l), 1)
		return a.op("aten.ge.Tensor", i, a.op("aten.arange.default", a.s))
	}
	return a.data("m", ir.Bool, a.maskSizes())
}

func (a *attended) maskSizes() []sym.Expr {
	s := append(a.lead(a.h), a.l, a.s)
	s = s[a.r.IntN(len(s)-1):]
	for i := range s[:len(s)-1] {
		if a.chance(3) {
			s[i] = sym.Int(1)
		}
	}
	return s
}

// masked puts a mask on scores, or none.
func (a *attended) masked(s *ir.Value) *ir.Value {
	none := pick(a.r, math.Inf(-1), math.Inf(-1), -1e9, -math.MaxFloat32, -2, 0)
	if a.d == ir.Float16 && none < -60000 {
		none = math.Inf(-1)
	}
	number := func(x float64) *ir.Value {
		return a.op("aten.full.default", pick(a.r, []int{}, []int{1}), x, ops.Kw("dtype", a.d))
	}
	switch a.r.IntN(8) {
	case 0, 1:
		return s
	case 2: // added
		m := a.data("m", a.d, a.maskSizes())
		if a.chance(2) {
			return a.op("aten.add.Tensor", m, s)
		}
		return a.op("aten.add.Tensor", s, m)
	case 3: // added, of -infinity
		m := a.op("aten.where.self", a.keepMask(), number(0), number(none))
		return a.op("aten.add.Tensor", s, m)
	case 4:
		return a.op("aten.where.self", a.keepMask(), s, number(none))
	case 5:
		return a.op("aten.where.self", a.keepMask(), number(none), s)
	case 6:
		return a.op("aten.masked_fill.Tensor", s, a.keepMask(), a.op("aten.full.default", []int{},
			none, ops.Kw("dtype", a.d)))
	}
	return a.op("aten.masked_fill.Scalar", s, a.op("aten.logical_not.default", a.keepMask()), none)
}

// probabilities is softmax over the keys, with or without what saves rows that
// are masked as a whole.
func (a *attended) probabilities(s *ir.Value) *ir.Value {
	dim := pick(a.r, -1, a.rank-1)
	if a.chance(10) && a.l.Equal(a.s) {
		dim = a.rank - 2
	}
	var p *ir.Value
	switch a.r.IntN(5) {
	case 0:
		p = a.op("aten._softmax.default", s, dim, false)
	case 1:
		p = a.op("aten._safe_softmax.default", s, dim)
	case 2:
		p = a.saved(s, a.op("aten._softmax.default", s, dim, false), dim)
	case 3:
		p = a.op("aten.softmax.int", s, dim, ir.Float32)
		if a.d != ir.Float32 {
			p = a.op("aten._to_copy.default", p, ops.Kw("dtype", a.d))
		}
	default:
		p = a.op("aten.softmax.int", s, dim)
	}
	if a.chance(4) {
		p = a.op("aten.dropout.default", p, 0.25, false)
	}
	return p
}

// saved puts zeros, or sometimes something else, in rows of p whose scores are
// all -infinity.
func (a *attended) saved(s, p *ir.Value, dim int) *ir.Value {
	not := func(v *ir.Value) *ir.Value { return a.op("aten.logical_not.default", v) }
	none := math.Inf(-1)
	if a.chance(8) {
		none = -2
	}
	all := func() *ir.Value {
		switch a.r.IntN(3) {
		case 0:
			return a.op("aten.all.dim", a.op("aten.eq.Scalar", s, none), dim, true)
		case 1:
			return not(a.op("aten.any.dim", a.op("aten.ne.Scalar", s, none), dim, true))
		}
		return not(a.op("aten.any.dim", not(a.op("aten.eq.Scalar", s, none)), dim, true))
	}
	zeros := a.op("aten.full_like.default", p, pick(a.r, 0.0, 0, 0, 0.5))
	switch a.r.IntN(4) {
	case 0:
		return a.op("aten.masked_fill.Scalar", p, all(), 0.0)
	case 1:
		return a.op("aten.where.self", not(all()), p, zeros)
	}
	return a.op("aten.where.self", all(), zeros, p)
}
