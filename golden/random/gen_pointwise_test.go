package random

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

var (
	unaryFloat = []string{"aten.relu.default", "aten.neg.default", "aten.abs.default",
		"aten.exp.default", "aten.sigmoid.default",
		"aten.tanh.default", "aten.sqrt.default", "aten.sin.default", "aten.silu.default",
		"aten.gelu.default", "aten.floor.default", "aten.round.default", "aten.sign.default",
		"aten.reciprocal.default", "aten.hardtanh.default", "aten.leaky_relu.default",
		"aten.trunc.default", "aten.isnan.default", "aten.hardswish.default", "aten.elu.default",
		"aten.square.default", "aten.log1p.default"}
	unaryAny = []string{"aten.neg.default", "aten.abs.default", "aten.sign.default",
		"aten.relu.default", "aten.clone.default", "aten.logical_not.default"}
	unaryBool = []string{"aten.logical_not.default", "aten.bitwise_not.default",
		"aten.clone.default"}

	binaryNumber = []string{"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
		"aten.maximum.default", "aten.minimum.default",
		"aten.add.Tensor", "aten.mul.Tensor", "aten.rsub.Tensor"}
	comparison = []string{"aten.eq.Tensor", "aten.ne.Tensor", "aten.lt.Tensor", "aten.le.Tensor",
		"aten.gt.Tensor", "aten.ge.Tensor"}
	binaryBool = []string{"aten.logical_and.default", "aten.logical_or.default",
		"aten.logical_xor.default", "aten.bitwise_and.Tensor",
		"aten.mul.Tensor", "aten.add.Tensor", "aten.eq.Tensor"}
	scalarOps = []string{"aten.add.Scalar", "aten.sub.Scalar", "aten.mul.Scalar",
		"aten.rsub.Scalar", "aten.gt.Scalar", "aten.eq.Scalar", "aten.le.Scalar"}
)

// pointwise emits an elementwise operator.
func (g *generator) pointwise() error {
	switch weighted(g.r, []int{6, 10, 5, 3, 3, 3}) {
	case 0:
		return g.unary()
	case 1:
		return g.binary()
	case 2:
		v := g.any(isNumber)
		if v == nil {
			return errNoFit
		}
		return g.call(pick(g.r, scalarOps...), v, g.scalar(v))
	case 3:
		v := g.any(isTensor)
		if v == nil {
			return errNoFit
		}
		cond := g.broadcastable(v, ir.Bool)
		if g.chance(3) {
			return g.call("aten.masked_fill.Scalar", v, cond, g.scalar(v))
		}
		return g.call("aten.where.self", cond, v, g.broadcastable(v, v.Type.DType))
	case 4:
		return g.convert()
	}
	return g.bounded()
}

func (g *generator) unary() error {
	v := g.any(isTensor)
	switch {
	case v == nil:
		return errNoFit
	case isFloat(v):
		return g.call(pick(g.r, unaryFloat...), v)
	case isBool(v):
		return g.call(pick(g.r, unaryBool...), v)
	}
	return g.call(pick(g.r, unaryAny...), v)
}

func (g *generator) binary() error {
	v := g.any(isTensor)
	if v == nil {
		return errNoFit
	}
	if g.chance(3) { // with any tensor at all
		if w := g.any(isTensor); w != nil && g.pair(v, w) == nil {
			return nil
		}
	}
	return g.pair(v, g.broadcastable(v, v.Type.DType))
}

func (g *generator) pair(v, w *ir.Value) error {
	if !broadcasts(v.Type.Sizes, w.Type.Sizes) {
		return errNoFit
	}
	if g.chance(2) {
		v, w = w, v
	}
	names := binaryNumber
	switch {
	case isBool(v) && isBool(w):
		names = binaryBool
	case g.chance(5):
		names = comparison
	case isFloat(v) && isFloat(w) && g.chance(5):
		names = []string{"aten.div.Tensor", "aten.atan2.default"}
	}
	op := pick(g.r, names...)
	if (isBool(v) || isBool(w)) && (op == "aten.sub.Tensor" || op == "aten.rsub.Tensor") {
		op = "aten.add.Tensor"
	}
	if op == "aten.add.Tensor" && isNumber(v) && isNumber(w) && g.chance(6) {
		return g.call(op, v, w, ops.Kw("alpha", 2))
	}
	return g.call(op, v, w)
}

// scalar returns a number for arithmetic with v.
func (g *generator) scalar(v *ir.Value) any {
	if isFloat(v) {
		return pick(g.r, 0.5, 2.0, -1.25, 0.0, 1.0, 3.0)
	}
	return pick(g.r, 0, 1, 2, -3)
}

// broadcastable returns a tensor whose sizes broadcast with those of v to
// something: an older one if there is one, else a new one.
func (g *generator) broadcastable(v *ir.Value, d ir.DType) *ir.Value {
	if g.chance(2) {
		if w := g.any(func(w *ir.Value) bool {
			return w.Type.DType == d && broadcasts(w.Type.Sizes, v.Type.Sizes)
		}); w != nil {
			return w
		}
	}
	sizes := slices.Clone(v.Type.Sizes[g.r.IntN(len(v.Type.Sizes)+1):])
	for i := range sizes {
		if g.chance(4) {
			sizes[i] = sym.Int(1)
		}
	}
	return g.weight(d, sizes...)
}

func broadcasts(a, b []sym.Expr) bool {
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if !x.Equal(y) && !x.Is(1) && !y.Is(1) {
			return false
		}
	}
	return true
}

func (g *generator) convert() error {
	v := g.any(isTensor)
	if v == nil {
		return errNoFit
	}
	to := pick(g.r, ir.Float32, ir.Float32, ir.Float16, ir.BFloat16, ir.Float64, ir.Int64, ir.Int32,
		ir.Bool, ir.Uint8, ir.Int8)
	if isFloat(v) && to.IsInt() { // what does not fit is undefined
		vs, err := g.b.Call("aten.nan_to_num.default", v, 0.0)
		if err != nil {
			return err
		}
		lo := -50.0
		if to.IsUnsigned() {
			lo = 0
		}
		if vs, err = g.b.Call("aten.clamp.default", vs[0], lo, 50.0); err != nil {
			return err
		}
		v = vs[0]
	}
	if g.chance(2) {
		return g.call("aten._to_copy.default", v, ops.Kw("dtype", to))
	}
	return g.call("aten.to.dtype", v, to)
}

func (g *generator) bounded() error {
	v := g.any(isNumber)
	if v == nil {
		return errNoFit
	}
	if isFloat(v) {
		switch g.r.IntN(3) {
		case 0:
			return g.call("aten.clamp.default", v, -0.5, 1.5)
		case 1:
			return g.call("aten.clamp.default", v, nil, 0.75)
		}
		return g.call("aten.pow.Tensor_Scalar", v, pick[any](g.r, 2, 3, 0.5, -1))
	}
	switch g.r.IntN(3) {
	case 0:
		return g.call("aten.clamp.default", v, -2, 3)
	case 1:
		return g.call("aten.remainder.Scalar", v, pick(g.r, 3, -4, 5))
	}
	return g.call("aten.div.Scalar_mode", v, pick(g.r, 2, -3), ops.Kw("rounding_mode", "floor"))
}
