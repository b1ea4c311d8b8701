package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// DecomposeToStock is Decompose for the stock runtime. Of assertions it keeps those that
// Refusals can say, and drops those that hold by types and ranges.
var DecomposeToStock = Pass{
	Name: "decompose-to-stock",
	Doc:  "replace operators that ExecuTorch has no kernel for by simpler ones; drop assertions about types",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		drop := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if x, ok := assertedTensor(n); ok && x.Type.DType != ir.Bool {
				b := ops.NewBuilder(ctx.Table, e)
				return nil, true, b.Do(func() error {
					truth := b.Op("aten.ne.Scalar", x, 0)
					n.Args[0].Value = ir.Ref{Value: truth}
					return nil
				})
			}
			op, ok := ctx.Table.Lookup(n.Op)
			return nil, isAssertion(n) || !(ok && op.Effect && len(n.Regions) == 0), nil
		}}
		if err := drop.Run(m); err != nil {
			return err
		}
		return decomposeAll(ctx.Table, m, func(c *ops.Call) bool { return !IsStock(c.Op) })
	}),
}

// isAssertion reports whether n is an assertion that Refusals says.
func isAssertion(n *ir.Node) bool {
	_, ok := assertedTensor(n)
	return ok || n.Op == assertOp
}

// assertedTensor returns the tensor whose one element n asserts to be true.
func assertedTensor(n *ir.Node) (*ir.Value, bool) {
	switch n.Op {
	case "aten._assert_async.msg", "aten._assert_async.default", ops.AssertIndex:
		ref, ok := n.Args[0].Value.(ir.Ref)
		return ref.Value, ok && ref.Value.Type.Kind == ir.TensorKind
	}
	return nil, false
}
