package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
)

// Concatenations of images keep to the layout of what they join. They have a
// loop form, which is written for one order of dimensions, but for any: all
// operands and the result have the same.

// joint reports whether f is a call whose images may have any layout, if all have
// the same.
func (b *builder) joint(f *facts) bool {
	return f.call != nil && f.call.Op.Permuted != nil && !b.apart[f.node] &&
		f.call.Outs[0].Rank() == len(channelsLast) &&
		f.call.Op.Permuted(f.call, channelsLast) != nil
}

// joins makes joint calls that read both channels-last images and row-major ones
// read only the former, by copies of the latter, or, where these are the
// greater part, sets them apart: their operands become row-major. It reports
// whether it did either.
func (b *builder) joins(g *ir.Graph, rowMajor map[*ir.Value]bool) bool {
	b.channelsLast(g, rowMajor)
	mixed := b.mixed(g, rowMajor)
	clear(b.orders)
	for _, f := range mixed {
		last, rows := 0.0, 0.0
		for _, v := range f.call.Operands() {
			if rowMajor[v] {
				rows += b.number(numel(v))
			} else {
				last += b.number(numel(v))
			}
		}
		if rows > last || b.opt.sparing {
			b.apart[f.node] = true
			continue
		}
		g := f.graph
		for _, v := range f.call.Operands() {
			if rowMajor[v] {
				c := b.border(v, ir.ChannelsLast)
				g.Nodes = slices.Insert(g.Nodes, slices.Index(g.Nodes, f.node), c)
				redirect(f.node, v, c.Output(0))
			}
		}
	}
	return len(mixed) > 0
}

// mixed returns the joint calls in g and its regions whose results are
// channels-last, but not all of whose operands may be.
func (b *builder) mixed(g *ir.Graph, rowMajor map[*ir.Value]bool) []*facts {
	var found []*facts
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			found = append(found, b.mixed(r, rowMajor)...)
		}
		if f := b.facts[n]; b.joint(f) && b.orders[n.Output(0)] != nil &&
			slices.ContainsFunc(f.call.Operands(), func(v *ir.Value) bool { return rowMajor[v] }) {
			f.graph = g
			found = append(found, f)
		}
	}
	return found
}
