package lower

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
)

// out_variants.txt has a line for every functional ATen operator that has an
// out variant: its name, the variant's, and the variant's out arguments in the
// order of the results. It follows from PyTorch's schemas: the variant takes
// the same arguments and the tensors to write.
//
//go:embed out_variants.txt
var outVariantsText string

// outVariant is an operator that writes its results into tensors it is given.
type outVariant struct {
	op   string
	outs []string // names of its out arguments
}

var outVariantTable = sync.OnceValue(func() map[string]outVariant {
	table := map[string]outVariant{}
	for line := range strings.Lines(outVariantsText) {
		if f := strings.Fields(line); len(f) > 2 {
			table[f[0]] = outVariant{op: f[1], outs: f[2:]}
		}
	}
	return table
})

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
			v, ok := outVariantTable()[n.Op]
			if !ok {
				return nil, true, nil
			}
			if len(v.outs) != len(n.Outputs) {
				return nil, false, fmt.Errorf("it has %d results, %s writes %d", len(n.Outputs), v.op, len(v.outs))
			}
			args := n.Args
			types := make([]ir.Type, len(n.Outputs))
			for i, out := range n.Outputs {
				if out == nil {
					return nil, true, nil
				}
				types[i] = out.Type
				room := e.Emit(allocOp, nil, out.Type).Outputs[0]
				args = append(args[:len(args):len(args)], ir.NamedArg{Name: v.outs[i], Value: ir.Ref{Value: room}})
			}
			return e.Emit(v.op, args, types...).Outputs, false, nil
		}
	}),
}
