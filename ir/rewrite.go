package ir

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir/seq"
)

// Rewriter replaces nodes of a method while it walks them in order, those of a
// node's regions before the node itself. It is the one way passes change
// graphs.
type Rewriter struct {
	Names *Names // made by Run if nil

	// Visit sees each node after its operands and regions were rewritten. It
	// returns the node's replacement values, parallel to n.Outputs, having
	// emitted new nodes through e; or keep=true to leave the node as it is,
	// behind what it emitted. A replacement may be left out (nil) for an
	// output that nobody uses. What Visit emits is not visited.
	//
	// After an error the walk goes on as if the node had been kept, so that
	// Run reports all faults at once.
	Visit func(e *Emitter, n *Node) (repl []*Value, keep bool, err error)

	subst map[*Value]Arg
	gone  map[*Value]*Node // outputs replaced by nothing
	errs  []error
}

// Emitter collects the nodes of one graph under construction.
type Emitter struct {
	Names *Names
	Loc   Location // given to emitted nodes
	nodes []*Node
	graph *Graph
	rw    *Rewriter
}

// Emit appends a node and returns it. Its outputs get fresh names derived from
// the operator; a type of NoneKind makes a nil output.
func (e *Emitter) Emit(op string, args []NamedArg, types ...Type) *Node {
	n := &Node{Name: e.Names.Fresh(OpBase(op)), Op: op, Args: args, Loc: e.Loc}
	for _, t := range types {
		if t.Kind == NoneKind {
			n.Outputs = append(n.Outputs, nil)
			continue
		}
		name := n.Name
		if len(types) > 1 {
			name = e.Names.Fresh(n.Name + "_out")
		}
		n.Outputs = append(n.Outputs, &Value{Name: name, Type: t})
	}
	e.Append(n)
	return n
}

// Append adds a node made elsewhere, whose names are from e.Names or were in
// the method before. Its uses of values replaced meanwhile are updated.
func (e *Emitter) Append(n *Node) {
	for i, v := range n.Outputs {
		if v != nil {
			v.Def, v.Index = n, i
		}
	}
	e.rw.remapDeep(n)
	e.nodes = append(e.nodes, n)
}

// Constant adds a constant to the graph and returns its value.
func (e *Emitter) Constant(base string, c *Constant) *Value {
	v := &Value{Name: e.Names.Fresh(base), Type: c.Type, Const: c}
	e.graph.Constants = append(e.graph.Constants, v)
	return v
}

// Inline moves the nodes and constants of region g here, with its inputs bound
// to args (one for each), and returns what g returns. Names that another
// region of the method has too are changed. g is empty afterwards: the node
// that owns it must be replaced.
func (e *Emitter) Inline(g *Graph, args []*Value) []Arg {
	for i, in := range g.Inputs {
		e.Substitute(in, args[i])
		e.Names.release(in.Name)
	}
	e.graph.Constants = append(e.graph.Constants, g.Constants...)
	for _, v := range g.Constants {
		v.Name = e.Names.move(v.Name)
	}
	for _, n := range g.Nodes {
		e.rename(n)
		e.Append(n)
	}
	out := seq.Map(g.Outputs, func(a Arg) Arg { return MapRefs(a, e.rw.lookup) })
	*g = Graph{}
	return out
}

// rename makes the names of a node that moves outwards unique in the method.
func (e *Emitter) rename(n *Node) {
	old := n.Name
	if old != "" {
		n.Name = e.Names.move(old)
	}
	for _, v := range n.Outputs {
		switch {
		case v == nil:
		case v.Name == old:
			v.Name = n.Name
		default:
			v.Name = e.Names.move(v.Name)
		}
	}
	// What is inside keeps its names unless they now clash with ones around
	// it, and those were just made unique.
}

// Substitute makes every later use of old refer to new.
func (e *Emitter) Substitute(old, new *Value) { e.SubstituteArg(old, Ref{new}) }

// SubstituteArg makes every later use of old the argument new, which may be a
// literal. Replacing a value by itself does nothing.
func (e *Emitter) SubstituteArg(old *Value, new Arg) {
	if new = MapRefs(new, e.rw.lookup); new != (Ref{old}) {
		e.rw.subst[old] = new
	}
}

// Run rewrites m. The error joins those of all visits, each with its node.
func (rw *Rewriter) Run(m *Method) error {
	if rw.Names == nil {
		rw.Names = NewNames(m)
	}
	rw.subst, rw.gone, rw.errs = map[*Value]Arg{}, map[*Value]*Node{}, nil
	rw.graph(m.Graph)
	return errors.Join(rw.errs...)
}

func (rw *Rewriter) graph(g *Graph) {
	e := &Emitter{Names: rw.Names, graph: g, rw: rw}
	for _, n := range g.Nodes {
		rw.remap(n)
		for _, r := range n.Regions {
			rw.graph(r)
		}
		rw.visit(e, n)
	}
	g.Nodes = e.nodes
	for i, a := range g.Outputs {
		g.Outputs[i] = MapRefs(a, rw.lookup)
	}
}

func (rw *Rewriter) visit(e *Emitter, n *Node) {
	e.Loc = n.Loc
	first := len(e.nodes)
	repl, keep, err := rw.Visit(e, n)
	if err == nil && !keep && len(repl) > len(n.Outputs) {
		err = fmt.Errorf("%d replacements for %d outputs", len(repl), len(n.Outputs))
	}
	if err != nil {
		rw.errs = append(rw.errs, ErrorAt("", n, err))
		e.nodes, keep = e.nodes[:first], true
	}
	if keep {
		e.nodes = append(e.nodes, n)
		return
	}
	for _, x := range e.nodes[first:] {
		if x == n { // Visit has put the node in its new place
			keep = true
		}
	}
	for i, v := range n.Outputs {
		switch {
		case v == nil:
		case i < len(repl) && repl[i] != nil:
			e.Substitute(v, repl[i])
		case !keep && rw.subst[v] == nil:
			rw.gone[v] = n
		}
	}
}

func (rw *Rewriter) remap(n *Node) {
	for i := range n.Args {
		n.Args[i].Value = MapRefs(n.Args[i].Value, rw.lookup)
	}
}

// remapDeep updates a node and its regions.
func (rw *Rewriter) remapDeep(n *Node) {
	rw.remap(n)
	for _, r := range n.Regions {
		for _, inner := range r.Nodes {
			rw.remapDeep(inner)
		}
		for i, a := range r.Outputs {
			r.Outputs[i] = MapRefs(a, rw.lookup)
		}
	}
}

// lookup returns what stands for v now.
func (rw *Rewriter) lookup(v *Value) Arg {
	if n := rw.gone[v]; n != nil {
		delete(rw.gone, v) // say it once
		rw.errs = append(rw.errs,
			ErrorAt("", n, fmt.Errorf("its output %%%s is used but was replaced by nothing",
				v.Name)))
	}
	a, ok := rw.subst[v]
	if !ok {
		return Ref{v}
	}
	return MapRefs(a, rw.lookup)
}
