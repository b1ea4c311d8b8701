package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// The layout of a value is the order of its dimensions in memory. All values
// are row-major but for those of convolution regions: images whose channels lie
// innermost (NHWC), so that the kernels of convolutions run along contiguous
// channels and every vector of results is stored as it is.
//
// A tensor expression works on any layout: its loops follow the layout of the
// result, its loads that of each operand. So no copy ever changes a layout:
// a value that something reads which knows row-major only (a loop form,
// control flow, the caller, a view that counts elements in row-major order)
// is row-major itself, and the kernel that makes it writes it so.

// layouts decides the layout of every value of g and its regions, g being the
// graph of the method.
func (b *builder) layouts(g *ir.Graph) {
	if !tuned.ChannelsLast(b.opt.Target) && !b.opt.sparing && !b.wantsLast(g) {
		return
	}
	rowMajor := map[*ir.Value]bool{}
	b.needRowMajor(g, rowMajor)
	again := func() {
		clear(b.facts)
		clear(b.users)
		clear(rowMajor)
		b.gather(g, 0)
		b.needRowMajor(g, rowMajor)
	}
	for b.joins(g, rowMajor) { // a call set apart may be what another one joins
		again()
	}
	if b.borders(g, rowMajor) {
		again()
	}
	if tuned.ChannelsLast(b.opt.Target) && b.poolBorders(g, rowMajor) {
		again()
	}
	b.channelsLast(g, rowMajor)
}

// wantsLast reports whether g or a region of it has a node whose kernel wants
// channels-last images on any machine.
func (b *builder) wantsLast(g *ir.Graph) bool {
	for _, f := range b.nodes(g) {
		if f.call == nil {
			continue
		}
		into, out := b.worthCopies(f)
		if t := b.opt.Target; into || out || tuned.IsConvolutionInt8(f.call, t) ||
			tuned.IsDepthwiseEights(f.call, t) {
			return true
		}
	}
	return false
}

// needRowMajor finds the values that have to be row-major. Nodes are met
// backwards, so that what a pointwise node asks of its operand follows from
// what is asked of its result.
func (b *builder) needRowMajor(g *ir.Graph, need map[*ir.Value]bool) {
	all := func(a ir.Arg) { ir.EachRef(a, func(v *ir.Value) { need[v] = true }) }
	for _, v := range slices.Concat(g.Inputs, g.Constants) {
		need[v] = true
	}
	for _, a := range g.Outputs {
		all(a)
	}
	for _, n := range slices.Backward(g.Nodes) {
		for _, r := range n.Regions {
			b.needRowMajor(r, need)
		}
		f := b.facts[n]
		if b.joint(f) && !need[n.Output(0)] {
			continue
		}
		if f.call == nil || f.tensors == nil {
			for _, a := range n.Args {
				all(a.Value)
			}
			for _, v := range n.Outputs {
				need[v] = true
			}
			continue
		}
		for i, t := range f.tensors {
			v := n.Output(i)
			if v == nil {
				continue
			}
			if f.view && !keepsDims(t, f.call.Operands()) {
				need[v] = true
				all(ir.Ref{Value: f.call.Operands()[loadOf(t).Buf]})
			}
			if f.borderTo() == ir.ContiguousFormat {
				need[v] = true
				continue
			}
			if !need[v] {
				continue
			}
			for k, u := range f.call.Operands() {
				if b.soleReader(u) == f && (pointwise(t, k) || b.sameOne(t, k, u, v)) &&
					!b.worthBorder(u) {
					need[u] = true // its kernel may store v in its place
				}
			}
		}
	}
}

// channelsLast gives the results of convolutions, and of what is computed from
// them with as many dimensions, the layout NHWC.
func (b *builder) channelsLast(g *ir.Graph, need map[*ir.Value]bool) {
	if b.opt.Rows {
		b.orders[b.rowsInput()] = tuned.NHWC
	}
	for _, f := range b.nodes(g) {
		if f.call == nil || f.tensors == nil && !b.joint(f) {
			continue
		}
		n := f.node
		from := tuned.IsConvolution(f.call) || tuned.IsConvolutionInt8(f.call, b.opt.Target) ||
			f.borderTo() == ir.ChannelsLast
		for _, u := range f.call.Operands() {
			from = from || b.orders[u] != nil
		}
		from = from || b.feedsBytes(f)
		for _, v := range n.Outputs {
			if v != nil && from && !need[v] && v.Type.Rank() == 4 {
				b.orders[v] = tuned.NHWC
			}
		}
		if b.joint(f) && b.orders[n.Output(0)] != nil {
			for _, u := range f.call.Operands() {
				b.orders[u] = tuned.NHWC // as joins saw to
			}
		}
	}
}

