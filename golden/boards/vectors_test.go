package boards

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// inVectors are cases whose loops have most of what the printer has vectors for: numbers that are
// none, masks, tables, rounding, rows of lengths that are no multiple of four. The highest tier
// runs all that the harness can call.
var inVectors = []string{"bool_arith", "complex_functions", "nan_inf", "points_histogram",
	"q_attention", "q_decoder"}

// Loops in the lanes of vectors compute what PyTorch does, for a Cortex-M55.
func TestVectors(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM55().With("-O2")
	skipWithout(t, target.Compiler, baremetal.CortexM55.Emulator)
	dirs, err := testcase.Find(ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		named := slices.Contains(inVectors, filepath.Base(dir))
		if !named && tier.Now() < tier.All {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			g := generate(t, readCase(t, dir), target)
			if !g.fixed && !named {
				t.Skip("the harness calls functions of tensors of fixed sizes")
			}
			work := t.TempDir()
			runs, err := g.runs(work)
			if err != nil {
				t.Fatal(err)
			}
			report, err := g.model.ExecuteOn(t.Context(), baremetal.CortexM55, false, target, work,
				g.sources, runs[:1], timeLimit)
			if err != nil {
				t.Fatal(err)
			}
			checkOutputs(t, g, report, false)
		})
	}
}
