package pte

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/irtest"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/plan"
)

// The cases are functional programs of operators that the stock runtime has;
// tensors share no memory unless they must, so that a listing shows what does.
func TestGenerate(t *testing.T) {
	irtest.RunText(t, "testdata/*.txtar", func(p *ir.Program) (string, error) {
		ctx := &lower.Context{Table: ops.Standard(), Keep: lower.IsStock}
		if err := (lower.Pipeline{lower.OutVariants}).Run(ctx, p, nil); err != nil {
			return "", err
		}
		out, err := Generate(p, Options{Planner: plan.Disjoint{}})
		if err != nil {
			return "", err
		}
		return out.Program.String(), nil
	})
}
