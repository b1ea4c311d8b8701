package ir

// Rewriter replaces nodes of a method while it walks them in order. It is the
// one way passes change graphs.
type Rewriter struct {
	Names *Names
	// Visit sees each node after its operands were rewritten. It returns the
	// node's replacement values, parallel to n.Outputs, having emitted new
	// nodes through e; or keep=true to leave the node as it is.
	Visit func(e *Emitter, n *Node) (repl []*Value, keep bool, err error)

	subst map[*Value]*Value
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
// the operator.
func (e *Emitter) Emit(op string, args []NamedArg, types ...Type) *Node {
	n := &Node{Name: e.Names.Fresh(OpBase(op)), Op: op, Args: args, Loc: e.Loc}
	for i, t := range types {
		name := n.Name
		if len(types) > 1 {
			name = e.Names.Fresh(n.Name + "_out")
		}
		n.Outputs = append(n.Outputs, &Value{Name: name, Type: t, Def: n, Index: i})
	}
	e.nodes = append(e.nodes, n)
	return n
}

// Append adds a node made elsewhere.
func (e *Emitter) Append(n *Node) { e.nodes = append(e.nodes, n) }

// Constant adds a constant to the method and returns its value.
func (e *Emitter) Constant(base string, c *Constant) *Value {
	v := &Value{Name: e.Names.Fresh(base), Type: c.Type, Const: c}
	e.graph.Constants = append(e.graph.Constants, v)
	return v
}

// Inline appends the nodes of region g with its inputs bound to args, and
// returns what g returns.
func (e *Emitter) Inline(g *Graph, args []*Value) []Arg {
	for i, in := range g.Inputs {
		e.rw.subst[in] = args[i]
	}
	for _, n := range g.Nodes {
		e.rw.remap(n)
		e.nodes = append(e.nodes, n)
	}
	e.graph.Constants = append(e.graph.Constants, g.Constants...)
	out := make([]Arg, len(g.Outputs))
	for i, a := range g.Outputs {
		out[i] = MapRefs(a, e.rw.lookup)
	}
	return out
}

// Substitute makes every later use of old refer to new.
func (e *Emitter) Substitute(old, new *Value) { e.rw.subst[old] = new }

// Run rewrites m.
func (rw *Rewriter) Run(m *Method) error {
	if rw.Names == nil {
		rw.Names = NewNames(m)
	}
	rw.subst = map[*Value]*Value{}
	return rw.graph(m.Graph)
}

func (rw *Rewriter) graph(g *Graph) error {
	e := &Emitter{Names: rw.Names, graph: g, rw: rw}
	for _, n := range g.Nodes {
		rw.remap(n)
		for _, r := range n.Regions {
			if err := rw.graph(r); err != nil {
				return err
			}
		}
		e.Loc = n.Loc
		repl, keep, err := rw.Visit(e, n)
		if err != nil {
			return err
		}
		if keep {
			e.nodes = append(e.nodes, n)
			continue
		}
		for i, v := range n.Outputs {
			if v != nil && i < len(repl) && repl[i] != nil {
				rw.subst[v] = repl[i]
			}
		}
	}
	g.Nodes = e.nodes
	for i, a := range g.Outputs {
		g.Outputs[i] = MapRefs(a, rw.lookup)
	}
	return nil
}

func (rw *Rewriter) remap(n *Node) {
	for i := range n.Args {
		n.Args[i].Value = MapRefs(n.Args[i].Value, rw.lookup)
	}
}

func (rw *Rewriter) lookup(v *Value) Arg {
	for {
		w, ok := rw.subst[v]
		if !ok {
			return Ref{v}
		}
		v = w
	}
}
