package inspect

import (
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/xnnpack"
)

func delegate(ep *pte.ExecutionPlan, i int32) Delegate {
	d := &ep.Delegates[i]
	out := Delegate{Backend: d.ID, Inline: d.Inline}
	if d.Processed != nil {
		out.Bytes = d.Processed.Size()
		out.look(d)
	}
	for _, s := range d.Specs {
		out.Specs = append(out.Specs, s.Key)
	}
	instructions(ep, func(in pte.Instruction) {
		if call, ok := in.(pte.DelegateCall); ok && call.Delegate == i {
			out.Calls++
		}
	})
	return out
}

// look counts the nodes of a payload that etgen reads, by their kinds in the order of the first.
func (d *Delegate) look(in *pte.Delegate) {
	if in.ID != xnnpack.ID {
		return
	}
	g, err := xnnpack.Read(in.Processed)
	if err == nil {
		err = xnnpack.Verify(g)
	}
	if err != nil {
		d.Problem = err.Error()
		return
	}
	at := map[xnnpack.Kind]int{}
	for _, n := range g.Nodes {
		i, ok := at[n.Kind]
		if !ok {
			i = len(d.Nodes)
			at[n.Kind] = i
			d.Nodes = append(d.Nodes, DelegateNodes{Kind: n.Kind.String()})
		}
		d.Nodes[i].Count++
	}
}
