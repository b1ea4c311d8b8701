package ir

// Region builds a graph that a node emitted through e will own. Its inputs'
// names must be from e.Names; build returns its outputs.
func (e *Emitter) Region(inputs []*Value, build func(*Emitter) ([]Arg, error)) (*Graph, error) {
	return buildGraph(e.rw, e.Names, e.Loc, inputs, build)
}

// BuildGraph builds a graph of its own.
func BuildGraph(names *Names, inputs []*Value,
	build func(*Emitter) ([]Arg, error)) (*Graph, error) {
	rw := &Rewriter{Names: names, subst: map[*Value]Arg{}, gone: map[*Value]*Node{}}
	return buildGraph(rw, names, Location{}, inputs, build)
}

func buildGraph(rw *Rewriter, names *Names, loc Location, inputs []*Value,
	build func(*Emitter) ([]Arg, error)) (*Graph, error) {
	g := &Graph{Inputs: inputs}
	e := &Emitter{Names: names, Loc: loc, graph: g, rw: rw}
	out, err := build(e)
	if err != nil {
		return nil, err
	}
	g.Nodes, g.Outputs = e.nodes, out
	return g, nil
}
