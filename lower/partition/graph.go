package partition

import (
	"fmt"
	"iter"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Graph is a graph of which a backend is asked what it takes.
type Graph struct {
	Context *lower.Context
	Method  *ir.Method
	// Graph is the main graph of the method or a region.
	Graph *ir.Graph

	use  *Use
	work *method
	self *region
}

// Nodes yields the nodes that the backend may take, in order.
func (g *Graph) Nodes() iter.Seq[*ir.Node] {
	return func(yield func(*ir.Node) bool) {
		for i, n := range g.self.nodes {
			if g.free(i) && !yield(n) {
				return
			}
		}
	}
}

// free reports whether node i may be taken.
func (g *Graph) free(i int) bool {
	return g.self.part[i] < 0 && g.self.barred[i] == "" && inModule(g.self.nodes[i], g.use.Module)
}

// inModule reports whether a node belongs to a module or to one in it; "" has all nodes.
func inModule(n *ir.Node, module string) bool {
	return module == "" || n.Loc.Module == module || strings.HasPrefix(n.Loc.Module, module+".")
}

// Free reports whether the backend may take a node.
func (g *Graph) Free(n *ir.Node) bool {
	i, ok := g.self.index[n]
	return ok && g.free(i)
}

// Spec returns the value of an option that was given to the backend, "" if it was not.
func (g *Graph) Spec(key string) string { return specOf(g.use.Specs, key) }

// Bind returns the call that a node is, with its operator's entry in the table.
func (g *Graph) Bind(n *ir.Node) (*ops.Call, error) { return g.Context.Table.Bind(n) }

// Constant reports whether v holds data that never changes.
func (g *Graph) Constant(v *ir.Value) bool { return g.work.constant[v] }

// State reports whether v is a buffer or parameter that the program writes to.
func (g *Graph) State(v *ir.Value) bool { _, ok := g.work.state[v]; return ok }

// Readers returns the nodes of the graph that read v, in order; elsewhere says whether anything
// else does: a region, or what a graph returns.
func (g *Graph) Readers(v *ir.Value) (nodes []*ir.Node, elsewhere bool) {
	for _, r := range g.work.reads[v] {
		if r.region != g.self || r.node < 0 || len(g.self.nodes[r.node].Regions) > 0 {
			elsewhere = true
			continue
		}
		nodes = append(nodes, g.self.nodes[r.node])
	}
	return nodes, elsewhere
}

// Take takes nodes, which are then in one part or in none. Nodes taken in several calls of Take
// that have one in common belong together too.
func (g *Graph) Take(nodes ...*ir.Node) {
	first := -1
	for _, n := range nodes {
		i, ok := g.self.index[n]
		if !ok || !g.free(i) {
			panic(fmt.Errorf("backend %s takes node %s, which is not to be had",
				g.use.Backend.About().Name, n.Name))
		}
		if first < 0 {
			first = i
		}
		g.self.take(i)
		g.self.join(first, i)
	}
}

// TakeApart takes nodes as Take does, as a part with nothing else in it.
func (g *Graph) TakeApart(nodes ...*ir.Node) {
	g.Take(nodes...)
	if len(nodes) > 0 {
		g.self.apart[g.self.index[nodes[0]]] = true
	}
}

// Refuse says why the backend does not take a node.
func (g *Graph) Refuse(n *ir.Node, why string, args ...any) {
	if i, ok := g.self.index[n]; ok {
		g.self.refuse(i, g.use.Backend.About().Name, fmt.Sprintf(why, args...))
	}
}

// Copy asks for a copy of a constant in each part of the backend's that reads it, though others
// read it too.
func (g *Graph) Copy(v *ir.Value) { g.work.copies[asked{g.use, v}] = true }

// Leave asks for a constant to be an argument of the parts that read it, though nobody else does.
func (g *Graph) Leave(v *ir.Value) { g.work.left[asked{g.use, v}] = true }

// Own asks for state to be a part's own, if that part has all that reads and writes it.
func (g *Graph) Own(v *ir.Value) { g.work.owned[asked{g.use, v}] = true }
