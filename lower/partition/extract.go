package partition

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower"
)

// extractor makes a part of a method a program of its own.
type extractor struct {
	w    *method
	p    *part
	m    *ir.Method // what becomes of the part
	call *ir.Node   // what stands in its place

	inside map[*ir.Value]*ir.Value // what stands for a value in the part
	own    []*ir.Value             // state of its own
}

// extract makes the program of a part. The call that stands in its place is not in the graph yet.
func (w *method) extract(p *part, names *ir.Names) (*Part, *ir.Node) {
	first := p.region.nodes[p.nodes[0]]
	x := &extractor{w: w, p: p, inside: map[*ir.Value]*ir.Value{},
		m: &ir.Method{Name: "forward", Graph: &ir.Graph{}},
		call: &ir.Node{Name: names.Fresh(ir.CallDelegate), Op: ir.CallDelegate, Loc: first.Loc,
			Args: []ir.NamedArg{{Value: ir.Str(p.name)}}}}
	for _, i := range p.nodes {
		x.results(p.region.nodes[i])
	}
	var data, user []*ir.Value
	for _, i := range p.nodes {
		for _, a := range p.region.nodes[i].Args {
			ir.EachRef(a.Value, func(v *ir.Value) {
				switch {
				case x.inside[v] != nil:
				case w.inside[held{p, v}]:
					data = append(data, v)
					x.inside[v] = inner(v)
				default:
					user = append(user, v)
					x.inside[v] = inner(v)
					x.inside[v].Const = nil
				}
			})
		}
	}
	for _, v := range data {
		x.data(v)
	}
	for _, v := range user {
		x.m.Graph.Inputs = append(x.m.Graph.Inputs, x.inside[v])
		x.m.Inputs = append(x.m.Inputs, ir.InputSpec{Kind: ir.UserInput})
		x.call.Args = append(x.call.Args, ir.NamedArg{Value: ir.Ref{Value: v}})
	}
	for _, i := range p.nodes {
		n := p.region.nodes[i]
		for k := range n.Args {
			n.Args[k].Value = ir.MapRefs(n.Args[k].Value, x.mapped)
		}
		x.m.Graph.Nodes = append(x.m.Graph.Nodes, n)
	}
	x.outputs()
	x.symbols()
	out := &ir.Program{Source: w.program.Source, Methods: []*ir.Method{x.m},
		Dialect: w.program.Dialect, Custom: w.program.Custom}
	return &Part{Name: p.name, Program: out, Specs: p.use.Specs, Context: w.ctx}, x.call
}

// inner returns a value that stands for v in a part. It has no definition yet.
func inner(v *ir.Value) *ir.Value {
	w := *v
	w.Def, w.Index = nil, 0
	return &w
}

func (x *extractor) mapped(v *ir.Value) ir.Arg { return ir.Ref{Value: x.inside[v]} }

// results makes the results of a node the part's own. What others read stays there as well, as a
// result of the call.
func (x *extractor) results(n *ir.Node) {
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		in := v
		if x.leaves(v) {
			in = inner(v)
			in.Def, in.Index = n, i
			n.Outputs[i] = in
			v.Def, v.Index = x.call, len(x.call.Outputs)
			x.call.Outputs = append(x.call.Outputs, v)
		}
		x.inside[v] = in
	}
}

// leaves reports whether anything outside of the part reads v.
func (x *extractor) leaves(v *ir.Value) bool {
	return slices.ContainsFunc(x.w.reads[v], func(r reader) bool {
		stored := r.region == x.w.graphs[0] && r.node < 0 && x.w.ownedOutput(r.output, x.p)
		return r.in() != x.p && !stored
	})
}

// ownedOutput reports whether an output of the method tells what is written to state that is p's.
func (w *method) ownedOutput(output int, p *part) bool {
	for v, at := range w.state {
		if at == output && w.inside[held{p, v}] {
			return true
		}
	}
	return false
}

