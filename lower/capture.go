package lower

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
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

// Capture makes regions read the values around them directly. Afterwards
//
//   - cond has one operand, the predicate, a Bool tensor; its regions have no
//     inputs;
//   - while_loop has one operand, the list of carried tensors; its regions'
//     inputs are the carried values;
//   - scan has the arguments init, xs (lists) and reverse; its region's inputs
//     are the carried values and one slice of each of xs along dimension 0.
//     map_impl becomes a scan that carries nothing.
//
// A cond whose predicate is a literal becomes the region it chooses.
var Capture = Pass{
	Name: "capture",
	Doc:  "regions read outer values directly; cond, while_loop, scan and map in one normal form",
	Run: perNode(func(ctx *Context, _ *ir.Method) visitor {
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			b := ops.NewBuilder(ctx.Table, e)
			switch n.Op {
			case "higher_order.cond":
				return captureCond(b, n)
			case "higher_order.while_loop":
				return captureWhile(b, n)
			case "higher_order.scan":
				return captureScan(b, n)
			case "higher_order.map_impl":
				return captureMap(b, n)
			}
			return nil, true, nil
		}
	}),
}

// captureInputs makes region r read operands where it read its inputs from
// first to first+len(operands), which it loses.
func captureInputs(e *ir.Emitter, r *ir.Graph, first int, operands []ir.Arg) error {
	if len(r.Inputs) < first+len(operands) {
		return fmt.Errorf("a region has %d inputs, want at least %d", len(r.Inputs),
			first+len(operands))
	}
	for i, a := range operands {
		e.SubstituteArg(r.Inputs[first+i], a)
	}
	r.Inputs = append(r.Inputs[:first:first], r.Inputs[first+len(operands):]...)
	return nil
}

// put leaves n, whose operands changed, in the graph.
func put(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	b.Append(n)
	return nil, false, nil
}

func captureCond(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	if len(n.Args) == 0 || len(n.Regions) != 2 {
		return nil, false, fmt.Errorf("it has %d operands and %d regions", len(n.Args),
			len(n.Regions))
	}
	operands := operandsOf(n)[1:]
	pred := n.Args[0].Value
	switch p := pred.(type) {
	case ir.BoolArg:
		chosen := n.Regions[1]
		if p {
			chosen = n.Regions[0]
		}
		return inlineRegion(b.Emitter, n, chosen, operands)
	case ir.Ref:
		if p.Value.Type.Kind != ir.TensorKind {
			vs, err := b.Call("aten.scalar_tensor.default", p.Value, ops.Kw("dtype", ir.Bool))
			if err != nil {
				return nil, false, err
			}
			pred = ir.Ref{Value: vs[0]}
		} else if d := p.Value.Type.DType; d != ir.Bool {
			return nil, false, fmt.Errorf("the predicate is %s, not bool", d)
		}
	default:
		return nil, false, fmt.Errorf("the predicate is no tensor or bool")
	}
	for _, r := range n.Regions {
		if err := captureInputs(b.Emitter, r, 0, operands); err != nil {
			return nil, false, err
		}
	}
	n.Args = []ir.NamedArg{{Value: pred}}
	return put(b, n)
}

func captureWhile(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	carried, additional := listArg(n, 0), listArg(n, 1)
	if err := tensors("carries", carried); err != nil {
		return nil, false, err
	}
	for _, r := range n.Regions {
		if err := captureInputs(b.Emitter, r, len(carried), additional); err != nil {
			return nil, false, err
		}
	}
	n.Args = []ir.NamedArg{{Value: carried}}
	return put(b, n)
}

func captureScan(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	init, xs := listArg(n, 0), listArg(n, 1)
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	dim, _ := n.Arg("dim").(ir.Int)
	if dim != 0 {
		for i, a := range xs {
			v, err := toFront(b, a, int(dim))
			if err != nil {
				return nil, false, err
			}
			xs[i] = ir.Ref{Value: v}
		}
	}
	return scan(b, n, init, xs, listArg(n, 2), bool(reverse))
}

func captureMap(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	n.Op = "higher_order.scan"
	return scan(b, n, ir.List{}, listArg(n, 0), listArg(n, 1), false)
}

// scan gives n the normal form.
func scan(b *ops.Builder, n *ir.Node, init, xs, additional ir.List,
	reverse bool) ([]*ir.Value, bool, error) {
	if err := tensors("carries", init); err != nil {
		return nil, false, err
	}
	if err := tensors("runs over", xs); err != nil {
		return nil, false, err
	}
	if len(xs) == 0 {
		return nil, false, fmt.Errorf("it runs over nothing")
	}
	if err := captureInputs(b.Emitter, n.Regions[0], len(init)+len(xs), additional); err != nil {
		return nil, false, err
	}
	n.Args = []ir.NamedArg{{Name: "init", Value: init}, {Name: "xs", Value: xs},
		{Name: "reverse", Value: ir.BoolArg(reverse)}}
	return put(b, n)
}

// toFront moves dimension dim of a tensor to the front.
func toFront(b *ops.Builder, a ir.Arg, dim int) (*ir.Value, error) {
	ref, ok := a.(ir.Ref)
	if !ok || ref.Value.Type.Kind != ir.TensorKind {
		return nil, fmt.Errorf("it runs over something that is no tensor")
	}
	rank := ref.Value.Type.Rank()
	if dim < 0 {
		dim += rank
	}
	if dim < 0 || dim >= rank {
		return nil, fmt.Errorf("it runs over dimension %d of a tensor with %d", dim, rank)
	}
	perm := []int{dim}
	for d := range rank {
		if d != dim {
			perm = append(perm, d)
		}
	}
	vs, err := b.Call("aten.permute.default", ref.Value, perm)
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// listArg returns the unnamed operand i, a list; nil if there is none.
func listArg(n *ir.Node, i int) ir.List {
	if i >= len(n.Args) {
		return nil
	}
	list, _ := n.Args[i].Value.(ir.List)
	return list
}

// tensors checks that all of list are tensors.
func tensors(verb string, list ir.List) error {
	for _, a := range list {
		if ref, ok := a.(ir.Ref); !ok || ref.Value.Type.Kind != ir.TensorKind {
			return fmt.Errorf("it %s a Python number; make it a tensor", verb)
		}
	}
	return nil
}
