package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

const cm = "cortex_m::"

// cortexMOps are ExecuTorch's operators for microcontrollers: int8 tensors with
// the arithmetic of CMSIS-NN, to the bit.
//
// A scale is a multiplier of 31 fractional bits and a shift (Requantize). What
// is called an offset is added to elements, a zero point subtracted. 4-D tensors
// are logically NCHW; in memory they are channels last. The weight of a
// convolution is row-major in another order, which each entry states.
//
// Schemas are those of ExecuTorch 1.5. Arguments that earlier versions do not
// pass have defaults here: the scratch tensors, whose contents mean nothing, the
// limits of quantized_add and ceil_mode of quantized_avg_pool2d.
func cortexMOps() []Op {
	var all []Op
	for _, g := range [][]Op{cortexMConversions(), cortexMElementwise(), cortexMProducts(),
		cortexMConvolutions(), cortexMPools(), cortexMMoves()} {
		all = append(all, g...)
	}
	return append(all, cortexMSoftmax())
}

// int8Input returns the type of a tensor argument that must be int8, with the
// given number of dimensions unless that is 0.
func (c *Call) int8Input(name string, rank int) (ir.Type, error) {
	t := c.Tensor(name)
	if t.DType != ir.Int8 {
		return t, c.Errorf("%s is %s, not int8", name, t.DType)
	}
	if rank > 0 && t.Rank() != rank {
		return t, c.Errorf("%s has %d dimensions, not %d", name, t.Rank(), rank)
	}
	return t, nil
}

// int32Arg returns an int argument as a constant.
func (c *Call) int32Arg(name string) (*expr.Expr, error) {
	n, err := c.Int(name)
	if err == nil && n != int64(int32(n)) {
		err = c.Errorf("%s is %d, which does not fit an int32", name, n)
	}
	return expr.Int(ir.Int32, n), err
}

// int32Args is int32Arg for several arguments.
func (c *Call) int32Args(names ...string) ([]*expr.Expr, error) {
	out := make([]*expr.Expr, len(names))
	for i, name := range names {
		out[i] = must(c.int32Arg(name))
	}
	return out, nil
}

// rescale is a scale whose multiplier and shift are constants.
type rescale struct{ multiplier, shift *expr.Expr }

func (r rescale) of(x *expr.Expr) *expr.Expr { return fixed.Requantize(x, r.multiplier, r.shift) }

// rescaleOf checks a multiplier and a shift that an argument gave.
func (c *Call) rescaleOf(what string, multiplier, shift int64) (rescale, error) {
	if multiplier <= math.MinInt32 || multiplier > math.MaxInt32 || shift < -31 || shift > 30 {
		return rescale{},
			c.Errorf(
				"%s: a multiplier of %d and a shift of %d; they lie in [-2147483647, 2147483647] and [-31, 30]", what, multiplier, shift)
	}
	return rescale{expr.Int(ir.Int32, multiplier), expr.Int(ir.Int32, shift)}, nil
}

// rescaleArg returns the scale that the arguments PREFIX_multiplier and
// PREFIX_shift give.
func (c *Call) rescaleArg(prefix string) (rescale, error) {
	m := must(c.Int(prefix + "_multiplier"))
	s := must(c.Int(prefix + "_shift"))
	return c.rescaleOf(prefix, m, s)
}

// finish adds the offset of the result to int32 x and limits it.
func finish(x, offset, lo, hi *expr.Expr) *expr.Expr {
	return expr.Cast(ir.Int8, between(expr.Add(x, offset), lo, hi))
}

// int8Limits are the smallest and the largest int8, of dtype d.
func int8Limits(d ir.DType) (lo, hi *expr.Expr) { return expr.Num(d, -128), expr.Num(d, 127) }

// offset returns int8 x as int32 plus by.
func offset(x, by *expr.Expr) *expr.Expr { return expr.Add(expr.Cast(ir.Int32, x), by) }
