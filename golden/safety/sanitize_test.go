package safety

import (
	"testing"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// The C of all cases runs under AddressSanitizer and UndefinedBehaviorSanitizer:
// every argument is a heap block of exactly its size.
func TestSanitizers(t *testing.T) {
	w := way.C{
		Target: toolchain.GCC().With(toolchain.Sanitizers()...).Named("gcc with sanitizers"),
		// The harness ends by exit, with blocks still in use.
		Env: []string{"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0", "UBSAN_OPTIONS=print_stacktrace=1"},
	}
	report, err := conform.Check(t.Context(), []string{"../cases"}, []way.Way{w}, func(m conform.Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
