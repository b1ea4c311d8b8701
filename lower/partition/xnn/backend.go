// Package xnn is the backend XNNPACK: parts of programs become payloads that ExecuTorch's XNNPACK
// backend runs. What its partitioner takes of float32 this one takes too.
//
// Images have their channels last in XNNPACK. Where a layer asks for that, a transposition stands
// before it, and what follows stays so, until an operator or the caller asks for channels first.
package xnn

import (
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
		Doc: "ExecuTorch's XNNPACK backend: float32 on CPUs"}
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
	for n := range g.Nodes() {
		switch c, err := g.Bind(n); {
		case err != nil:
			g.Refuse(n, "%v", err)
		case g.Inside():
			g.Refuse(n, "it is in a region")
		case takesNumber(n):
			g.Refuse(n, "it takes a number that the run computes")
		default:
			if why := refusal(g, c); why != "" {
				g.Refuse(n, "%s", why)
				continue
			}
			for _, name := range rules[c.Op.Name()].static {
				if v := c.Value(name); v != nil {
					g.Copy(v)
				}
			}
			g.Take(n)
		}
	}
	return nil
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
