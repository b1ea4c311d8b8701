package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// combineOps make one tensor of several, in patterns.
func combineOps() []Op {
	return []Op{
		derived("aten::column_stack(Tensor[] tensors) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				columns, err := c.each("tensors", func(x *ir.Value) *ir.Value {
					if x.Type.Rank() > 1 {
						return x
					}
					return b.Op("aten.reshape.default", x, []sym.Expr{x.Type.Numel(), sym.Int(1)})
				})
				return b.Op("aten.cat.default", columns, 1), err
			}),
		derived("aten::block_diag(Tensor[] tensors) -> Tensor", blockDiag),
		derived("aten::cartesian_prod(Tensor[] tensors) -> Tensor", cartesianProduct),
		{
			Schema: "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
			Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
				sizes, ok := Broadcast(c.Tensors("tensors")...)
				if !ok {
					return nil, c.Errorf("%s do not broadcast", describeSizes(c.Tensors("tensors")))
				}
				return c.each("tensors", func(x *ir.Value) *ir.Value {
					return b.Op("aten.expand.default", x, sizes)
				})
			},
		},
		derived("aten::kron(Tensor self, Tensor other) -> Tensor", kron),
		derived("aten::trace(Tensor self) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			if c.Tensor("self").Rank() != 2 {
				return nil, c.Errorf("the trace of a tensor with %d dimensions",
					c.Tensor("self").Rank())
			}
			return b.Op("aten.sum.default", b.Op("aten.diagonal.default", c.Value("self"))), nil
		}),
		derived("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", tensorDot),
	}
}

// each applies f to the tensors of a list.
func (c *Call) each(name string, f func(*ir.Value) *ir.Value) ([]*ir.Value, error) {
	n := len(c.Tensors(name))
	if n == 0 {
		return nil, c.Errorf("no tensors")
	}
	out := make([]*ir.Value, n)
	for i := range out {
		out[i] = f(c.operands[c.Operand(name)+i])
	}
	return out, nil
}

// cartesianProduct has the elements of one vector in each column, the last
// changing fastest.
func cartesianProduct(b *Builder, c *Call) (*ir.Value, error) {
	var sizes []sym.Expr
	for _, t := range c.Tensors("tensors") {
		if t.Rank() != 1 {
			return nil, c.Errorf("a tensor with %d dimensions", t.Rank())
		}
		sizes = append(sizes, t.Sizes[0])
	}
	i := -1
	columns := must(c.each("tensors", func(x *ir.Value) *ir.Value {
		i++
		shape := slices.Repeat([]sym.Expr{sym.Int(1)}, len(sizes))
		shape[i] = sizes[i]
		x = b.Op("aten.expand.default", b.Op("aten.reshape.default", x, shape), sizes)
		return b.Op("aten.reshape.default", x, []int{-1})
	}))
	if len(columns) == 1 {
		return columns[0], nil
	}
	return b.Op("aten.stack.default", columns, 1), nil
}

// blockDiag pads each block to the width of the result and puts them below each
// other.
func blockDiag(b *Builder, c *Call) (*ir.Value, error) {
	var types []ir.Type
	blocks := must(c.each("tensors", func(x *ir.Value) *ir.Value {
		if r := x.Type.Rank(); r < 2 {
			x = b.Op("aten.reshape.default", x, []sym.Expr{sym.Int(1), x.Type.Numel()})
		}
		types = append(types, x.Type)
		return x
	}))
	width := sym.Int(0)
	d := must(c.Promote("tensors"))
	for _, t := range types {
		if t.Rank() != 2 {
			return nil, c.Errorf("a block with %d dimensions", t.Rank())
		}
		width = sym.Add(width, t.Sizes[1])
	}
	left := sym.Int(0)
	for i, x := range blocks {
		next := sym.Add(left, types[i].Sizes[1])
		blocks[i] = b.Op("aten.constant_pad_nd.default", b.cast(x, d),
			[]sym.Expr{left, sym.Sub(width, next)}, 0)
		left = next
	}
	return b.Op("aten.cat.default", blocks, 0), nil
}

// kron multiplies every element of one with every one of the other, their
// dimensions interleaved.
func kron(b *Builder, c *Call) (*ir.Value, error) {
	x, y := c.Value("self"), c.Value("other")
	n := max(x.Type.Rank(), y.Type.Rank())
	spread := func(v *ir.Value, first bool) (*ir.Value, []sym.Expr) {
		sizes := slices.Concat(slices.Repeat([]sym.Expr{sym.Int(1)}, n-v.Type.Rank()), v.Type.Sizes)
		var shape []sym.Expr
		for _, s := range sizes {
			if first {
				shape = append(shape, s, sym.Int(1))
			} else {
				shape = append(shape, sym.Int(1), s)
			}
		}
		return b.Op("aten.reshape.default", v, shape), sizes
	}
	u, a := spread(x, true)
	v, o := spread(y, false)
	sizes := make([]sym.Expr, n)
	for i := range sizes {
		sizes[i] = sym.Mul(a[i], o[i])
	}
	return b.Op("aten.reshape.default", b.mul(u, v), sizes), nil
}

// tensorDot is a matrix product of the dimensions that stay by those that are
// summed over.
func tensorDot(b *Builder, c *Call) (*ir.Value, error) {
	side := func(tensor, dims string) (x *ir.Value, keep, sum []int, err error) {
		x = c.Value(tensor)
		ds := must(c.Ints(dims))
		for _, d := range ds {
			if d < 0 {
				d += int64(x.Type.Rank())
			}
			if d < 0 || d >= int64(x.Type.Rank()) || slices.Contains(sum, int(d)) {
				return x, nil, nil, c.Errorf("dimension %d of a tensor with %d", d, x.Type.Rank())
			}
			sum = append(sum, int(d))
		}
		for d := range x.Type.Rank() {
			if !slices.Contains(sum, d) {
				keep = append(keep, d)
			}
		}
		return
	}
	x, keepX, sumX := must3(side("self", "dims_self"))
	y, keepY, sumY := must3(side("other", "dims_other"))
	if len(sumX) != len(sumY) {
		return nil, c.Errorf("%d and %d dimensions to sum over", len(sumX), len(sumY))
	}
	of := func(t ir.Type, dims []int) []sym.Expr {
		out := make([]sym.Expr, len(dims))
		for i, d := range dims {
			out[i] = t.Sizes[d]
		}
		return out
	}
	for i := range sumX {
		if differ(x.Type.Sizes[sumX[i]], y.Type.Sizes[sumY[i]]) {
			return nil, c.Errorf("%s do not multiply", describeSizes([]ir.Type{x.Type, y.Type}))
		}
	}
	rows, k, columns := of(x.Type, keepX), sym.Mul(of(x.Type, sumX)...), of(y.Type, keepY)
	left := b.Op("aten.reshape.default", b.Op("aten.permute.default", x, slices.Concat(keepX,
		sumX)), []sym.Expr{sym.Mul(rows...), k})
	right := b.Op("aten.reshape.default", b.Op("aten.permute.default", y,
		slices.Concat(sumY, keepY)), []sym.Expr{k, sym.Mul(columns...)})
	return b.Op("aten.reshape.default", b.Op("aten.mm.default", left, right),
		slices.Concat(rows, columns)), nil
}
