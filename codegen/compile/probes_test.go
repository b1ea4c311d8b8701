package compile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
)

// Instrumented code is the same code with a call after each kernel's, by its
// number; code that is not asked to be has none.
func TestProbes(t *testing.T) {
	for lang, probe := range map[string]string{"c": "net_probe(%d);", "go": "m.Probe(%d)"} {
		text := map[bool]string{}
		calls := 0
		for _, on := range []bool{false, true} {
			p, closer, err := Read("../../golden/cases/lenet/model.pt2")
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			opt := Options{Name: "net", Lang: lang, Probes: on}
			np, err := Native(p, opt)
			if err != nil {
				t.Fatal(err)
			}
			calls = len(codegen.Probes(np))
			pkg, err := Print(np, opt)
			if err != nil {
				t.Fatal(err)
			}
			text[on] = string(pkg.File("net." + lang))
		}
		if strings.Contains(strings.ToLower(text[false]), "probe") || calls == 0 {
			t.Errorf("%s: probes unasked, or no calls", lang)
		}
		var kept bytes.Buffer
		next := 0
		for line := range strings.Lines(text[true]) {
			if strings.TrimSpace(line) == fmt.Sprintf(probe, next) {
				next++
				continue
			}
			kept.WriteString(line)
		}
		if next != calls {
			t.Errorf("%s: %d probes in order, want %d", lang, next, calls)
		}
		if extra := strings.Count(kept.String(), "\n") - strings.Count(text[false], "\n"); extra <
			1 || extra > 4 {
			t.Errorf("%s: %d lines more besides the probes", lang, extra)
		}
	}
}
