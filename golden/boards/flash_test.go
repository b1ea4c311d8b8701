package boards

import (
	"strings"
	"testing"
)

// flashLimit is what code and its tables may take for a network in int8, in bytes.
const flashLimit = 10 << 10

// Code and tables of a network in int8 that is compiled for space fit into 10 KiB on every core. Of
// q_mlp3_dynamic they do not where floats are computed in software: its scales are float64 numbers
// of the run, and the compiler's functions for these take 8 KB on a Cortex-M0+.
func TestCodeFits(t *testing.T) {
	networks := map[string]bool{}
	for _, m := range counted {
		name := modelName(m.dir)
		if m.quantize {
			name += "-int8"
		}
		networks[name] = m.bytes && !m.kind && name != "models/q_mlp3_dynamic"
	}
	looked := 0
	for line, n := range countedLines(t) {
		model, on, _ := strings.Cut(line, " ")
		if !networks[model] || !strings.HasSuffix(on, "-size") {
			continue
		}
		looked++
		if took := n[1] + n[2]; took > flashLimit {
			t.Errorf("%s: %d bytes of code and tables, more than %d", line, took, flashLimit)
		}
	}
	if looked < 35 {
		t.Errorf("%d networks looked at", looked)
	}
}
