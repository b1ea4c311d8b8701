// Package schedule turns tensor expressions into loops: it decides the order of
// loops, where reductions and shared values are computed, and what is hoisted.
package schedule

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// OperandInfo describes a tensor operand: dense, its dimensions in Order in memory,
// outermost first, row-major if that is nil.
type OperandInfo struct {
	DType ir.DType
	Sizes []sym.Expr
	Order []int
}

// InOrder returns list, which has an item for each dimension, in an order of them.
func InOrder[T any](order []int, list []T) []T {
	if order == nil {
		return list
	}
	out := make([]T, len(list))
	for i, d := range order {
		out[i] = list[d]
	}
	return out
}

// Options tunes Build.
type Options struct {
	// Scalars are the dtypes of the run-time scalar operands.
	Scalars []ir.DType
	// Lanes, if over 1, splits sums and extrema of floats along memory into that
	// many independent accumulators. It changes the order of additions.
	Lanes int
	// Interchange, if over 0, is the fewest results side by side whose
	// reductions run together, row by row, in scratch memory, if their loads
	// lie side by side too. It changes no result.
	Interchange int
}

// Build returns a function that computes outs from the operands. Its buffers
// are the outputs in order, dense and row-major, then the operands, then
// scratch memory.
// Outputs of equal sizes are computed in one nest of loops, others in one nest
// after the other. Every value is computed at the outermost loop where what it
// depends on is known, and once, but nothing is moved out of the arms of a
// Select that may not be evaluated without.
func Build(name string, outs []expr.Tensor, operands []OperandInfo,
	opts Options) (*loop.Func, error) {
	f := &loop.Func{Name: name}
	for i, t := range outs {
		if t.Body.DType != t.DType {
			return nil, fmt.Errorf("%s: output %d is %s, its expression %s", name, i, t.DType,
				t.Body.DType)
		}
		f.Bufs = append(f.Bufs, loop.Buf{Name: numbered("out", i, len(outs)), DType: t.DType,
			Role: loop.Out, Len: sym.Mul(expr.Extents(t.Vars)...)})
	}
	for i, o := range operands {
		f.Bufs = append(f.Bufs, loop.Buf{Name: numbered("in", i, len(operands)), DType: o.DType,
			Role: loop.In, Len: sym.Mul(o.Sizes...)})
	}
	for i, d := range opts.Scalars {
		f.Scalars = append(f.Scalars, &expr.Var{Name: numbered("scalar", i, len(opts.Scalars)),
			DType: d})
	}
	nests, err := flatten(outs, operands, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := newScheduler(f, opts)
	f.Body = s.run(nests)
	longSums(f)
	lanes(f, opts.Lanes)
	rename(f)
	serializeScratch(f)
	if interchange(f, opts.Interchange) {
		serializeScratch(f)
		relabel(f)
	}
	if opts.Interchange > 0 && tabulate(f) {
		relabel(f)
	}
	if opts.Lanes > 1 {
		keepRolled(f, opts.Lanes)
	}
	return f, nil
}

func numbered(base string, i, n int) string {
	if n == 1 {
		return base
	}
	return fmt.Sprintf("%s%d", base, i)
}
