// Package demo writes payloads for ExecuTorch's demonstration backend, BackendWithCompilerDemo,
// whose run side knows three operators and where their operands are: one sine, or a product of
// matrices of 2x2 with a matrix added. The sine is the beginning of a series.
package demo

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/partition"
)

// ID is how programs call the backend.
const ID = "BackendWithCompilerDemo"

// The operators, as nodes of the edge dialect call them.
const (
	sin = "aten.sin.default"
	mm  = "aten.mm.default"
	add = "aten.add.Tensor"
)

// Backend is the compile side.
type Backend struct{}

// About implements partition.Backend.
func (Backend) About() partition.About {
	return partition.About{Name: "demo", ID: ID, Doc: "ExecuTorch's demonstration of a compiler"}
}

// Partition implements partition.Backend.
func (Backend) Partition(g *partition.Graph) error {
	for n := range g.Nodes() {
		switch {
		case n.Op == sin && float(n.Outputs[0]):
			g.TakeApart(n)
			leave(g, n)
		case n.Op == mm:
			if sum, why := product(g, n); sum == nil {
				g.Refuse(n, "%s", why)
			} else {
				g.TakeApart(n, sum)
				leave(g, n, sum)
			}
		default:
			g.Refuse(n, "it is no sine, and no product that something is added to")
		}
	}
	return nil
}

// leave makes arguments of the constants that nodes read: the payload has no room for them.
func leave(g *partition.Graph, nodes ...*ir.Node) {
	for _, n := range nodes {
		for _, a := range n.Args {
			ir.EachRef(a.Value, g.Leave)
		}
	}
}

func float(v *ir.Value) bool { return v.Type.DType == ir.Float32 }

// product returns the sum of the product n and a matrix, or says why it is none that the run side
// knows: that takes three arguments, the factors and what is added.
func product(g *partition.Graph, n *ir.Node) (sum *ir.Node, why string) {
	readers, elsewhere := g.Readers(n.Outputs[0])
	if elsewhere || len(readers) != 1 || readers[0].Op != add || !g.Free(readers[0]) {
		return nil, "no matrix alone is added to it"
	}
	sum = readers[0]
	c, err := g.Bind(n)
	if err != nil {
		return nil, err.Error()
	}
	s, err := g.Bind(sum)
	if err != nil || len(s.Operands()) != 2 {
		return nil, "what is added to it is no matrix"
	}
	if alpha, err := s.Float("alpha"); err != nil || alpha != 1 {
		return nil, "it is added to by a factor"
	}
	seen := map[*ir.Value]bool{}
	for _, v := range append(c.Operands(), s.Operands()...) {
		if seen[v] || !float(v) || !square(v) {
			return nil, "its operands are not three matrices of 2x2 in float32"
		}
		seen[v] = true
	}
	return sum, ""
}

func square(v *ir.Value) bool {
	sizes, ok := v.Type.StaticSizes()
	return ok && len(sizes) == 2 && sizes[0] == 2 && sizes[1] == 2
}

// Preprocess implements partition.Backend. A payload is the number of operators, then their names.
func (Backend) Preprocess(p *partition.Part) (*partition.Payload, error) {
	m := p.Method()
	text := fmt.Sprintf("%dversion:0#", len(m.Graph.Nodes))
	out := &partition.Payload{
		Specs: []ir.CompileSpec{{Key: "max_value", Value: []byte{4, 0, 0, 0}}}}
	for i, n := range m.Graph.Nodes {
		numel, _ := n.Outputs[0].Type.Numel().Const()
		text += fmt.Sprintf("op:demo::%s, numel:%d, dtype:torch.float32<debug_handle>%d#", n.Op, numel,
			i+1)
		out.Debug = append(out.Debug, ir.DelegateEvent{ID: fmt.Sprint(i + 1),
			Nodes: []ir.Origin{{Node: n.Name, Op: n.Op, Loc: n.Loc}}})
	}
	out.Processed = []byte(text)
	return out, nil
}
