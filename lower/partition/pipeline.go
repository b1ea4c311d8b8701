package partition

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Pipeline returns the pipeline then, with the passes before it that give parts of the program to
// backends. The report, which may be nil, becomes what went where.
func Pipeline(uses []*Use, report *Report, then lower.Pipeline) lower.Pipeline {
	first := lower.Delegable(keeps(uses), then.To == ir.ExecuTorch)
	passes := first.Passes
	for _, use := range uses {
		if t, ok := use.Backend.(Transformer); ok {
			passes = slices.Concat(passes, t.Passes())
		}
	}
	// Every pipeline begins with the passes to functional; the program is functional.
	rest := then.Passes[len(lower.Functional.Passes):]
	return lower.Pipeline{From: first.From, To: then.To,
		Passes: slices.Concat(passes, []lower.Pass{Partition(uses, report)}, rest)}
}

// keeps tells which calls a backend takes whole.
func keeps(uses []*Use) func(*ops.Call) bool {
	return func(c *ops.Call) bool {
		return slices.ContainsFunc(uses, func(u *Use) bool {
			k, ok := u.Backend.(Keeper)
			return ok && k.Keeps(c)
		})
	}
}
