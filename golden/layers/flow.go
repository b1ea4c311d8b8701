package layers

import (
	"cmp"
	"slices"

	"github.com/etgen/etgen/ir"
)

// flow tells where the values of nodes go.
type flow struct {
	users map[*ir.Node][]*ir.Node // the node around a region, of what the region returns
	out   map[*ir.Node]bool       // gives an output of the method
}

// flowOf follows the values of a method's graph.
func flowOf(g *ir.Graph) *flow {
	f := &flow{users: map[*ir.Node][]*ir.Node{}, out: map[*ir.Node]bool{}}
	f.graph(g, nil)
	return f
}

// graph notes what g's nodes read, and what user reads, who has the region g.
func (f *flow) graph(g *ir.Graph, user *ir.Node) {
	for _, n := range g.Nodes {
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) { f.read(v, n) })
		}
		for _, r := range n.Regions {
			f.graph(r, n)
		}
	}
	for _, a := range g.Outputs {
		ir.EachRef(a, func(v *ir.Value) { f.read(v, user) })
	}
}

// read notes that user reads v, nil being who called the method.
func (f *flow) read(v *ir.Value, user *ir.Node) {
	switch {
	case v.Def == nil:
	case user == nil:
		f.out[v.Def] = true
	case !slices.Contains(f.users[v.Def], user):
		f.users[v.Def] = append(f.users[v.Def], user)
	}
}

// goesOn reports whether what n gives reaches an output, or a node that nothing reads, without
// passing one that agrees.
func (f *flow) goesOn(n *ir.Node, agrees map[*ir.Node]bool) bool {
	seen := map[*ir.Node]bool{n: true}
	for list := []*ir.Node{n}; len(list) > 0; list = list[1:] {
		users := f.users[list[0]]
		if f.out[list[0]] || len(users) == 0 {
			return true
		}
		for _, user := range users {
			if !seen[user] && !agrees[user] {
				seen[user] = true
				list = append(list, user)
			}
		}
	}
	return false
}

// dropGuesses takes pairs away that do not agree, where the floats that are computed of them do:
// each program came to the same by steps of its own. F is the flow of one side.
func dropGuesses(pairs map[int]int, as, bs []value, f *flow, agree func(x, y value) bool) {
	agrees, differs := map[*ir.Node]bool{}, map[*ir.Node][]int{}
	for i, k := range pairs {
		x := as[i]
		n := cmp.Or(x.def, bs[k].def)
		switch {
		case n == nil:
		case !agree(x, bs[k]):
			differs[n] = append(differs[n], i)
		case x.tensor.DType.IsFloat() && varied(x.tensor):
			agrees[n] = true
		}
	}
	for n := range differs {
		delete(agrees, n)
	}
	for n, list := range differs {
		if !f.goesOn(n, agrees) {
			for _, i := range list {
				delete(pairs, i)
			}
		}
	}
}
