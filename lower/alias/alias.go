// Package alias tells which tensors of a graph share memory, and how: every
// tensor is the root of its memory or a view of another tensor.
package alias

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// Alias is a tensor's place in memory. Tensors that are the same elements of
// the same memory without a view between them (what an in-place operator
// returns and what it wrote to) have the same Alias.
type Alias struct {
	Root *ir.Value // whose memory it is
	Type ir.Type

	// Of a view; Parent is nil for the root itself.
	Parent *Alias
	View   ops.View // element c is element View.Map(c) of Parent
	Node   *ir.Node // what makes the view
	Out    int      // as which of its results
}

// Set is the aliases of the tensors of a method.
type Set struct {
	table *ops.Table
	of    map[*ir.Value]*Alias
}

// Analyse finds the aliases of all tensors of g and its regions. What a region
// takes as input or returns is memory of its own, what it captures is not.
// Composite operators that may return a view must be decomposed before, and
// in-place operators that change sizes (squeeze_) replaced.
func Analyse(t *ops.Table, g *ir.Graph) *Set {
	s := &Set{table: t, of: map[*ir.Value]*Alias{}}
	for n := range g.All() {
		s.node(n)
	}
	return s
}

// Of returns the alias of a tensor.
func (s *Set) Of(v *ir.Value) *Alias {
	a := s.of[v]
	if a == nil {
		a = &Alias{Root: v, Type: v.Type}
		s.of[v] = a
	}
	return a
}

func (s *Set) node(n *ir.Node) {
	if len(n.Regions) > 0 {
		return
	}
	if w, ok := Writes(s.table, n); ok {
		if out := n.Output(0); out != nil {
			s.of[out] = s.Of(w.Target)
		}
		return
	}
	if Fresh(n.Op) {
		return
	}
	c, err := s.table.Bind(n)
	if err != nil || c.Op.View == nil {
		return
	}
	views, err := c.Op.View(c)
	if err != nil {
		return
	}
	for i, view := range views {
		out := n.Output(i)
		if out == nil {
			continue
		}
		p := s.Of(c.Operands()[view.Of])
		s.of[out] = &Alias{Root: p.Root, Type: out.Type, Parent: p, View: view, Node: n, Out: i}
	}
}

// Fresh reports whether op gives memory of its own although its schema says it
// returns a view: lift_fresh stands for a constant that Python makes anew in
// every call.
func Fresh(op string) bool {
	return op == "aten.lift_fresh.default" || op == "aten.lift.default"
}

// Write is what an in-place operator does: Target takes the result of the
// functional operator called with the same arguments.
type Write struct {
	Functional string
	Target     *ir.Value
	Rebind     bool // Target takes a view's sizes and strides; no element changes
}

// Writes returns what n writes to if it is an in-place operator.
func Writes(t *ops.Table, n *ir.Node) (Write, bool) {
	if len(n.Regions) > 0 {
		return Write{}, false
	}
	if op, ok := t.Lookup(n.Op); !ok || op.Name() == n.Op {
		return Write{}, false // unknown, or an entry of its own
	}
	f, ok := t.Functional(n.Op)
	if !ok {
		return Write{}, false
	}
	c, err := t.Bind(n)
	if err != nil || f.Mutated >= len(c.Args) {
		return Write{}, false
	}
	ref, ok := c.Args[f.Mutated].(ir.Ref)
	if !ok || ref.Value.Type.Kind != ir.TensorKind {
		return Write{}, false
	}
	return Write{Functional: f.Name, Target: ref.Value, Rebind: f.Rebind}, true
}
