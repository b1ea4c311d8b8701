package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// Delegable brings a program into the form of which backends take parts: what ExecuTorch's
// partitioners see. It is ToEdge with dense tensors, row-major but for user inputs if inside is
// set, in which the calls stay whole that keeps tells, and so do those of whose results data
// decides a size, which no backend takes, and what dequantizes weights.
func Delegable(keeps func(*ops.Call) bool, inside bool) Pipeline {
	dense := Dense
	if inside {
		dense = DenseInside
	}
	return Functional.with(
		FoldBatchNorm,
		CheckSizes,
		Pass{
			Name: "decompose-to-edge",
			Doc:  "replace operators that are not of Core ATen, but for those that stay whole",
			Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
				decomposeAll(ctx.Table, m, func(c *ops.Call) bool {
					return !IsCore(c.Op) && !keeps(c) && len(c.Counts()) == 0
				})
			}),
		},
		DefineSizes,
		dense,
		RemoveNoOps,
		foldUnquantized(instructionBytes),
		CommonSubexpressions,
		DeadCode,
	)
}
