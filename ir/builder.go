package ir

import (
	"fmt"
	"strings"
)

// Names hands out names that are unique in a method, regions included.
type Names struct{ used map[string]bool }

// NewNames returns the names of m as taken.
func NewNames(m *Method) *Names {
	ns := &Names{used: map[string]bool{}}
	m.Graph.Walk(func(g *Graph) {
		for _, v := range g.Inputs {
			ns.used[v.Name] = true
		}
		for _, v := range g.Constants {
			ns.used[v.Name] = true
		}
		for _, n := range g.Nodes {
			ns.used[n.Name] = true
			for _, v := range n.Outputs {
				if v != nil {
					ns.used[v.Name] = true
				}
			}
		}
	})
	return ns
}

// Fresh returns base, or base_1, base_2, … if it is taken, and takes it.
func (ns *Names) Fresh(base string) string {
	name := base
	for i := 1; ns.used[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	ns.used[name] = true
	return name
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

// OpBase returns the plain operator name: "add" of "aten.add.Tensor".
func OpBase(op string) string {
	parts := strings.Split(op, ".")
	if len(parts) >= 2 {
		return parts[1]
	}
	return op
}
