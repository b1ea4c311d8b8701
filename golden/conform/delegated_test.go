package conform

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// Programs with delegates that ExecuTorch's exporter wrote: a few, and all.
const (
	delegated    = "../delegated"
	allDelegated = "../../../shared/pte-delegated"
)

// delegatedCases are those of payloads that say what is computed.
var delegatedCases = []string{"xnn*", "demo_executor*", "demo_sin*", "demo_alignment",
	"demo_add_mul_whole", "demo_partitioner", "demo_submodule"}

// Programs with delegates whose payloads are known compile as others do, run in the runtime, by
// delegate or compiled whole, and give what was recorded. What XNNPACK's own integer kernels round
// otherwise has slack, see testcase.
func TestDelegatedPrograms(t *testing.T) {
	for _, w := range []way.Way{way.Reference{}, way.RT{}, way.RT{Settings: way.Settings{},
		Optimize: true}, way.C{}, way.Go{}} {
		t.Run(w.Name(), func(t *testing.T) {
			dirs := []string{delegated}
			patterns := tier.Of(nil, delegatedCases, delegatedCases)
			if name := w.Name(); name == "c" || name == "go" {
				tier.Needs(t, tier.Normal)
			}
			for _, pattern := range patterns {
				found, err := filepath.Glob(filepath.Join(allDelegated, pattern))
				if err != nil {
					t.Fatal(err)
				}
				dirs = append(dirs, found...)
			}
			report, err := Check(t.Context(), dirs, []way.Way{w}, func(m Miss) { t.Error(m) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.Passed == 0 {
				t.Error("there are no cases")
			}
			t.Log(report)
		})
	}
}

// Payloads of ExecuTorch's demonstrations that name operators or nothing, and no weights or
// operands, cannot be computed from their files. Each way says so.
func TestUntoldPrograms(t *testing.T) {
	var dirs []string
	for _, name := range []string{"attr_partitioner", "mapping", "cond", "map"} {
		dir := filepath.Join(allDelegated, "demo_"+name)
		if there(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		t.Skipf("%s is not here", allDelegated)
	}
	for _, w := range []way.Way{way.RT{}, way.RT{Optimize: true}, way.C{}, way.Go{}} {
		told := map[string]bool{}
		report, err := Check(t.Context(), dirs, []way.Way{w}, func(m Miss) {
			told[m.Case] = strings.Contains(m.String(), "that is nowhere in the file, so nothing computes "+
				"its results from the file alone")
			if !told[m.Case] {
				t.Error(m)
			}
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.Passed > 0 || len(told) != len(dirs) {
			t.Errorf("%s: %v; told of %v", w.Name(), report, told)
		}
	}
}
