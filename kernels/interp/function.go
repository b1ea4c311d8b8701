package interp

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
)

// Tensors returns the results of c as expressions over its operands, a view as
// what it shows; nil if the operator has neither a view nor an expression.
func Tensors(c *ops.Call) ([]expr.Tensor, error) {
	if c.Op.View != nil {
		views, err := c.Op.View(c)
		if err != nil {
			return nil, err
		}
		if views != nil {
			return shown(c, views), nil
		}
	}
	if c.Op.Compute == nil {
		return nil, nil
	}
	return c.Op.Compute(c)
}

// shown returns what the views of c show.
func shown(c *ops.Call, views []ops.View) []expr.Tensor {
	var ts []expr.Tensor
	for i, v := range views {
		t := expr.Tensor{DType: c.Outs[i].DType}
		var coords []sym.Expr
		for d, s := range c.Outs[i].Sizes {
			x := sym.NewVar(fmt.Sprintf("i%d", d), s)
			t.Vars = append(t.Vars, x)
			coords = append(coords, x.Expr())
		}
		t.Body = c.LoadAt(v.Of, v.Map(coords)...)
		ts = append(ts, t)
	}
	return ts
}

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

// permuted returns xs in an order.
func permuted[T any](xs []T, order []int) []T {
	if order == nil {
		return xs
	}
	out := make([]T, len(xs))
	for i, d := range order {
		out[i] = xs[d]
	}
	return out
}

// Loops schedules expressions over the operands of c. Its buffers are the
// results, then the operands.
func Loops(c *ops.Call, ts []expr.Tensor, o Orders) (*loop.Func, error) {
	infos := make([]schedule.OperandInfo, len(c.Operands()))
	for k, v := range c.Operands() {
		infos[k] = schedule.OperandInfo{DType: v.Type.DType, Sizes: permuted(v.Type.Sizes,
			o.Operand(k))}
	}
	opts := schedule.Options{Interchange: 16}
	for _, v := range c.Scalars() {
		opts.Scalars = append(opts.Scalars, ops.ScalarDType(v.Type.Kind))
	}
	placed := make([]expr.Tensor, len(ts))
	for i, t := range ts {
		placed[i] = expr.Tensor{DType: t.DType, Vars: permuted(t.Vars, o.Out(i)),
			Body: expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
				if e.Op != expr.OpLoad || o.Operand(e.Buf) == nil {
					return e
				}
				x := *e
				x.Coords = permuted(e.Coords, o.Operand(e.Buf))
				return &x
			})}
	}
	return schedule.Build("kernel", placed, infos, opts)
}

// Decomposition returns the graph that c decomposes into, over the values
// that are its operands, and the values of its results.
func Decomposition(table *ops.Table, c *ops.Call) (g *ir.Graph, outs []*ir.Value, err error) {
	g, err = ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
		func(e *ir.Emitter) (_ []ir.Arg, err error) {
			outs, err = ops.NewBuilder(table, e).Decompose(c)
			return nil, err
		})
	return g, outs, err
}
