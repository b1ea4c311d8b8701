package boards

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// inVectors are cases whose loops have most of what the printer has vectors for: numbers that are
// none, masks, tables, rounding, rows of lengths that are no multiple of four. The highest tier
// runs all that the harness can call.
var inVectors = []string{"bool_arith", "complex_functions", "nan_inf", "points_histogram"}

// Kernels of vectors, and loops in their lanes, compute what PyTorch does, for a Cortex-M55: all
// that are quantized, and those cases named.
func TestVectors(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM55().With("-O2")
	skipWithout(t, target.Compiler, baremetal.CortexM55.Emulator)
	dirs, err := testcase.Find(ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if !slices.Contains(inVectors, name) && !strings.HasPrefix(name, "q_") &&
			tier.Now() < tier.All {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := generate(t, readCase(t, dir), target)
			work := t.TempDir()
			if !g.fixed { // the harness calls none of these
				linked(t, g, target, work)
				return
			}
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
