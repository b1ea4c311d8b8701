package native

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/irtest"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// The cases say in their comment what they show: what is fused, what gets a
// buffer, which copies go, which kernels are shared.
func TestBuild(t *testing.T) {
	irtest.RunText(t, "testdata/*.txtar", func(p *ir.Program) (string, error) {
		np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{}, Kernels: tuned.Standard(), Target: tuned.Target{Lang: "c", Name: "generic"}})
		if err != nil {
			return "", err
		}
		return np.String(), nil
	})
}

// Those of testdata/speed show what only kernels for speed ask for: layouts.
func TestBuildForSpeed(t *testing.T) {
	irtest.RunText(t, "testdata/speed/*.txtar", func(p *ir.Program) (string, error) {
		np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{}, Kernels: tuned.Standard(), Target: tuned.Target{Lang: "c", Name: "generic", Speed: true}})
		if err != nil {
			return "", err
		}
		return np.String(), nil
	})
}
