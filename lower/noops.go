package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// RemoveNoOps drops nodes that change nothing: views whose elements are all
// where they were, computations that give their operand element by element
// (copies, casts to the same dtype, dropout in evaluation, x*1), and
// assertions that certainly hold. It goes by what the operator's definition
// amounts to, not by its name. The program must be functional.
var RemoveNoOps = Pass{
	Name: "remove-noops",
	Doc:  "drop views, copies and assertions that do nothing",
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		return func(_ *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			c, err := ctx.Table.Bind(n)
			if err != nil || len(n.Regions) > 0 {
				return nil, true, nil // not ours to report
			}
			if c.Op.Effect {
				return nil, !holds(c), nil
			}
			if v := n.Output(0); len(n.Outputs) == 1 && v != nil {
				if k, ok := copies(c); ok && c.Operands()[k].Type.Equal(v.Type) {
					return []*ir.Value{c.Operands()[k]}, false, nil
				}
			}
			return nil, true, nil
		}
	}),
}

// holds reports whether an assertion certainly holds.
func holds(c *ops.Call) bool {
	if c.Op.ScalarOp == nil {
		return false
	}
	e, err := c.Op.ScalarOp(c)
	if err != nil {
		return false
	}
	e = expr.Simplify(e)
	return e.Op == expr.OpConst && e.Int != 0
}

// copies returns the operand that the only result of c is a copy of.
func copies(c *ops.Call) (operand int, ok bool) {
	if len(c.Outs) != 1 || c.Outs[0].Kind != ir.TensorKind {
		return 0, false
	}
	sizes := c.Outs[0].Sizes
	operand, from, vars, ok := reads(c)
	if !ok {
		return 0, false
	}
	t := c.Operands()[operand].Type
	if t.DType != c.Outs[0].DType || !sym.AllEqual(t.Sizes, sizes) {
		return 0, false
	}
	for d, x := range from {
		if !x.Equal(vars[d]) && !sizes[d].Is(1) {
			return 0, false
		}
	}
	return operand, true
}

// computes reports whether e certainly is no load however it is simplified: it
// adds up elements, or takes the sum or product of two things that are no constants.
// To simplify the expression of a convolution takes much longer.
func computes(e *expr.Expr) bool {
	switch e.Op {
	case expr.OpReduce:
		return slices.ContainsFunc(e.Vars, func(v *sym.Symbol) bool {
			n, ok := expr.Extent(v).Const()
			return ok && n > 1
		})
	case expr.OpCast:
		return computes(e.Args[0])
	case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpDiv:
		return e.DType.IsFloat() && !slices.ContainsFunc(e.Args, func(a *expr.Expr) bool {
			return a.Op != expr.OpLoad && !computes(a)
		})
	}
	return false
}

// reads tells, if every element of the only result of c is one element of one
// operand, which operand that is and where: from are coordinates in the
// operand in terms of vars, the coordinates in the result.
func reads(c *ops.Call) (operand int, from, vars []sym.Expr, ok bool) {
	if c.Op.View != nil {
		views, err := c.Op.View(c)
		if err == nil && len(views) == 1 {
			_, vars = newVars(c.Outs[0].Sizes)
			return views[0].Of, views[0].Map(vars), vars, true
		}
		if err != nil || len(views) > 0 {
			return 0, nil, nil, false
		}
	}
	if c.Op.Compute == nil {
		return 0, nil, nil, false
	}
	ts, err := c.Op.Compute(c)
	if err != nil || len(ts) != 1 {
		return 0, nil, nil, false
	}
	if computes(ts[0].Body) {
		return 0, nil, nil, false
	}
	body := expr.Simplify(ts[0].Body)
	if body.Op != expr.OpLoad {
		return 0, nil, nil, false
	}
	for _, v := range ts[0].Vars {
		vars = append(vars, v.Expr())
	}
	return body.Buf, body.Coords, vars, true
}
