package partition

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower"
)

// method is a method whose nodes are being given to backends.
type method struct {
	ctx     *lower.Context
	program *ir.Program
	m       *ir.Method
	graphs  []*region
	reads   map[*ir.Value][]reader

	constant map[*ir.Value]bool
	// state are inputs that the program writes to, with the index of the output that tells what
	// is written; -1 for those that another method writes.
	state map[*ir.Value]int
	// storage are the readers of what constants hold: several may hold the same.
	storage map[any][]reader

	copies, owned, left map[asked]bool
	// inside are constants and state that parts have of their own, once it is settled.
	inside map[held]bool
	parts  []*part
}

// asked is what a backend wants of a value.
type asked struct {
	use   *Use
	value *ir.Value
}

// held is a value that a part reads.
type held struct {
	part  *part
	value *ir.Value
}

// region is the main graph or a region of a method.
type region struct {
	*graph
	ir    *ir.Graph
	nodes []*ir.Node
	index map[*ir.Node]int
	// barred says of nodes why no backend may have them.
	barred  map[int]string
	reasons map[int][]Reason
	of      []*part // the parts by their numbers
}

// reader is what reads a value: a node, or an output if node is -1.
type reader struct {
	region       *region
	node, output int
}

// part is nodes that are given to a backend together.
type part struct {
	use    *Use
	region *region
	nodes  []int
	name   string
}

// in returns the part that a reader is in, nil for none.
func (r reader) in() *part {
	if r.node < 0 || r.region.part[r.node] < 0 {
		return nil
	}
	return r.region.of[r.region.part[r.node]]
}

func newMethod(ctx *lower.Context, p *ir.Program, m *ir.Method) *method {
	w := &method{ctx: ctx, program: p, m: m, reads: map[*ir.Value][]reader{},
		constant: lower.Constants(p, m), state: map[*ir.Value]int{},
		storage: map[any][]reader{}, copies: map[asked]bool{}, owned: map[asked]bool{},
		left:   map[asked]bool{},
		inside: map[held]bool{}}
	written := p.Written()
	for i, v := range m.Graph.Inputs {
		if spec := m.Inputs[i]; spec.Kind.IsState() && written[spec.Target] {
			w.state[v] = slices.IndexFunc(m.Outputs, func(o ir.OutputSpec) bool {
				return (o.Kind == ir.BufferMutation || o.Kind == ir.ParameterMutation) &&
					o.Target == spec.Target
			})
		}
	}
	m.Graph.Walk(func(g *ir.Graph) { w.graphs = append(w.graphs, w.region(g)) })
	for v, readers := range w.reads {
		if w.constant[v] {
			key := storageOf(v.Const)
			w.storage[key] = append(w.storage[key], readers...)
		}
	}
	return w
}

// storageOf tells constants apart whose data is not the same.
func storageOf(c *ir.Constant) any {
	if reflect.ValueOf(c.Data).Comparable() {
		return c.Data
	}
	return c
}

// region notes what the nodes of g read, and who may not be taken.
func (w *method) region(g *ir.Graph) *region {
	r := &region{ir: g, nodes: g.Nodes, index: map[*ir.Node]int{}, barred: map[int]string{},
		reasons: map[int][]Reason{}}
	deps := make([][]int, len(g.Nodes))
	effect := -1
	decided := map[*sym.Symbol]int{} // the node that decides a symbol, -1 for one of the inputs
	for _, v := range slices.Concat(w.m.Graph.Inputs, g.Inputs) {
		for _, s := range lower.TypeSymbols(v.Type) {
			decided[s] = -1
		}
	}
	for i, n := range g.Nodes {
		r.index[n] = i
		why := w.bars(n)
		for _, v := range n.Outputs {
			if v == nil {
				continue
			}
			for _, s := range lower.TypeSymbols(v.Type) {
				if d, ok := decided[s]; ok && d >= 0 && d != i {
					deps[i] = append(deps[i], d)
				} else if !ok && why != "" {
					decided[s] = i
				}
			}
		}
		if why != "" {
			r.barred[i] = why
		}
		eachRead(n, func(v *ir.Value) {
			if d, ok := r.index[v.Def]; ok && v.Def != n {
				deps[i] = append(deps[i], d)
			}
		})
		if lower.HasEffect(w.ctx.Table, n) { // these keep their order
			if effect >= 0 {
				deps[i] = append(deps[i], effect)
			}
			effect = i
		}
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) {
				w.reads[v] = append(w.reads[v], reader{region: r, node: i})
			})
		}
	}
	for i, a := range g.Outputs {
		ir.EachRef(a, func(v *ir.Value) {
			w.reads[v] = append(w.reads[v], reader{region: r, node: -1, output: i})
		})
	}
	r.graph = newGraph(deps)
	return r
}

