package ir

import (
	"fmt"
	"iter"
	"strings"
)

// Names hands out names that are unique in a method, regions included.
type Names struct {
	used map[string]int // definitions of each name: sibling regions may share one
	next map[string]int // the suffix to try next
}

// NewNames returns the names of m as taken.
func NewNames(m *Method) *Names {
	ns := &Names{used: map[string]int{}, next: map[string]int{}}
	m.Graph.Walk(func(g *Graph) {
		for _, v := range g.Inputs {
			ns.used[v.Name]++
		}
		for _, v := range g.Constants {
			ns.used[v.Name]++
		}
		for _, n := range g.Nodes {
			for _, name := range n.ownNames() {
				ns.used[name]++
			}
		}
	})
	return ns
}

// ownNames returns the names that n and its outputs have, each once.
func (n *Node) ownNames() []string {
	names := []string{n.Name}
	for _, v := range n.Outputs {
		if v != nil && v.Name != n.Name {
			names = append(names, v.Name)
		}
	}
	return names
}

// Fresh returns base, or base_1, base_2, … if it is taken, and takes it.
func (ns *Names) Fresh(base string) string {
	if base == "" {
		base = "v"
	}
	name := base
	for ns.used[name] > 0 {
		ns.next[base]++
		name = fmt.Sprintf("%s_%d", base, ns.next[base])
	}
	ns.used[name]++
	return name
}

// move returns the name for a definition called name that comes to stand in a
// graph further out: another if something else in the method has it.
func (ns *Names) move(name string) string {
	if ns.used[name] <= 1 {
		return name
	}
	ns.used[name]--
	return ns.Fresh(name)
}

// release gives back the name of a definition that goes away.
func (ns *Names) release(name string) {
	if ns.used[name] > 0 {
		ns.used[name]--
	}
}

// Walk calls f for g and every region below it, outer graphs first.
func (g *Graph) Walk(f func(*Graph)) {
	f(g)
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			r.Walk(f)
		}
	}
}

// All yields the nodes of g and of every region below it, those of outer graphs first.
func (g *Graph) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		more := true
		g.Walk(func(g *Graph) {
			for i := 0; more && i < len(g.Nodes); i++ {
				more = yield(g.Nodes[i])
			}
		})
	}
}

// Uses counts the references to each value in g and the regions below it: as
// an argument, once for each time it occurs, and as an output of a graph.
func Uses(g *Graph) map[*Value]int {
	uses := map[*Value]int{}
	count := func(v *Value) { uses[v]++ }
	g.Walk(func(g *Graph) {
		for _, n := range g.Nodes {
			for _, a := range n.Args {
				EachRef(a.Value, count)
			}
		}
		for _, a := range g.Outputs {
			EachRef(a, count)
		}
	})
	return uses
}

// OpBase returns the plain operator name: "add" of "aten.add.Tensor".
func OpBase(op string) string {
	parts := strings.Split(op, ".")
	if len(parts) >= 2 {
		return parts[1]
	}
	return op
}

// Region builds a graph that a node emitted through e will own. Its inputs'
// names must be from e.Names; build returns its outputs.
func (e *Emitter) Region(inputs []*Value, build func(*Emitter) ([]Arg, error)) (*Graph, error) {
	return buildGraph(e.rw, e.Names, e.Loc, inputs, build)
}

// BuildGraph builds a graph that is no region of another one.
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
