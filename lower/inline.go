package lower

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
)

// InlineWrappers replaces wrap_with_set_grad_enabled, wrap_with_autocast and
// with_effects by what they wrap. The casts that autocast makes are written
// out.
var InlineWrappers = Pass{
	Name: "inline-wrappers",
	Doc:  "inline regions that only switch gradients or autocast, and unwrap with_effects",
	Run: func(ctx *Context, p *ir.Program) error {
		return perMethod(func(ctx *Context, m *ir.Method) error {
			return inlineWrappers(ctx, p, m)
		})(ctx, p)
	},
}

func inlineWrappers(ctx *Context, p *ir.Program, m *ir.Method) error {
	a := &autocaster{table: ctx.Table, settled: map[*ir.Node]bool{}, retyped: map[*ir.Value]bool{}}
	a.warn = func(n *ir.Node, err error) { warnAt(p, m, n, err) }
	rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
		switch n.Op {
		case "higher_order.wrap_with_set_grad_enabled":
			return a.plain(e, n, operandsOf(n)[1:])
		case "higher_order.wrap_with_autocast":
			return a.inline(e, n)
		case "higher_order.with_effects":
			return unwrapEffects(e, n)
		}
		a.retype(n)
		return nil, true, nil
	}}
	if err := rw.Run(m); err != nil {
		return err
	}
	dropTokens(m)
	return nil
}

// dropTokens takes the tokens that only pass through from the signature.
func dropTokens(m *ir.Method) {
	uses := ir.Uses(m.Graph)
	passed := map[*ir.Value]bool{}
	for i := len(m.Outputs) - 1; i >= 0; i-- {
		ref, ok := m.Graph.Outputs[i].(ir.Ref)
		if m.Outputs[i].Kind != ir.TokenOutput || !ok || ref.Value.Def != nil ||
			uses[ref.Value] > 1 {
			continue
		}
		passed[ref.Value] = true
		m.Outputs = slices.Delete(m.Outputs, i, i+1)
		m.Graph.Outputs = slices.Delete(m.Graph.Outputs, i, i+1)
	}
	for i := len(m.Inputs) - 1; i >= 0; i-- {
		if m.Inputs[i].Kind == ir.TokenInput && passed[m.Graph.Inputs[i]] {
			m.Inputs = slices.Delete(m.Inputs, i, i+1)
			m.Graph.Inputs = slices.Delete(m.Graph.Inputs, i, i+1)
		}
	}
}

// operandsOf returns the operands of a control-flow node in order, lists
// flattened.
func operandsOf(n *ir.Node) []ir.Arg {
	var out []ir.Arg
	for _, a := range n.Args {
		if list, ok := a.Value.(ir.List); ok {
			out = append(out, list...)
		} else {
			out = append(out, a.Value)
		}
	}
	return out
}

// inlineRegion replaces n by region r, one of its own, with the region's
// inputs bound to operands.
func inlineRegion(e *ir.Emitter, n *ir.Node, r *ir.Graph,
	operands []ir.Arg) ([]*ir.Value, bool, error) {
	if len(operands) != len(r.Inputs) {
		return nil, false, fmt.Errorf("%d operands for a region with %d inputs", len(operands),
			len(r.Inputs))
	}
	for i, in := range r.Inputs {
		if err := passes(in, operands[i]); err != nil {
			return nil, false, err
		}
		e.SubstituteArg(in, operands[i])
	}
	r.Inputs = nil
	for i, out := range e.Inline(r, nil) {
		if v := n.Output(i); v != nil {
			if t, ok := argType(out); ok && sameSizes(v.Type, t) != nil {
				return nil, false, recordError(v.Name, v.Type, t)
			}
			e.SubstituteArg(v, out)
		}
	}
	return nil, false, nil
}

// unwrapEffects replaces with_effects(token, op, arguments…) by op itself: a
// graph's order is the order of effects.
func unwrapEffects(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
	if len(n.Args) < 2 {
		return nil, false, fmt.Errorf("it has %d operands, want a token and an operator",
			len(n.Args))
	}
	op, ok := n.Args[1].Value.(ir.OpArg)
	token, isRef := n.Args[0].Value.(ir.Ref)
	if !ok || !isRef || len(n.Outputs) == 0 {
		return nil, false, fmt.Errorf("its operands are no token and operator")
	}
	if first := n.Outputs[0]; first != nil {
		e.Substitute(first, token.Value)
	}
	n.Op, n.Args, n.Outputs = string(op), n.Args[2:], n.Outputs[1:]
	e.Append(n)
	return nil, false, nil
}
