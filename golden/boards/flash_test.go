package boards

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
)

// flashLimit is what code and its tables may take for a network in int8, in bytes.
const flashLimit = 10 << 10

// Code and tables of a network in int8 that is compiled for space fit into 10 KB on every core,
// unless it computes with float64: on a Cortex-M0+ the compiler's functions for these take 8 KB.
func TestCodeFits(t *testing.T) {
	networks := map[string]bool{}
	for _, m := range counted {
		name := modelName(m.dir)
		if m.quantize {
			name += "-int8"
		}
		networks[name] = m.bytes && !m.kind && !inDoubles(&testcase.Case{Dir: m.dir})
	}
	for line, n := range countedLines(t) {
		model, on, _ := strings.Cut(line, " ")
		if !networks[model] || !strings.HasSuffix(on, "-size") {
			continue
		}
		if took := n[1] + n[2]; took > flashLimit {
			t.Errorf("%s: %d bytes of code and tables, more than %d", line, took, flashLimit)
		}
	}
}
