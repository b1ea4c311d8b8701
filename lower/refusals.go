package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
)

// assertOp asserts a condition on numbers.
const assertOp = "aten._assert_scalar.default"

// Refusals says assertions, of which the stock runtime has no kernel, in operators
// that it has kernels for: one that fills a tensor of the fixed size 1. It is asked for the
// size 1 where the condition holds and 0 where not. A kernel refuses to resize a tensor of
// fixed size, and the call of the method ends with that error.
var Refusals = Pass{
	Name: "refusals",
	Doc:  "say assertions by a tensor that cannot be resized",
	Run: perMethod(func(_ *Context, m *ir.Method) error {
		found := false
		m.Graph.Walk(func(g *ir.Graph) {
			found = found || slices.ContainsFunc(g.Nodes, isAssertion)
		})
		if !found {
			return nil
		}
		return (&ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if !isAssertion(n) {
				return nil, true, nil
			}
			cond := n.Args[0].Value
			if x, ok := assertedTensor(n); ok {
				cond = ir.Ref{Value: e.Emit("aten._local_scalar_dense.default", []ir.NamedArg{
					{Name: "self", Value: ir.Ref{Value: x}},
				}, ir.Type{Kind: ir.BoolKind}).Outputs[0]}
			}
			if b, ok := cond.(ir.BoolArg); ok && bool(b) {
				return nil, false, nil
			}
			size := e.Emit(primName("sym_ite"), choiceArgs(cond, ir.Int(1), ir.Int(0)),
				ir.Type{Kind: ir.IntKind}).Outputs[0]
			one := ir.StaticTensor(ir.Uint8, 1)
			room := e.Emit(allocOp, nil, one).Outputs[0]
			e.Emit("aten.full.out", []ir.NamedArg{
				{Name: "size", Value: ir.List{ir.Ref{Value: size}}}, {Name: "fill_value",
					Value: ir.Int(0)}, {Name: "out", Value: ir.Ref{Value: room}},
			}, one)
			return nil, false, nil
		}}).Run(m)
	}),
}
