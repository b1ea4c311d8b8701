// Package xnn is the backend XNNPACK: parts of programs become payloads that ExecuTorch's XNNPACK
// backend runs. What its partitioner takes of float32 and float16 this one takes too, and of int8
// what is quantized ahead.
//
// Images have their channels last in XNNPACK. Where a layer asks for that, a transposition stands
// before it, and what follows stays so, until an operator or the caller asks for channels first.
package xnn

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
)

// Backend is the compile side of XNNPACK.
type Backend struct{}

// About implements partition.Backend.
func (Backend) About() partition.About {
	return partition.About{Name: "xnnpack", ID: xnnpack.ID,
		Doc: "ExecuTorch's XNNPACK backend: float32, float16 and int8 on CPUs"}
}

// Keeps implements partition.Keeper.
func (Backend) Keeps(c *ops.Call) bool {
	switch c.Op.Name() {
	case "aten.linear.default", "aten.hardswish.default", "aten.max_pool2d.default",
		"aten.prelu.default", "aten.upsample_bilinear2d.vec":
		return true
	}
	return false
}

// Partition implements partition.Backend.
func (Backend) Partition(g *partition.Graph) error {
	choose := &choice{g, map[*ir.Node]*ir.Node{}}
	for n := range g.Nodes() {
		switch c, why := choose.whyNot(n); {
		case why != "":
			g.Refuse(n, "%s", why)
		case n.Op == quantizeOp || n.Op == dequantizeOp:
			g.Take(n)
		default:
			choose.take(n, c)
		}
	}
	return nil
}

// choice is which nodes are taken.
type choice struct {
	*partition.Graph
	inners map[*ir.Node]*ir.Node // what inner returned
}

// whyNot says why a node is not taken, "" if it is.
func (g *choice) whyNot(n *ir.Node) (c *ops.Call, why string) {
	c, err := g.Bind(n)
	switch {
	case err != nil:
		return nil, err.Error()
	case takesNumber(n):
		return nil, "it takes a number that the run computes"
	case weightOf(g.Graph, n.Output(0)) != nil:
		return nil, "it is a weight of a layer that is not taken"
	case choosing[n.Op]:
		return nil, "the run quantizes it for what is no layer with a scale for each channel"
	case n.Op == quantizeOp || n.Op == dequantizeOp:
		return c, quantizes(g.Graph, n, c)
	}
	why = refusal(g.Graph, n, c)
	switch {
	case why != "":
	case hasGroups(g.Graph, c) && ofRun(g.Graph, c) == nil:
		why = "its weight has scales for groups, but the run does not quantize its operand, " +
			"or groups are not of 32 times so many integers of four bits without zero points"
	case n.Output(0).Type.Rank() == 0 && g.inner(n) == nil:
		why = "its result has no dimensions, and no node that is taken is all that reads it"
	}
	return c, why
}

// inner returns the node that alone reads what n gives, nil if there is none that is taken: between
// two nodes of a part, numbers without dimensions may lie.
func (g *choice) inner(n *ir.Node) *ir.Node {
	made, done := g.inners[n]
	if !done {
		made = g.onlyReader(n)
		g.inners[n] = made
	}
	return made
}

func (g *choice) onlyReader(n *ir.Node) *ir.Node {
	readers, elsewhere := g.Readers(n.Output(0))
	if readers = slices.Compact(readers); elsewhere || len(readers) != 1 || !g.Free(readers[0]) {
		return nil
	}
	if _, why := g.whyNot(readers[0]); why != "" {
		return nil
	}
	return readers[0]
}

// takesNumber reports whether an argument is a number of the graph: delegates take tensors.
func takesNumber(n *ir.Node) (found bool) {
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(v *ir.Value) {
			found = found || v.Type.Kind != ir.TensorKind
		})
	}
	return found
}

// take takes a node, and what dequantizes its weights with it.
func (g *choice) take(n *ir.Node, c *ops.Call) {
	nodes := append([]*ir.Node{n}, ofRun(g.Graph, c)...)
	if n.Output(0).Type.Rank() == 0 {
		nodes = append(nodes, g.inner(n))
	}
	for _, name := range rules[n.Op].static {
		v := c.Value(name)
		if v == nil {
			continue
		}
		if made := weightOf(g.Graph, v); made != nil {
			nodes = append(nodes, made...)
			for _, a := range made[0].Args {
				ir.EachRef(a.Value, g.Copy)
			}
			continue
		}
		g.Copy(v)
	}
	g.Take(nodes...)
}
