package partition

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// renaming is a backend with a pass of its own: what is an abs becomes an operator that it takes.
type renaming struct{ listed }

func (renaming) Passes() []lower.Pass {
	return []lower.Pass{{Name: "rename", Run: func(_ *lower.Context, p *ir.Program) error {
		for n := range p.Methods[0].Graph.All() {
			if n.Op == "aten.abs.default" {
				n.Op = "aten.neg.default"
			}
		}
		return nil
	}}}
}

// A backend's passes come before it is asked. An operator of which data decides a size stays whole;
// of what others become, parts may be taken.
func TestPipeline(t *testing.T) {
	p, err := ir.Parse("m.pt2", `program "m.pt2"

method forward {
  symbol u0 in [0, 4]
  input %x: f32[4]
  input %y: b8[4]
  %m: f32[4] = aten.abs.default(self=%x)
  %s: f32[u0] = aten.masked_select.default(self=%m, mask=%y)
  %z: f32[4] = aten.silu.default(self=%x)
  return (%s, %z)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p.Dialect = ir.ATen
	report := &Report{}
	use := &Use{Backend: renaming{"a"},
		Specs: []ir.CompileSpec{{Key: "ops", Value: []byte("neg+mul")}}}
	err = Pipeline([]*Use{use}, report, lower.ToExecutorch).Run(&lower.Context{Table: ops.Standard()},
		p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var taken, left []string
	for _, n := range report.Nodes {
		if n.Delegate != "" {
			taken = append(taken, n.Op)
		} else {
			left = append(left, n.Op)
		}
	}
	slices.Sort(left)
	if !slices.Equal(taken, []string{"aten.neg.default", "aten.mul.Tensor"}) ||
		!slices.Equal(left, []string{"aten.masked_select.default", "aten.sigmoid.default"}) {
		t.Errorf("taken %v, left %v", taken, left)
	}
}
