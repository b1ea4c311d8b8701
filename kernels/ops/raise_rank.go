package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// rankOps give tensors at least so many dimensions.
func rankOps() []Op {
	var out []Op
	for n, name := range []string{"aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d"} {
		rank := n + 1
		sizes := func(t ir.Type) []sym.Expr { return raisedTo(t.Sizes, rank) }
		out = append(out,
			reshapes(name+"(Tensor self) -> Tensor", func(_ *Call, t ir.Type) ([]sym.Expr, error) {
				return sizes(t), nil
			}),
			Op{
				Schema: name + ".Sequence(Tensor[] tensors) -> Tensor[]",
				Infer: func(c *Call) ([]ir.Type, error) {
					var ts []ir.Type
					for _, t := range c.Tensors("tensors") {
						a, _ := must2(c.reshaped(t, sizes(t)))
						ts = append(ts, a.Type)
					}
					return ts, nil
				},
				Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
					return c.each("tensors", func(x *ir.Value) *ir.Value {
						return b.Op("aten.reshape.default", x, sizes(x.Type))
					})
				},
			})
	}
	return out
}

// raisedTo puts ones around sizes: a vector is a row, and a matrix has one
// element at each place of three dimensions.
func raisedTo(sizes []sym.Expr, rank int) []sym.Expr {
	one := sym.Int(1)
	out := slices.Clone(sizes)
	if len(out) == 0 {
		out = append(out, one)
	}
	if len(out) == 1 && rank > 1 {
		out = []sym.Expr{one, out[0]}
	}
	if len(out) == 2 && rank > 2 {
		out = append(out, one)
	}
	return out
}
