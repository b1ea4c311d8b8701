package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// allocOp makes an uninitialised tensor of its result's type, which a planner
// gives its place.
const allocOp = "memory.alloc"

// OutVariants replaces every operator that has an out variant by it, writing
// to freshly allocated tensors. Operators without one (views, numbers, control
// flow) stay. It comes last: no other pass knows out arguments.
var OutVariants = Pass{
	Name: "out-variants",
	Doc:  "operators write to tensors allocated before them",
	Run: perNode(func(*Context, *ir.Method) visitor {
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			v, ok := aten.OutOf(n.Op)
			if !ok {
				return nil, true, nil
			}
			if len(v.Outs) != len(n.Outputs) {
				return nil, false, fmt.Errorf("it has %d results, %s writes %d", len(n.Outputs), v.Name, len(v.Outs))
			}
			args := n.Args
			types := make([]ir.Type, len(n.Outputs))
			for i, out := range n.Outputs {
				if out == nil {
					return nil, true, nil
				}
				types[i] = out.Type
				room := e.Emit(allocOp, nil, out.Type).Outputs[0]
				args = append(args[:len(args):len(args)], ir.NamedArg{Name: v.Outs[i], Value: ir.Ref{Value: room}})
			}
			return e.Emit(v.Name, args, types...).Outputs, false, nil
		}
	}),
}
