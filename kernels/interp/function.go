package interp

import (
	"slices"

	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
)

// Orders are the orders in which tensors of a call have their dimensions in
// memory, outermost first: 0, 2, 3, 1 for channels last. A nil one, or a nil
// list, is row-major.
type Orders struct{ Outs, Operands [][]int }

// Out returns the order of result i.
func (o Orders) Out(i int) []int { return nth(o.Outs, i) }

// Operand returns the order of operand k.
func (o Orders) Operand(k int) []int { return nth(o.Operands, k) }

func nth(list [][]int, i int) []int {
	if list == nil {
		return nil
	}
	return list[i]
}

// Loops schedules expressions over the operands of c. Its buffers are the
// results, then the operands.
func Loops(c *ops.Call, ts []expr.Tensor, o Orders) (*loop.Func, error) {
	infos := make([]schedule.OperandInfo, len(c.Operands()))
	for k, v := range c.Operands() {
		infos[k] = schedule.OperandInfo{DType: v.Type.DType, Sizes: v.Type.Sizes,
			Order: o.Operand(k)}
	}
	opts := schedule.Options{Interchange: 16}
	for _, v := range c.Scalars() {
		opts.Scalars = append(opts.Scalars, ops.ScalarDType(v.Type.Kind))
	}
	placed := slices.Clone(ts)
	for i, t := range ts {
		placed[i].Vars = schedule.InOrder(o.Out(i), t.Vars)
	}
	return schedule.Build("kernel", placed, infos, opts)
}
