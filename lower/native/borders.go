package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
)

// Borders are the clones that lead into and out of regions of channels-last
// images where nothing else does: a pointwise kernel, a pooling or a
// convolution that gathers its image changes the layout on its way. What is
// left is a convolution whose own results have to be row-major, and one whose
// kernel knows channels-last images only, of an image that is row-major. Both
// are worth a copy if there is enough to multiply.

// borders inserts the clones that g and its regions need, given the values that
// have to be row-major, and reports whether there are any.
func (b *builder) borders(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	found := false
	for _, n := range slices.Clone(g.Nodes) {
		for _, r := range n.Regions {
			found = b.borders(r, rowMajor) || found
		}
		f := b.facts[n]
		if f.call == nil || !tuned.IsConvolution(f.call) {
			continue
		}
		into, out := tuned.WorthCopies(f.call, b.opt.Target)
		if x := f.call.Value("input"); into && rowMajor[x] {
			c := b.border(x, ir.ChannelsLast)
			g.Nodes = slices.Insert(g.Nodes, slices.Index(g.Nodes, n), c)
			redirect(n, x, c.Output(0))
			found = true
		}
		if out && rowMajor[n.Output(0)] {
			b.borderAfter(g, n)
			found = true
		}
	}
	return found
}

// poolBorders does the same behind poolings of channels-last images.
func (b *builder) poolBorders(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	b.channelsLast(g, rowMajor)
	found := b.pools(g, rowMajor)
	clear(b.orders)
	return found
}

func (b *builder) pools(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	found := false
	for _, n := range slices.Clone(g.Nodes) {
		for _, r := range n.Regions {
			found = b.pools(r, rowMajor) || found
		}
		f := b.facts[n]
		if f.call == nil || len(f.call.Operands()) != 1 || b.orders[f.call.Operands()[0]] == nil ||
			!b.onlyFirstRead(n) || !rowMajor[n.Output(0)] {
			continue
		}
		call := *f.call
		call.Outs = call.Outs[:1]
		if tuned.WorthLastPools(&call, b.opt.Target) {
			b.borderAfter(g, n)
			found = true
		}
	}
	return found
}

// borderAfter lets what reads the result of n read a row-major copy of it.
func (b *builder) borderAfter(g *ir.Graph, n *ir.Node) {
	v := n.Output(0)
	c := b.border(v, ir.ContiguousFormat)
	at := slices.Index(g.Nodes, n) + 1
	for _, u := range g.Nodes[at:] {
		redirect(u, v, c.Output(0))
	}
	for i, o := range g.Outputs {
		g.Outputs[i] = replaced(o, v, c.Output(0))
	}
	g.Nodes = slices.Insert(g.Nodes, at, c)
}

// worthBorder reports whether v is better made channels-last and copied than
// made row-major.
func (b *builder) worthBorder(v *ir.Value) bool {
	f := b.facts[v.Def]
	if f == nil || f.call == nil || !tuned.IsConvolution(f.call) {
		return false
	}
	_, out := tuned.WorthCopies(f.call, b.opt.Target)
	return out
}

// border returns a node that copies v to the layout of a memory format.
func (b *builder) border(v *ir.Value, format ir.MemoryFormat) *ir.Node {
	name := ir.NewNames(b.source).Fresh(v.Name + "_laid_out")
	n := &ir.Node{Name: name, Op: "aten.clone.default",
		Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: v}}, {Name: "memory_format",
			Value: format}}}
	if v.Def != nil {
		n.Loc = v.Def.Loc
	}
	n.Outputs = []*ir.Value{{Name: name, Type: v.Type, Def: n}}
	return n
}

// borderTo returns the memory format that f's node is a border to, 0 if it is
// none: what the model itself says of memory formats is gone by now.
func (f *facts) borderTo() ir.MemoryFormat {
	if f.node.Op != "aten.clone.default" {
		return 0
	}
	format, _ := f.node.Arg("memory_format").(ir.MemoryFormat)
	return format
}

// redirect lets n, and what its regions capture, read v instead of u.
func redirect(n *ir.Node, u, v *ir.Value) {
	for i := range n.Args {
		n.Args[i].Value = replaced(n.Args[i].Value, u, v)
	}
	for _, r := range n.Regions {
		for _, m := range r.Nodes {
			redirect(m, u, v)
		}
		for i, o := range r.Outputs {
			r.Outputs[i] = replaced(o, u, v)
		}
	}
}

func replaced(a ir.Arg, u, v *ir.Value) ir.Arg {
	return ir.MapRefs(a, func(x *ir.Value) ir.Arg {
		if x == u {
			return ir.Ref{Value: v}
		}
		return ir.Ref{Value: x}
	})
}