// settle decides which constants and state are a part's own.
func (w *method) settle() {
	for _, p := range w.parts {
		for _, i := range p.nodes {
			for _, a := range p.region.nodes[i].Args {
				ir.EachRef(a.Value, func(v *ir.Value) {
					if _, known := w.inside[held{p, v}]; !known {
						w.inside[held{p, v}] = w.moves(v, p)
					}
				})
			}
		}
	}
}

// moves reports whether v, which p reads, can be p's own.
func (w *method) moves(v *ir.Value, p *part) bool {
	if at, ok := w.state[v]; ok {
		return w.owned[asked{p.use, v}] && w.ownable(v, at, p)
	}
	if !w.constant[v] || w.left[asked{p.use, v}] {
		return false
	}
	return w.copies[asked{p.use, v}] ||
		!slices.ContainsFunc(w.storage[storageOf(v.Const)], func(r reader) bool { return r.in() != p })
}

// ownable reports whether p has all that reads and writes v, whose new value is output at.
func (w *method) ownable(v *ir.Value, at int, p *part) bool {
	if at < 0 || w.program.SharedState()[w.m.Outputs[at].Target] {
		return false
	}
	ref, ok := w.m.Graph.Outputs[at].(ir.Ref)
	if !ok || ref.Value == v {
		return false
	}
	made := slices.ContainsFunc(p.nodes, func(i int) bool {
		return slices.Contains(p.region.nodes[i].Outputs, ref.Value)
	})
	return made && w.gives(p) &&
		!slices.ContainsFunc(w.reads[v], func(r reader) bool { return r.in() != p })
}

// gives reports whether anything but new state leaves p: a call without results says nothing of
// what it does.
func (w *method) gives(p *part) bool {
	state := map[int]bool{}
	for _, at := range w.state {
		state[at] = true
	}
	leaves := func(r reader) bool {
		return r.in() != p && (r.region != w.graphs[0] || r.node >= 0 || !state[r.output])
	}
	return slices.ContainsFunc(p.nodes, func(i int) bool {
		return slices.ContainsFunc(p.region.nodes[i].Outputs, func(v *ir.Value) bool {
			return slices.ContainsFunc(w.reads[v], leaves)
		})
	})
}

// data gives the part a constant or state of its own.
func (x *extractor) data(v *ir.Value) {
	g, in := x.m.Graph, x.inside[v]
	at := slices.Index(x.w.m.Graph.Inputs, v)
	if at < 0 {
		g.Constants = append(g.Constants, in)
		return
	}
	g.Inputs = append(g.Inputs, in)
	x.m.Inputs = append(x.m.Inputs, x.w.m.Inputs[at])
	if _, ok := x.w.state[v]; ok {
		x.own = append(x.own, v)
	}
}

// outputs makes what the part returns: what leaves it, then what it writes to its own state.
func (x *extractor) outputs() {
	for _, v := range x.call.Outputs {
		x.m.Graph.Outputs = append(x.m.Graph.Outputs, ir.Ref{Value: x.inside[v]})
		x.m.Outputs = append(x.m.Outputs, ir.OutputSpec{Kind: ir.UserOutput})
	}
	for _, v := range x.own {
		at := x.w.state[v]
		x.m.Graph.Outputs = append(x.m.Graph.Outputs,
			ir.MapRefs(x.w.m.Graph.Outputs[at], x.mapped))
		x.m.Outputs = append(x.m.Outputs, x.w.m.Outputs[at])
	}
}

// symbols declares those that the part's types mention.
func (x *extractor) symbols() {
	used := map[*sym.Symbol]bool{}
	note := func(vs []*ir.Value) {
		for _, v := range vs {
			if v == nil {
				continue
			}
			for _, s := range lower.TypeSymbols(v.Type) {
				used[s] = true
			}
		}
	}
	note(x.m.Graph.Inputs)
	for _, n := range x.m.Graph.Nodes {
		note(n.Outputs)
	}
	for _, s := range x.w.m.Symbols {
		if used[s] {
			x.m.Symbols = append(x.m.Symbols, s)
		}
	}
}
