package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// stockConvolution is the rule for convolutions of three dimensions, where the
// kernel takes two: the sum over the depth of the weights of convolutions of
// all planes they meet, which count as further images of the batch.
func stockConvolution(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.convolution.default" || c.Bool("transposed") {
		return nil, nil
	}
	x, w, out := c.Value("input"), c.Value("weight"), c.Outs[0]
	if x.Type.Rank() != 5 || w.Type.Rank() != 5 {
		return nil, nil
	}
	depth, ok := w.Type.Sizes[2].Const()
	if !ok || depth == 0 {
		return nil, nil
	}
	var first []int64     // of the depth: stride, padding, dilation
	var others [3][]int64 // of height and width
	for i, name := range []string{"stride", "padding", "dilation"} {
		v, err := c.Ints(name)
		if err != nil {
			return nil, err
		}
		if len(v) == 1 {
			v = []int64{v[0], v[0], v[0]}
		}
		first, others[i] = append(first, v[0]), v[1:]
	}
	var vs []*ir.Value
	err := b.Do(func() error {
		if p := first[1]; p > 0 {
			x = b.Op("aten.constant_pad_nd.default", x, []int64{0, 0, 0, 0, p, p})
		}
		s, o, wt := x.Type.Sizes, out.Sizes, w.Type.Sizes
		planes := sym.Mul(s[0], o[2])
		reach := sym.Add(sym.Mul(sym.Sub(o[2], sym.Int(1)), sym.Int(first[0])), sym.Int(1))
		var sum *ir.Value
		bias := c.Arg("bias")
		for t := range depth {
			from := t * first[2]
			part := b.Op("aten.slice_copy.Tensor", x, 2, from, sym.Add(reach, sym.Int(from)),
				first[0])
			part = b.Op("aten.permute_copy.default", part, []int{0, 2, 1, 3, 4})
			part = b.Op(viewCopyOp, part, []sym.Expr{planes, s[1], s[3], s[4]})
			kernel := b.Op("aten.slice_copy.Tensor", w, 2, t, t+1)
			kernel = b.Op(viewCopyOp, kernel, []sym.Expr{wt[0], wt[1], wt[3], wt[4]})
			y := b.Op(n.Op, part, kernel, bias, others[0], others[1], others[2], false, []int{0, 0},
				c.Arg("groups"))
			if sum == nil {
				sum, bias = y, ir.None{}
			} else {
				sum = b.Op("aten.add.Tensor", sum, y)
			}
		}
		sum = b.Op(viewCopyOp, sum, []sym.Expr{o[0], o[2], o[1], o[3], o[4]})
		vs = []*ir.Value{b.Op("aten.permute_copy.default", sum, []int{0, 2, 1, 3, 4})}
		return nil
	})
	return vs, err
}