// feedsBytes reports whether f makes of one image that of convolutions of bytes alone, element by
// element, which want channels innermost: it may store it so.
func (b *builder) feedsBytes(f *facts) bool {
	if len(f.tensors) != 1 || f.view || f.node.Output(0) == nil || len(f.call.Operands()) != 1 ||
		!pointwise(f.tensors[0], 0) {
		return false
	}
	v := f.node.Output(0)
	return len(b.users[v]) > 0 && !slices.ContainsFunc(b.users[v], func(n *ir.Node) bool {
		return n == nil || b.facts[n].call == nil ||
			!tuned.IsConvolutionInt8(b.facts[n].call, b.opt.Target) ||
			tuned.ReadsPlanes(b.facts[n].call, b.opt.Target)
	})
}

// keepsDims reports whether view t maps every dimension to itself: each
// coordinate of the operand follows from the same one of the result. Dimensions
// of size 1 may go anywhere: no layout moves their elements.
func keepsDims(t expr.Tensor, operands []*ir.Value) bool {
	load := loadOf(t)
	if load == nil {
		return false
	}
	sizes := operands[load.Buf].Type.Sizes
	inner := 0 // dimensions with more than one element
	for _, s := range sizes {
		if !s.Is(1) {
			inner++
		}
	}
	if inner <= 1 {
		return true
	}
	if len(load.Coords) != len(t.Vars) {
		return false
	}
	for d, c := range load.Coords {
		for i, v := range t.Vars {
			if i != d && c.Uses(v) {
				return false
			}
		}
	}
	return true
}

// pointwise reports whether element x of t depends on element x of operand k
// and no other.
func pointwise(t expr.Tensor, k int) bool { return pointwiseIf(t, k, sym.Expr.Equal) }

// pointwiseIf is pointwise with another notion of equal coordinates.
func pointwiseIf(t expr.Tensor, k int, equal func(x, y sym.Expr) bool) bool {
	same := true
	expr.Walk(t.Body, func(e *expr.Expr) {
		if e.Op == expr.OpReduce || e.Op == expr.OpLoad && e.Buf == k &&
			!slices.EqualFunc(e.Coords, expr.Coords(t.Vars), equal) {
			same = false
		}
	})
	return same
}

// sameOne is pointwise for images of a batch of one, whose operators may have no coordinate for it.
// On microcontrollers they would break up an epilogue, and leave its floats in memory.
func (b *builder) sameOne(t expr.Tensor, k int, u, v *ir.Value) bool {
	return !tuned.ChannelsLast(b.opt.Target) && pointwiseOne(t, k, u, v)
}

// pointwiseOne is pointwise but for coordinates of dimensions of size 1.
func pointwiseOne(t expr.Tensor, k int, u, v *ir.Value) bool {
	return sameSizes(u, v) && pointwiseIf(t, k, func(x, y sym.Expr) bool {
		return unitVars(x, t.Vars).Equal(unitVars(y, t.Vars))
	})
}

// flat returns the position in memory of element coords of v.
func (b *builder) flat(v *ir.Value, coords []sym.Expr) sym.Expr {
	order := b.orders[v]
	return sym.RowMajor(schedule.InOrder(order, v.Type.Sizes), schedule.InOrder(order, coords))
}

// Borders are the clones that lead into and out of regions of channels-last
// images where nothing else does: a pointwise kernel, a pooling or a
// convolution that gathers its image changes the layout on its way. What is
// left is a convolution whose own results have to be row-major, and one whose
// kernel knows channels-last images only, of an image that is row-major. Both
// are worth a copy if there is enough to multiply. A library that is asked for, which knows
// channels-last images only, gets what it wants.

// borders inserts the clones that g and its regions need, given the values that
// have to be row-major, and reports whether there are any.
func (b *builder) borders(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	found := false
	for g, f := range b.nodes(g) {
		if f.call == nil {
			continue
		}
		n := f.node
		into, out := b.worthCopies(f)
		if into {
			if x := f.call.Operands()[0]; rowMajor[x] {
				b.borderBefore(g, n, x)
				found = true
			}
		}
		if out && rowMajor[n.Output(0)] {
			b.borderAfter(g, n)
			found = true
		}
	}
	return found
}

// worthCopies reports whether f is better given a channels-last copy of a row-major image, and
// whether its result is better made channels-last and copied.
func (b *builder) worthCopies(f *facts) (into, out bool) {
	if tuned.ChannelsLast(b.opt.Target) {
		if !tuned.IsConvolution(f.call) {
			return false, false
		}
		return tuned.WorthCopies(f.call, b.opt.Target)
	}
	if len(f.call.Outs) == 0 || f.view {
		return false, false
	}
	return tuned.NeedsCopies(b.opt.Kernels, b.request(f))
}

