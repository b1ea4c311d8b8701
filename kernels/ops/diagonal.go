package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// spread is an entry whose result holds self's elements where from finds one,
// and 0 elsewhere.
func spread(schema string, typ func(*Call) (ir.Type, error),
	from func(c *Call, at []sym.Expr) ([]sym.Expr, *expr.Expr, error)) Op {
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(typ(c)) },
		Compute: func(c *Call) ([]expr.Tensor, error) {
			d := c.Outs[0].DType
			vars, at := indexVars(c.Outs[0].Sizes)
			in, guard := must2(from(c, at))
			x := expr.Select(guard, c.Load("self", in...), expr.Num(d, 0))
			return []expr.Tensor{{DType: d, Vars: vars, Body: x}}, nil
		},
	}
}

// idxEq returns a == b.
func idxEq(a, b sym.Expr) *expr.Expr { return expr.And(expr.IdxLe(a, b), expr.IdxLe(b, a)) }

// diagEmbedArgs returns the offset and the two dimensions of the result.
func diagEmbedArgs(c *Call) (offset int64, d1, d2 int, err error) {
	n := c.Tensor("self").Rank() + 1
	if n < 2 {
		err = c.Errorf("a tensor without dimensions")
		return
	}
	if offset, err = c.Int("offset"); err != nil {
		return
	}
	if d1, err = c.dim("dim1", n); err != nil {
		return
	}
	if d2, err = c.dim("dim2", n); err == nil && d1 == d2 {
		err = c.Errorf("both dimensions are %d", d1)
	}
	return
}

// diagonalOps put tensors on diagonals and take them off.
func diagonalOps() []Op {
	return []Op{
		spread("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
			func(c *Call) (ir.Type, error) {
				t := c.Tensor("self")
				offset, d1, d2 := must3(diagEmbedArgs(c))
				n := sym.Add(t.Sizes[t.Rank()-1], sym.Int(max(offset, -offset)))
				sizes := slices.Clone(t.Sizes[:t.Rank()-1])
				for _, d := range []int{min(d1, d2), max(d1, d2)} {
					sizes = slices.Insert(sizes, d, n)
				}
				return ir.TensorOf(t.DType, sizes...), nil
			}, func(c *Call, at []sym.Expr) ([]sym.Expr, *expr.Expr, error) {
				offset, d1, d2 := must3(diagEmbedArgs(c))
				var in []sym.Expr
				for d, x := range at {
					if d != d1 && d != d2 {
						in = append(in, x)
					}
				}
				k := sym.Sub(at[d1], sym.Int(max(-offset, 0)))
				guard := expr.And(idxEq(k, sym.Sub(at[d2], sym.Int(max(offset, 0)))),
					expr.IdxLe(sym.Int(0), k))
				return append(in, k), guard, nil
			}).core(diagEmbedCore),
		composite("aten::diag(Tensor self, int diagonal=0) -> Tensor",
			func(c *Call) (ir.Type, error) {
				t := c.Tensor("self")
				k, err := c.Int("diagonal")
				switch {
				case err != nil:
					return t, err
				case t.Rank() == 1:
					n := sym.Add(t.Sizes[0], sym.Int(max(k, -k)))
					return ir.TensorOf(t.DType, n, n), nil
				case t.Rank() == 2:
					return diagonalOf(t, k, 0, 1).Dense(), nil
				}
				return t, c.Errorf("a tensor with %d dimensions", t.Rank())
			}, func(b *Builder, c *Call) *ir.Value {
				if c.Tensor("self").Rank() == 1 {
					return b.Op("aten.diag_embed.default", c.Value("self"), c.Arg("diagonal"))
				}
				return b.Op("aten.diagonal_copy.default", c.Value("self"), c.Arg("diagonal"))
			}),
		composite("aten::diagflat(Tensor self, int offset=0) -> Tensor",
			func(c *Call) (ir.Type, error) {
				t := c.Tensor("self")
				k, err := c.Int("offset")
				n := sym.Add(t.Numel(), sym.Int(max(k, -k)))
				return ir.TensorOf(t.DType, n, n), err
			}, func(b *Builder, c *Call) *ir.Value {
				return b.Op("aten.diag_embed.default", b.Op("aten.reshape.default", c.Value("self"),
					[]int{-1}), c.Arg("offset"))
			}),
	}
}
