package conform

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/plan"
)

// The C of cases whose arena is divided into banks, each a block of its own of exactly its
// bytes, under sanitizers: as hosts' code, as that of a microcontroller, with results in
// place across none, and with buffers that are overwritten once they are dead.
func TestBanks(t *testing.T) {
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	check := func(dirs []string, w way.Way) {
		t.Helper()
		report, err := Check(t.Context(), dirs, []way.Way{w}, func(m Miss) { t.Error(m) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(report)
	}
	banks := []plan.Bank{{Name: "itcm", Size: 96}, {Name: "dtcm", Size: 1 << 10},
		{Name: "sram", Size: 1 << 30}}
	target := toolchain.GCC().With(toolchain.Sanitizers()...).Named("gcc with sanitizers")
	settings := []compile.Options{{}, {Target: "cortex-m4"}, {Planner: plan.Disjoint{}, Poison: true},
		{Threads: 3, DivideAll: true}}
	for k, opt := range settings {
		opt.Banks = banks
		check(append(tier.Share(tier.Some(dirs, 4, 48), k, len(settings)), "../cases/many_results"),
			way.C{Settings: way.Settings{Options: opt}, Target: target,
				Env: []string{"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0"}})
	}
	// Of an ExecuTorch program planned memory has as many buffers; methods_shared has one of
	// its own besides.
	programs := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return Refused(filepath.Base(dir)) != ""
	})
	some := append(tier.Some(programs, 4, 40), "../cases/methods_shared", "../cases/branches")
	check(some, way.RT{Settings: way.Settings{Options: compile.Options{Banks: banks}}})
}
