package safety

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// The C of all cases runs under AddressSanitizer and UndefinedBehaviorSanitizer:
// every argument is a heap block of as many bytes as the generated header says,
// and where sizes are dynamic once more of exactly the bytes the case has.
func TestSanitizers(t *testing.T) {
	w := way.C{
		Target: toolchain.GCC().With(toolchain.Sanitizers()...).Named("gcc with sanitizers"),
		// The harness ends by exit, with blocks still in use.
		Env: []string{"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0",
			"UBSAN_OPTIONS=print_stacktrace=1"},
		ByHeader: true,
	}
	check := func(dirs []string, w way.Way) {
		report, err := conform.Check(t.Context(), dirs, []way.Way{w}, func(m conform.Miss) {
			t.Error(m)
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(report)
	}
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	check(tier.Some(dirs, 4, 36), w)
	w.ByHeader = false
	check(tier.Some(dynamicCases(t), 2, 16), w)
}

// dynamicCases are the cases whose graphs have sizes that differ between calls.
func dynamicCases(t *testing.T) []string {
	graphs, err := filepath.Glob("../cases/*/graph.core.txt")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, name := range graphs {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "Range constraints: {}") {
			dirs = append(dirs, filepath.Dir(name))
		}
	}
	if len(dirs) == 0 {
		t.Fatal("no case has dynamic sizes")
	}
	return dirs
}
