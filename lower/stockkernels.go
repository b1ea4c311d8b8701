package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// stockPad is the rule for padding by less than nothing, which crops: the
// kernel only adds.
func stockPad(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.constant_pad_nd.default" {
		return nil, nil
	}
	pad, err := c.SymInts("pad")
	if err != nil {
		return nil, err
	}
	x, zero, crops := c.Value("self"), sym.Int(0), false
	added := make([]sym.Expr, len(pad))
	for i, p := range pad {
		added[i] = p
		if lo, _ := p.Bounds(); lo < 0 {
			crops, added[i] = true, sym.Max(p, zero)
		}
	}
	if !crops {
		return nil, nil
	}
	for i := 0; i+1 < len(pad); i += 2 {
		d := x.Type.Rank() - 1 - i/2
		front, back := sym.Max(sym.Neg(pad[i]), zero), sym.Max(sym.Neg(pad[i+1]), zero)
		if front.IsZero() && back.IsZero() {
			continue
		}
		if x, err = call(b, "aten.slice_copy.Tensor", x, d, front, sym.Sub(x.Type.Sizes[d],
			back)); err != nil {
			return nil, err
		}
	}
	return b.Call(n.Op, x, added, c.Arg("value"))
}

// stockCat is the rule for joining tensors without elements: the kernel leaves
// them out and gives the result no sizes.
func stockCat(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.cat.default" || !c.Outs[0].Numel().IsZero() {
		return nil, nil
	}
	return b.Call("aten.full.default", c.Outs[0].Sizes, 0, ops.Kw("dtype", c.Outs[0].DType))
}

// stockPower is the rule for integers to a constant power: the kernel computes
// in double, which neither wraps around nor holds all 64-bit integers.
func stockPower(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.pow.Tensor_Scalar" || !c.Outs[0].DType.IsInt() ||
		c.Value("self").Type.DType != c.Outs[0].DType {
		return nil, nil
	}
	e, ok := c.Arg("exponent").(ir.Int)
	if !ok || e < 1 || e > 64 {
		return nil, nil
	}
	var power *ir.Value
	for square := c.Value("self"); ; {
		var err error
		if e&1 != 0 {
			if power == nil {
				power = square
			} else if power, err = call(b, "aten.mul.Tensor", power, square); err != nil {
				return nil, err
			}
		}
		if e >>= 1; e == 0 {
			return []*ir.Value{power}, nil
		}
		if square, err = call(b, "aten.mul.Tensor", square, square); err != nil {
			return nil, err
		}
	}
}
