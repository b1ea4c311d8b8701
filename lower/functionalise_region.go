package lower

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/alias"
)

// control emits a control-flow node. The memory its regions write to outside
// of themselves becomes further results.
func (f *functionaliser) control(e *ir.Emitter, n *ir.Node) error {
	for i := range n.Args {
		n.Args[i].Value = f.resolve(e, n.Args[i].Value)
	}
	written := f.written(n)
	at := len(n.Outputs) // where the further results come
	loop := false
	switch n.Op {
	case "higher_order.cond":
	case "higher_order.while_loop":
		loop = true
		if len(f.written(&ir.Node{Regions: n.Regions[:1]})) > 0 {
			return fmt.Errorf(
				"the condition of the loop writes to a tensor outside of it; do it in the body")
		}
		n.Args[0].Value = f.carried(e, n.Args[0].Value, written)
	case "higher_order.scan":
		loop = true
		init, _ := n.Arg("init").(ir.List)
		at = len(init)
		n.SetArg("init", f.carried(e, init, written))
	default:
		if len(written) > 0 {
			return fmt.Errorf(
				"a region of it writes to a tensor outside of it, which is not supported")
		}
	}
	for i, r := range n.Regions {
		returns := n.Op != "higher_order.while_loop" || i == 1
		var err error
		if n.Regions[i], err = f.region(e, r, written, at, loop, returns); err != nil {
			return err
		}
	}
	var more []*ir.Value
	for _, root := range written {
		more = append(more, &ir.Value{Name: e.Names.Fresh(root.Name + "_new"), Type: root.Type})
	}
	n.Outputs = slices.Insert(n.Outputs, at, more...)
	e.Append(n)
	for i, root := range written {
		f.clock++
		f.version[root] = f.clock
		f.now[f.set.Of(root)] = state{more[i], f.clock}
	}
	return nil
}

// carried adds what is written to the values that a loop starts with.
func (f *functionaliser) carried(e *ir.Emitter, init ir.Arg, written []*ir.Value) ir.List {
	list, _ := init.(ir.List)
	list = slices.Clone(list)
	for _, root := range written {
		list = append(list, ir.Ref{Value: f.current(e, f.set.Of(root))})
	}
	return list
}

// region emits a region. A loop's gets an input for everything written; if it
// returns, what is written is among its results from position at on.
func (f *functionaliser) region(e *ir.Emitter, r *ir.Graph, written []*ir.Value, at int, loop,
	returns bool) (g *ir.Graph, err error) {
	f.scope(func() {
		inputs := r.Inputs
		if loop {
			var more []*ir.Value
			for _, root := range written {
				in := &ir.Value{Name: e.Names.Fresh(root.Name + "_old"), Type: root.Type}
				more = append(more, in)
				f.clock++
				f.version[root] = f.clock
				f.now[f.set.Of(root)] = state{in, f.clock}
			}
			inputs = slices.Insert(slices.Clone(inputs), at, more...)
		}
		g, err = e.Region(inputs, func(inner *ir.Emitter) ([]ir.Arg, error) {
			out := f.graph(inner, r)
			if returns {
				var more []ir.Arg
				for _, root := range written {
					more = append(more, ir.Ref{Value: f.current(inner, f.set.Of(root))})
				}
				out = slices.Insert(out, at, more...)
			}
			return out, nil
		})
		if g != nil {
			g.Constants = r.Constants
		}
	})
	return g, err
}

// written returns the roots of memory outside of n's regions that they write
// to, in order of the first write.
func (f *functionaliser) written(n *ir.Node) []*ir.Value {
	inside := map[*ir.Value]bool{}
	var targets []*ir.Value
	for _, r := range n.Regions {
		r.Walk(func(g *ir.Graph) {
			for _, v := range append(slices.Clone(g.Inputs), g.Constants...) {
				inside[v] = true
			}
			for _, n := range g.Nodes {
				for _, v := range n.Outputs {
					inside[v] = true
				}
				if w, ok := alias.Writes(f.table, n); ok {
					targets = append(targets, f.set.Of(w.Target).Root)
				}
			}
		})
	}
	var roots []*ir.Value
	for _, v := range targets {
		if !inside[v] && !slices.Contains(roots, v) {
			roots = append(roots, v)
		}
	}
	return roots
}
