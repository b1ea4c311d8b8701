package portable

import (
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// Kernels returns what gives micro-kernels for calls of constant sizes, for
// [interp.Interpreter.Kernel]: nil if none accepts a call. What they compute may differ from the
// definition by rounding.
func Kernels() func(c *ops.Call, constant func(operand int) ([]byte, bool)) interp.Kernel {
	k := &kernel{table: ops.Standard(), handMade: tuned.Standard(), reserve: unlimited,
		cache: &cache{programs: map[string]*program{}}}
	return func(c *ops.Call, constant func(operand int) ([]byte, bool)) interp.Kernel {
		for _, v := range c.Operands() {
			if _, known := v.Type.StaticSizes(); !known {
				return nil
			}
		}
		if len(c.Outs) != 1 || len(c.Scalars()) > 0 {
			return nil
		}
		var run code
		err := must.Try(func() {
			if in, want := k.handMadeFor(c, constant); in != nil {
				run = k.inOrder(c, interp.Orders{}, want, k.newTuned(c, in))
			}
		})
		if err != nil || run == nil {
			return nil
		}
		return run.run
	}
}
