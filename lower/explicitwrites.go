package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// ExplicitWrites replaces operators that write to arguments beside giving
// results, as batch norm does in training, by functional ones and copy_.
var ExplicitWrites = Pass{
	Name: "explicit-writes",
	Doc:  "write statistics that operators keep beside their results with copy_",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		return (&ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			op, ok := ctx.Table.Lookup(n.Op)
			if !ok || op.Writes == nil {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, false, err
			}
			var vs []*ir.Value
			b := ops.NewBuilder(ctx.Table, e)
			err = b.Do(func() (err error) {
				vs, err = op.Writes(b, c)
				return err
			})
			return vs, vs == nil, err
		}}).Run(m)
	}),
}