// eachRead calls f for what a node and its regions read.
func eachRead(n *ir.Node, f func(*ir.Value)) {
	for _, a := range n.Args {
		ir.EachRef(a.Value, f)
	}
	for _, g := range n.Regions {
		g.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				for _, a := range n.Args {
					ir.EachRef(a.Value, f)
				}
			}
			for _, a := range g.Outputs {
				ir.EachRef(a, f)
			}
		})
	}
}

// bars says why no backend may take a node, "" if one may.
func (w *method) bars(n *ir.Node) string {
	switch {
	case len(n.Regions) > 0:
		return "control flow stays with the program; backends take what is in its regions"
	case n.Op == ir.CallDelegate:
		return "it is a delegate already"
	case lower.HasEffect(w.ctx.Table, n):
		return "it does more than give results"
	}
	if lower.Decides(w.ctx.Table, n) {
		return "data decides the size of a result"
	}
	for _, v := range n.Outputs {
		if v != nil && v.Type.Kind != ir.TensorKind {
			return "a result is no tensor"
		}
		for _, e := range v.Type.Sizes {
			if e.Undefined() {
				return "the size of a result is not known"
			}
		}
	}
	return ""
}

// ask gives a backend what it takes of all graphs.
func (w *method) ask(use *Use) {
	name := use.Backend.About().Name
	for _, r := range w.graphs {
		r.ask()
		g := &Graph{Context: w.ctx, Method: w.m, Graph: r.ir, use: use, work: w, self: r}
		must.In(use.Backend.Partition(g), "backend %s, method %s", name, w.m.Name)
		taken := slices.Clone(r.taken)
		first := r.parts
		for _, i := range r.settle() {
			r.refuse(i, name, "what belongs together would have to wait for its own results")
		}
		for range r.parts - first {
			r.of = append(r.of, &part{use: use, region: r})
		}
		for i, n := range r.nodes {
			switch p := r.part[i]; {
			case p >= first:
				r.of[p].nodes = append(r.of[p].nodes, i)
			case taken[i], p >= 0:
			case r.barred[i] != "":
			case !inModule(n, use.Module):
				r.refuse(i, name, fmt.Sprintf("it is not in module %s", use.Module))
			case !slices.ContainsFunc(r.reasons[i], func(x Reason) bool { return x.Backend == name }):
				r.refuse(i, name, "it does not take the operator")
			}
		}
		for _, p := range r.of[first:] {
			if len(p.nodes) > 0 {
				w.parts = append(w.parts, p)
			}
		}
	}
}

// refuse notes why a backend does not take node i.
func (r *region) refuse(i int, backend, why string) {
	r.reasons[i] = append(r.reasons[i], Reason{Backend: backend, Why: why})
}

// onlyNumbers reports whether a node computes numbers of numbers and sizes.
func onlyNumbers(n *ir.Node) bool {
	return len(n.Regions) == 0 && len(n.Outputs) > 0 &&
		!slices.ContainsFunc(n.Outputs, func(v *ir.Value) bool {
			return v == nil || v.Type.Kind == ir.TensorKind || !v.Type.HasExpr
		})
}

// whole fails unless all nodes that a use is about are one part.
func (w *method) whole(use *Use) {
	if !use.Whole {
		return
	}
	what := "the method"
	if use.Module != "" {
		what = "module " + use.Module
	}
	name, parts, nodes := use.Backend.About().Name, 0, 0
	for _, p := range w.parts {
		if p.use == use {
			parts++
		}
	}
	for _, r := range w.graphs {
		for i, n := range r.nodes {
			if !inModule(n, use.Module) || onlyNumbers(n) {
				continue
			}
			nodes++
			if k := r.part[i]; k >= 0 && r.of[k].use == use {
				continue
			}
			why := r.barred[i]
			for _, x := range r.reasons[i] {
				if x.Backend == name {
					why = x.Why
				}
			}
			must.Check(ir.ErrorAt("", n, fmt.Errorf("backend %s cannot take %s whole: %s", name,
				what, why)))
		}
	}
	switch {
	case nodes == 0:
		must.Fail("backend %s is to take %s, in which there is nothing", name, what)
	case parts > 1:
		must.Fail("backend %s cannot take %s whole: it becomes %d parts, which wait for what is not "+
			"in it", name, what, parts)
	}
}