// poolBorders does the same behind poolings of channels-last images.
func (b *builder) poolBorders(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	b.channelsLast(g, rowMajor)
	defer clear(b.orders)
	found := false
	for g, f := range b.nodes(g) {
		n := f.node
		if f.call == nil || len(f.call.Operands()) != 1 || b.orders[f.call.Operands()[0]] == nil ||
			!b.onlyFirstRead(n) {
			continue
		}
		last := b.lastPointwise(f)
		if !rowMajor[last.node.Output(0)] {
			continue
		}
		call := *f.call
		call.Outs = call.Outs[:1]
		if tuned.WorthLastPools(&call, b.opt.Target) {
			b.borderAfter(g, last.node)
			found = true
		}
	}
	return found
}

// lastPointwise is the last of those behind f that its kernel may compute as it stores: each alone
// reads what the one before makes, and makes as many elements of the same type of it.
func (b *builder) lastPointwise(f *facts) *facts {
	for {
		v := f.node.Output(0)
		next := b.soleReader(v)
		if next == nil || next.call == nil || len(next.tensors) != 1 || next.view ||
			len(next.call.Operands()) != 1 || next.node.Output(0).Type.DType != v.Type.DType ||
			!pointwiseOne(next.tensors[0], 0, v, next.node.Output(0)) {
			return f
		}
		f = next
	}
}

// borderBefore lets n read a channels-last copy of v.
func (b *builder) borderBefore(g *ir.Graph, n *ir.Node, v *ir.Value) {
	c := b.border(v, ir.ChannelsLast)
	g.Nodes = slices.Insert(g.Nodes, slices.Index(g.Nodes, n), c)
	b.redirect(n, v, c.Output(0))
}

// borderAfter lets what reads the result of n read a row-major copy of it.
func (b *builder) borderAfter(g *ir.Graph, n *ir.Node) {
	v := n.Output(0)
	c := b.border(v, ir.ContiguousFormat)
	at := slices.Index(g.Nodes, n) + 1
	for _, u := range g.Nodes[at:] {
		b.redirect(u, v, c.Output(0))
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
	if f == nil || f.call == nil {
		return false
	}
	_, out := b.worthCopies(f)
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
func (b *builder) redirect(n *ir.Node, u, v *ir.Value) {
	for i := range n.Args {
		ir.EachRef(n.Args[i].Value, func(x *ir.Value) {
			if x == u {
				delete(b.known, n)
			}
		})
		n.Args[i].Value = replaced(n.Args[i].Value, u, v)
	}
	for _, r := range n.Regions {
		for _, m := range r.Nodes {
			b.redirect(m, u, v)
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

// Concatenations of images keep to the layout of what they join. They have a
// loop form, which is written for one order of dimensions, but for any: all
// operands and the result have the same.

// joint reports whether f is a call whose images may have any layout, if all have
// the same.
func (b *builder) joint(f *facts) bool {
	return f.call != nil && f.call.Op.Permuted != nil && !b.separate[f.node] &&
		f.call.Outs[0].Rank() == len(tuned.NHWC) &&
		f.call.Op.Permuted(f.call, tuned.NHWC) != nil
}

// joins makes joint calls that read both channels-last images and row-major ones
// read only the former, by copies of the latter, or, where these are the
// greater part, sets them apart: their operands become row-major. It reports
// whether it did either.
func (b *builder) joins(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	b.channelsLast(g, rowMajor)
	mixed := map[*ir.Node]bool{} // their results are channels-last, not all operands may be
	for _, f := range b.nodes(g) {
		mixed[f.node] = b.joint(f) && b.orders[f.node.Output(0)] != nil &&
			slices.ContainsFunc(f.call.Operands(), func(v *ir.Value) bool { return rowMajor[v] })
	}
	clear(b.orders)
	found := false
	for g, f := range b.nodes(g) {
		if !mixed[f.node] {
			continue
		}
		found = true
		last, rows := 0.0, 0.0
		for _, v := range f.call.Operands() {
			if rowMajor[v] {
				rows += b.number(numel(v))
			} else {
				last += b.number(numel(v))
			}
		}
		if rows > last || b.opt.sparing {
			b.separate[f.node] = true
			continue
		}
		for _, v := range f.call.Operands() {
			if rowMajor[v] {
				b.borderBefore(g, f.node, v)
			}
		}
	}
	return found
}
