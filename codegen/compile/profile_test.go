package compile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
)

// Code with a profile is the same code with an event before and after each kernel's call, by its
// number; code that is not asked to be has none, and no file for them.
func TestProfile(t *testing.T) {
	for lang, event := range map[string]string{"c": "net_profile_event(%d);",
		"go": "m.profileEvent(%d)"} {
		packages := map[bool]*codegen.Package{}
		kernels := 0
		for _, on := range []bool{false, true} {
			p, closer, err := Read("../../golden/cases/lenet/model.pt2")
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			opt := Options{Name: "net", Lang: lang, Profile: on}
			np, err := Native(p, opt)
			if err != nil {
				t.Fatal(err)
			}
			kernels = len(codegen.NewEvents(np).Kernels)
			if packages[on], err = Print(np, opt); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range packages[false].Files {
			if strings.Contains(strings.ToLower(f.Name+string(f.Data)), "profile") || kernels == 0 {
				t.Errorf("%s: a profile unasked, or no kernels", f.Name)
			}
		}
		var kept bytes.Buffer
		next := 0
		for line := range strings.Lines(string(packages[true].File("net." + lang))) {
			if strings.TrimSpace(line) == fmt.Sprintf(event, next) {
				next++
				continue
			}
			kept.WriteString(line)
		}
		if next != 2*kernels {
			t.Errorf("%s: %d events in order, want %d", lang, next, 2*kernels)
		}
		plain := string(packages[false].File("net." + lang))
		if extra := strings.Count(kept.String(), "\n") - strings.Count(plain, "\n"); extra < 1 ||
			extra > 4 {
			t.Errorf("%s: %d lines more besides the events", lang, extra)
		}
	}
}
