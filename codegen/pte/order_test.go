package pte

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/plan"
)

// Two branches, each wide at first, in the order that takes most. State is read and written.
const branched = `program "m.pt2"

method forward {
  buffer %last: f32[2, 2] "last" = [1.0, 2.0, 3.0, 4.0]
  input %x: f32[2, 2]
  input %wide: f32[2, 64]
  input %narrow: f32[64, 2]

  %a: f32[2, 64] = aten.mm.default(self=%x, mat2=%wide)
  %b: f32[2, 64] = aten.mm.default(self=%last, mat2=%wide)
  %a2: f32[2, 2] = aten.mm.default(self=%a, mat2=%narrow)
  %b2: f32[2, 2] = aten.mm.default(self=%b, mat2=%narrow)
  %c: f32[2, 2] = aten.mm.default(self=%a2, mat2=%b2)
  return (mutates_buffer "last" = %a2, %c)
}
`

func TestOrder(t *testing.T) {
	made := func(how plan.Planner) (nodes []string, m Memory) {
		out, err := generate(irtest.Parse(t, "m.pt2", branched), Options{Planner: how})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.Origins[0] {
			nodes = append(nodes, o.Node)
		}
		return nodes, out.Memory[0]
	}
	nodes, given := made(plan.Disjoint{}) // which has no use for another order
	if want := []string{"a", "b", "a2", "b2", "c"}; !slices.Equal(nodes, want) {
		t.Errorf("in disjoint memory in the order %v, want %v", nodes, want)
	}
	was, err := plan.Best{}.Plan(given.Problem)
	if err != nil {
		t.Fatal(err)
	}
	nodes, now := made(plan.Best{})
	if now.Plan.Size() >= was.Size() {
		t.Errorf("%d bytes in the order %v, %d as given", now.Plan.Size(), nodes, was.Size())
	}
	at := func(node string) int { return slices.Index(nodes, node) }
	if at("b2") < at("b") || at("a2") < at("a") || at("c") != 4 {
		t.Errorf("order %v", nodes)
	}
}
