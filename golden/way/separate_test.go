package way_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// Models that are compiled together and separate, with kernels that they share, compute what each
// does alone; their text has no warning.
func TestSeparate(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	// Its state shares memory, which programs of several methods refuse.
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return filepath.Base(dir) == "state_tied" })
	if tier.Now() < tier.All {
		dirs = nil
		for _, name := range []string{"lenet", "kws_trained", "cond", "lstm", "cache", "dynamic_two",
			"late_sizes", "q_lenet_static", "special_functions", "mutated_input"} {
			dirs = append(dirs, filepath.Join("../cases", name))
		}
	}
	report, err := conform.Check(t.Context(), dirs, []way.Way{way.Separate{}}, func(m conform.Miss) {
		t.Error(m)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
