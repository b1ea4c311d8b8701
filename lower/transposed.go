package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// ReadTransposed makes a product with a transposed matrix a linear layer, which
// reads the matrix as it is: weights that something else needs too are then
// packed, or read by columns, without a copy in memory. Tensors must be dense.
var ReadTransposed = Pass{
	Name: "read-transposed",
	Doc:  "make products with transposed matrices linear layers, which read them as they are",
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		s := &simplifier{table: ctx.Table}
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if n.Op != "aten.mm.default" && n.Op != "aten.addmm.default" || n.Output(0) == nil {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, true, nil
			}
			v, err := s.transposed(ops.NewBuilder(ctx.Table, e), n, c)
			if err != nil || v == nil {
				return nil, err == nil, err
			}
			v.Type = n.Outputs[0].Type
			return []*ir.Value{v}, false, nil
		}
	}),
}

// transposed returns what may stand for n's result, nil if the matrix is not
// transposed or what is added is no row.
func (s *simplifier) transposed(b *ops.Builder, n *ir.Node, c *ops.Call) (*ir.Value, error) {
	x, bias := "self", ""
	if n.Op == "aten.addmm.default" {
		x, bias = "mat1", "self"
	}
	w, p := view(s.definition(c.Value("mat2")))
	if p == nil || w.Type.DType != c.Outs[0].DType {
		return nil, nil
	}
	if perm, ok := p.permuted(); !ok || len(perm) != 2 || perm[0] != 1 {
		return nil, nil
	}
	args := []any{c.Value(x), w}
	if bias != "" {
		v := c.Value(bias)
		if !one(c, "alpha") || !one(c, "beta") || v.Type.DType != w.Type.DType ||
			!sym.AllEqual(v.Type.Sizes, []sym.Expr{w.Type.Sizes[0]}) {
			return nil, nil
		}
		args = append(args, v)
	}
	return call(b, "aten.linear.default", args...)
}

// one reports whether a number is 1.
func one(c *ops.Call, name string) bool {
	x, err := c.Float(name)
	return err == nil && x == 1
}
