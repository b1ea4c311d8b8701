package boards

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/plan"
)

// An arena in two memories of a board, one of them too small for it: the results are those of
// one memory, nothing is written past the end of either, and the symbols lie where they should.
// With rows and state both memories keep what has to stay between calls.
func TestBanks(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM4()
	skipWithout(t, target.Compiler, "qemu-system-arm")
	for _, tt := range []struct {
		dir  string
		dtcm int64
		rows bool
	}{
		{ours + "/lenet", 512, false},
		{ours + "/q_lenet_static", 2048, false},
		{ours + "/lstm", 64, false},
		{ours + "/branches", 4 << 10, false},
		{ours + "/q_lenet_static", 1024, true},
	} {
		name := modelName(tt.dir)
		if tt.rows {
			name += "/rows"
		}
		t.Run(name, func(t *testing.T) {
			g := &generated{kase: readCase(t, tt.dir), name: compile.NameOf(filepath.Base(tt.dir)),
				rows: tt.rows, banks: []plan.Bank{{Name: "dtcm", Size: tt.dtcm}, {Name: "sram", Size: 1 << 20}}}
			g.generate(t, target)
			work := t.TempDir()
			runs, err := g.runs(work)
			if err != nil {
				t.Fatal(err)
			}
			report, err := g.model.ExecuteOn(t.Context(), baremetal.Firmware, false, target, work,
				g.sources, runs, timeLimit)
			if err != nil {
				t.Fatal(err)
			}
			checkOutputs(t, g, report, false)
			image, err := toolchain.ReadELF(filepath.Join(work, "program.elf"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range image.Symbols {
				if bank, ok := strings.CutPrefix(s.Name, "arena_"); ok &&
					(bank == "dtcm") != (s.Section == ".dtcm") {
					t.Errorf("%s is in %s", s.Name, s.Section)
				}
			}
			t.Logf("banks %v", g.model.Banks)
		})
	}
}
