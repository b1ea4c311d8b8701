package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
)

// InlineWrappers replaces wrap_with_set_grad_enabled, wrap_with_autocast and
// with_effects by what they wrap. The casts that autocast makes are written
// out.
var InlineWrappers = Pass{
	Name: "inline-wrappers",
	Doc:  "inline regions that only switch gradients or autocast, and unwrap with_effects",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		a := &autocaster{table: ctx.Table, settled: map[*ir.Node]bool{},
			retyped: map[*ir.Value]bool{}}
		a.warn = func(n *ir.Node, err error) { warnAt(p, m, n, err) }
		rewrite(ctx.Table, m, func(b *ops.Builder, n *ir.Node) []*ir.Value {
			switch n.Op {
			case "higher_order.wrap_with_set_grad_enabled":
				return a.plain(b, n, operandsOf(n)[1:])
			case "higher_order.wrap_with_autocast":
				return a.inline(b, n)
			case "higher_order.with_effects":
				return unwrapEffects(b, n)
			}
			a.retype(n)
			return nil
		})
		dropTokens(m)
	}),
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
func inlineRegion(b *ops.Builder, n *ir.Node, r *ir.Graph, operands []ir.Arg) []*ir.Value {
	if len(operands) != len(r.Inputs) {
		must.Fail("%d operands for a region with %d inputs", len(operands), len(r.Inputs))
	}
	for i, in := range r.Inputs {
		passes(in, operands[i])
		b.SubstituteArg(in, operands[i])
	}
	r.Inputs = nil
	for i, out := range b.Inline(r, nil) {
		if v := n.Output(i); v != nil {
			passes(v, out)
			b.SubstituteArg(v, out)
		}
	}
	return gone
}

// unwrapEffects replaces with_effects(token, op, arguments…) by op itself: a
// graph's order is the order of effects.
func unwrapEffects(b *ops.Builder, n *ir.Node) []*ir.Value {
	if len(n.Args) < 2 {
		must.Fail("it has %d operands, want a token and an operator", len(n.Args))
	}
	op, ok := n.Args[1].Value.(ir.OpArg)
	token, isRef := n.Args[0].Value.(ir.Ref)
	if !ok || !isRef || len(n.Outputs) == 0 {
		must.Fail("its operands are no token and operator")
	}
	if first := n.Outputs[0]; first != nil {
		b.Substitute(first, token.Value)
	}
	n.Op, n.Args, n.Outputs = string(op), n.Args[2:], n.Outputs[1:]
	return put(b, n)
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
	Run: perNode(func(*Context, *ir.Program, *ir.Method) visitor {
		return func(b *ops.Builder, n *ir.Node) []*ir.Value {
			switch n.Op {
			case "higher_order.cond":
				return captureCond(b, n)
			case "higher_order.while_loop":
				return captureWhile(b, n)
			case "higher_order.scan":
				return captureScan(b, n)
			case "higher_order.map_impl":
				n.Op = "higher_order.scan"
				return scan(b, n, ir.List{}, listArg(n, 0), listArg(n, 1), false)
			}
			return nil
		}
	}),
}

// captureInputs makes region r read operands where it read its inputs from
// first to first+len(operands), which it loses.
func captureInputs(b *ops.Builder, r *ir.Graph, first int, operands []ir.Arg) {
	if len(r.Inputs) < first+len(operands) {
		must.Fail("a region has %d inputs, want at least %d", len(r.Inputs), first+len(operands))
	}
	for i, a := range operands {
		b.SubstituteArg(r.Inputs[first+i], a)
	}
	r.Inputs = append(r.Inputs[:first:first], r.Inputs[first+len(operands):]...)
}

func captureCond(b *ops.Builder, n *ir.Node) []*ir.Value {
	if len(n.Args) == 0 || len(n.Regions) != 2 {
		must.Fail("it has %d operands and %d regions", len(n.Args), len(n.Regions))
	}
	operands := operandsOf(n)[1:]
	pred := n.Args[0].Value
	switch p := pred.(type) {
	case ir.BoolArg:
		chosen := n.Regions[1]
		if p {
			chosen = n.Regions[0]
		}
		return inlineRegion(b, n, chosen, operands)
	case ir.Ref:
		if p.Value.Type.Kind != ir.TensorKind {
			pred = ir.Ref{Value: b.Op("aten.scalar_tensor.default", p.Value,
				ops.Kw("dtype", ir.Bool))}
		} else if d := p.Value.Type.DType; d != ir.Bool {
			must.Fail("the predicate is %s, not bool", d)
		}
	default:
		must.Fail("the predicate is no tensor or bool")
	}
	for _, r := range n.Regions {
		captureInputs(b, r, 0, operands)
	}
	n.Args = []ir.NamedArg{{Value: pred}}
	return put(b, n)
}

func captureWhile(b *ops.Builder, n *ir.Node) []*ir.Value {
	carried, additional := listArg(n, 0), listArg(n, 1)
	tensors("carries", carried)
	for _, r := range n.Regions {
		captureInputs(b, r, len(carried), additional)
	}
	n.Args = []ir.NamedArg{{Value: carried}}
	return put(b, n)
}

func captureScan(b *ops.Builder, n *ir.Node) []*ir.Value {
	init, xs := listArg(n, 0), listArg(n, 1)
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	dim, _ := n.Arg("dim").(ir.Int)
	if dim != 0 {
		for i, a := range xs {
			xs[i] = ir.Ref{Value: toFront(b, a, int(dim))}
		}
	}
	return scan(b, n, init, xs, listArg(n, 2), bool(reverse))
}

// scan gives n the normal form.
func scan(b *ops.Builder, n *ir.Node, init, xs, additional ir.List,
	reverse bool) []*ir.Value {
	tensors("carries", init)
	tensors("runs over", xs)
	if len(xs) == 0 {
		must.Fail("it runs over nothing")
	}
	captureInputs(b, n.Regions[0], len(init)+len(xs), additional)
	n.Args = []ir.NamedArg{{Name: "init", Value: init}, {Name: "xs", Value: xs},
		{Name: "reverse", Value: ir.BoolArg(reverse)}}
	return put(b, n)
}

// toFront moves dimension dim of a tensor to the front.
func toFront(b *ops.Builder, a ir.Arg, dim int) *ir.Value {
	ref, ok := a.(ir.Ref)
	if !ok || ref.Value.Type.Kind != ir.TensorKind {
		must.Fail("it runs over something that is no tensor")
	}
	rank := ref.Value.Type.Rank()
	if dim < 0 {
		dim += rank
	}
	if dim < 0 || dim >= rank {
		must.Fail("it runs over dimension %d of a tensor with %d", dim, rank)
	}
	perm := []int{dim}
	for d := range rank {
		if d != dim {
			perm = append(perm, d)
		}
	}
	return b.Op("aten.permute.default", ref.Value, perm)
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
func tensors(verb string, list ir.List) {
	for _, a := range list {
		if ref, ok := a.(ir.Ref); !ok || ref.Value.Type.Kind != ir.TensorKind {
			must.Fail("it %s a Python number; make it a tensor", verb)
		}
	}
}
