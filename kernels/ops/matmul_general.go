package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// matmulType is the type of torch.matmul: matrices in the last two dimensions,
// the ones before broadcast; a vector is a row on the left and a column on the
// right, and leaves no dimension.
func matmulType(c *Call) (ir.Type, error) {
	x, y := c.Tensor("self"), c.Tensor("other")
	bad := func() (ir.Type, error) {
		return ir.Type{}, c.Errorf("%s do not multiply", describeSizes([]ir.Type{x, y}))
	}
	if x.DType != y.DType {
		return ir.Type{}, c.Errorf("the product of %s and %s", x.DType, y.DType)
	}
	if x.Rank() == 0 || y.Rank() == 0 || differ(x.Sizes[x.Rank()-1], y.Sizes[max(y.Rank()-2, 0)]) {
		return bad()
	}
	batch, ok := batchSizes(x, y)
	if !ok {
		return bad()
	}
	if x.Rank() > 1 {
		batch = append(batch, x.Sizes[x.Rank()-2])
	}
	if y.Rank() > 1 {
		batch = append(batch, y.Sizes[y.Rank()-1])
	}
	return ir.TensorOf(x.DType, batch...), nil
}

// batchSizes returns the common sizes of the dimensions before the matrices.
func batchSizes(x, y ir.Type) ([]sym.Expr, bool) {
	lead := func(t ir.Type) ir.Type { return ir.Type{Sizes: t.Sizes[:max(t.Rank()-2, 0)]} }
	return Broadcast(lead(x), lead(y))
}

// matmul brings the product to one of dot, mv, mm and bmm.
func matmul(b *Builder, c *Call) *ir.Value {
	x, y, out := c.Value("self"), c.Value("other"), c.Outs[0]
	rx, ry := x.Type.Rank(), y.Type.Rank()
	k := x.Type.Sizes[rx-1]
	switch {
	case rx == 1 && ry == 1:
		return b.Op("aten.dot.default", x, y)
	case rx == 2 && ry == 1:
		return b.Op("aten.mv.default", x, y)
	case rx == 1 && ry == 2:
		return b.Op("aten.squeeze.dim", b.Op("aten.mm.default", b.Op("aten.unsqueeze.default",
			x, 0), y), 0)
	case rx == 2 && ry == 2:
		return b.Op("aten.mm.default", x, y)
	case ry <= 2: // rows of all batches are rows of one matrix
		x = b.Op("aten.reshape.default", x, []sym.Expr{sym.Mul(x.Type.Sizes[:rx-1]...), k})
		op := "aten.mm.default"
		if ry == 1 {
			op = "aten.mv.default"
		}
		return b.Op("aten.view.default", b.Op(op, x, y), out.Sizes)
	}
	batch, _ := batchSizes(x.Type, y.Type)
	if rx == 1 {
		x = b.Op("aten.unsqueeze.default", x, 0)
		rx = 2
	}
	flat := func(v *ir.Value) *ir.Value {
		n := v.Type.Rank()
		m := v.Type.Sizes[n-2:]
		if len(batch) == n-2 && len(batch) == 1 && v.Type.Sizes[0].Equal(batch[0]) {
			return v
		}
		v = b.Op("aten.expand.default", v, slices.Concat(batch, m))
		return b.Op("aten.reshape.default", v, slices.Concat([]sym.Expr{sym.Mul(batch...)}, m))
	}
	return b.Op("aten.view.default", b.Op("aten.bmm.default", flat(x), flat(y)), out.Sizes)
}

func addbmmType(c *Call) (ir.Type, error) {
	x, y := c.Tensor("batch1"), c.Tensor("batch2")
	if x.Rank() != 3 || y.Rank() != 3 || differ(x.Sizes[0], y.Sizes[0]) ||
		differ(x.Sizes[2], y.Sizes[1]) {
		return ir.Type{}, c.Errorf("%s do not multiply", describeSizes([]ir.Type{x, y}))
	}
	return ir.TensorOf(x.DType, x.Sizes[1], y.Sizes[2]), nil
}

// addbmm sums over batches too: it is a product with the batches side by side.
func addbmm(b *Builder, c *Call) *ir.Value {
	x, y := c.Value("batch1"), c.Value("batch2")
	s, u := x.Type.Sizes, y.Type.Sizes
	x = b.Op("aten.reshape.default", b.Op("aten.permute.default", x, []int{1, 0, 2}),
		[]sym.Expr{s[1], sym.Mul(s[0], s[2])})
	y = b.Op("aten.reshape.default", y, []sym.Expr{sym.Mul(u[0], u[1]), u[2]})
	return b.Op("aten.addmm.default", c.Value("self"), x, y, Kw("beta", c.Arg("beta")),
		Kw("alpha", c.Arg("alpha")))
}
