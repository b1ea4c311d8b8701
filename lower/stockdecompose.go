package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// DecomposeToStock is Decompose for the stock runtime whatever Context.Keep
// says. Of assertions it keeps those about numbers, which Refusals can say, and
// drops those about elements and ranges of tensors.
var DecomposeToStock = Pass{
	Name: "decompose-to-stock",
	Doc:  "replace operators that ExecuTorch has no kernel for by simpler ones; drop assertions about tensors",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		drop := &ir.Rewriter{Visit: func(_ *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			op, ok := ctx.Table.Lookup(n.Op)
			return nil, n.Op == assertOp || !(ok && op.Effect && len(n.Regions) == 0), nil
		}}
		if err := drop.Run(m); err != nil {
			return err
		}
		if err := decompose(ctx.Table, m, func(c *ops.Call) bool { return !IsStock(c.Op) }); err !=
			nil {
			return err
		}
		return unsupported(ctx.Table, m)
	}),
}
