package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// allocOp makes an uninitialised tensor of its result's type, which a planner
// gives its place.
const allocOp = "memory.alloc"

// viewCopyOp gives its operand's elements in another shape. It stays as it is:
// the result may be the operand's memory.
const viewCopyOp = "aten.view_copy.default"

// OutVariants replaces every operator that has an out variant by it, writing
// to freshly allocated tensors: one for each result, in a list where the
// operator returns a list. Results that nobody uses have their tensors too.
// Operators without an out variant (views, numbers, control flow) stay. It
// comes last: no other pass knows out arguments.
var OutVariants = Pass{
	Name: "out-variants",
	Doc:  "operators write to tensors allocated before them",
	Run: perNode(func(ctx *Context, _ *ir.Method) visitor {
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			v, ok := aten.OutOf(n.Op)
			if !ok || n.Op == viewCopyOp {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, false, err
			}
			functional := c.Op.ParsedSchema()
			returnsList := len(functional.Returns) == 1 && functional.Returns[0].Type.IsList()
			if !returnsList && len(v.Outs) != len(n.Outputs) {
				return nil, false, fmt.Errorf("it has %d results, %s writes %d", len(n.Outputs),
					v.Name, len(v.Outs))
			}
			var args []ir.NamedArg
			for _, p := range v.Schema(functional).Args[:len(v.Schema(functional).Args)-len(
				v.Outs)] {
				args = append(args, ir.NamedArg{Name: p.Name, Value: c.Arg(p.Name)})
			}
			types := make([]ir.Type, len(c.Outs))
			rooms := make(ir.List, len(c.Outs))
			for i, t := range c.Outs {
				if out := n.Output(i); out != nil {
					t = out.Type
				}
				types[i] = t
				rooms[i] = ir.Ref{Value: e.Emit(allocOp, nil, t).Outputs[0]}
			}
			if returnsList {
				args = append(args, ir.NamedArg{Name: v.Outs[0], Value: rooms})
			} else {
				for i, name := range v.Outs {
					args = append(args, ir.NamedArg{Name: name, Value: rooms[i]})
				}
			}
			return e.Emit(v.Name, args, types...).Outputs, false, nil
		}
	}),
}
