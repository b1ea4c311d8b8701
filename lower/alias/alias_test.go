package alias

import (
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

const program = `program "m.pt2"

method forward {
  buffer %b: f32[2, 3] "b" = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  input %p: b8[]
  %t: f32[3, 2][1, 3] = aten.t.default(self=%b)
  %row: f32[2][3] offset(1) = aten.select.int(self=%t, dim=0, index=1)
  %add_: f32[2][3] offset(1) = aten.add_.Tensor(self=%row, other=1)
  %neg: f32[2] = aten.neg.default(self=%add_)
  %copy: f64[2, 3] = aten.to.dtype(self=%b, dtype=f64)
  %fresh: f32[2, 3] = aten.lift_fresh.default(self=%b)
  %x: f32[1], %y: f32[1] offset(1) = aten.split.Tensor(self=%neg, split_size=1)
  %cond: f32[2, 3] = higher_order.cond(%p)
    region () {
      %inner: f32[2, 3] = aten.detach.default(self=%b)
      return (%inner)
    }
    region () {
      return (%b)
    }
  return (%cond)
}
`

func values(g *ir.Graph) map[string]*ir.Value {
	out := map[string]*ir.Value{}
	g.Walk(func(g *ir.Graph) {
		for _, v := range g.Inputs {
			out[v.Name] = v
		}
		for _, n := range g.Nodes {
			for _, v := range n.Outputs {
				out[v.Name] = v
			}
		}
	})
	return out
}

func TestAnalyse(t *testing.T) {
	p := irtest.Parse(t, "m.pt2", program)
	g := p.Methods[0].Graph
	set := Analyse(ops.Standard(), g)
	vs := values(g)
	for name, root := range map[string]string{
		"b": "b", "t": "b", "row": "b", "add_": "b", "neg": "neg", "copy": "copy", "fresh": "fresh",
		"x": "neg", "y": "neg", "cond": "cond", "inner": "b",
	} {
		if got := set.Of(vs[name]).Root.Name; got != root {
			t.Errorf("the root of %s is %s, want %s", name, got, root)
		}
	}
	if set.Of(vs["add_"]) != set.Of(vs["row"]) {
		t.Error("what an in-place operator returns has another alias than what it wrote to")
	}
	row := set.Of(vs["row"])
	if row.Parent != set.Of(vs["t"]) || row.Node.Name != "row" {
		t.Errorf("row is a view by %v", row.Node)
	}
	if at := row.View.Map([]sym.Expr{sym.Int(0)}); !at[0].Is(1) || !at[1].Is(0) {
		t.Errorf("element 0 of row is element %v of t", at)
	}
	if y := set.Of(vs["y"]); y.Out != 1 {
		t.Errorf("y is result %d of the split", y.Out)
	}
}

func TestWrites(t *testing.T) {
	p := irtest.Parse(t, "m.pt2", program)
	var names []string
	p.Methods[0].Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if w, ok := Writes(ops.Standard(), n); ok {
				names = append(names, n.Name, w.Functional, w.Target.Name)
			}
		}
	})
	if len(names) != 3 || names[0] != "add_" || names[1] != "aten.add.Tensor" || names[2] != "row" {
		t.Errorf("got %v", names)
	}
}
