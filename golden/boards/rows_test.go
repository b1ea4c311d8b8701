package boards

import (
	"slices"
	"testing"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// Visual wake words from a camera that hands over one row at a time: arena, which has the
// rows, state and stack take less than 24 KB, the result has the bits of the whole image's,
// and the work is no more than a few percent above the whole image's.
func TestRows(t *testing.T) {
	tier.Needs(t, tier.Normal)
	c := readCase(t, shared+"/trained_vww01")
	target := toolchain.CortexM4().With("-O3")
	skipWithout(t, target.Compiler, baremetal.CortexM4.Emulator)
	recipe := recipeOf(t, c)
	ints := inIntegers(t, c, recipe)
	const most = 24 << 10
	for _, tt := range []struct {
		name, optimize string
	}{{"speed", "speed"}, {"size", "size"}} {
		t.Run(tt.name, func(t *testing.T) {
			kase := interpreted(t, ints, compile.Options{Recipe: recipe})
			whole := ran(t, target, &generated{kase: kase, name: "vww", optimize: tt.optimize,
				recipe: recipe})
			g := &generated{kase: kase, name: "vww", optimize: tt.optimize, recipe: recipe, rows: true}
			rows := ran(t, target, g)
			ram := g.arena.Size + g.state + int64(rows.Stack)
			t.Logf("arena %d, state %d, stack %d: %d bytes; instructions %d, of the whole image %d",
				g.arena.Size, g.state, rows.Stack, ram, rows.Instructions, whole.Instructions)
			if ram >= most {
				t.Errorf("%d bytes of memory, less than %d are wanted", ram, most)
			}
			if !slices.EqualFunc(rows.Runs[0].Outputs, whole.Runs[0].Outputs, slices.Equal) {
				t.Error("by rows the result is another one")
			}
			if float64(rows.Instructions) > 1.05*float64(whole.Instructions) {
				t.Errorf("%d instructions, by whole images %d", rows.Instructions,
					whole.Instructions)
			}
		})
	}
}

// ran runs the first call of what g says on a Cortex-M4.
func ran(t *testing.T, target toolchain.Target, g *generated) *baremetal.Report {
	t.Helper()
	g.generate(t, target)
	work := t.TempDir()
	runs, err := g.runs(work)
	if err != nil {
		t.Fatal(err)
	}
	report, err := g.model.ExecuteOn(t.Context(), baremetal.CortexM4, true, target, work,
		g.sources, runs[:1], 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if g.stream == nil {
		checkOutputs(t, g, report, false)
	}
	return report
}
