package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/seq"
)

// machineNames are the words of --machine.
func machineNames() (names []string) {
	return seq.Map(toolchain.Hosts(), func(t toolchain.Target) string { return t.Name })
}

// hostOf returns the machine and compiler of that name.
func hostOf(name string) (toolchain.Target, bool) {
	for _, t := range toolchain.Hosts() {
		if t.Name == name {
			return t, true
		}
	}
	return toolchain.Target{}, false
}

// ccFlags are the flags that say how programs are built and where they run.
type ccFlags struct {
	machine, cc, cflags string
}

func (f *ccFlags) add(cmd *cobra.Command) {
	oneOf(cmd, &f.machine, "machine", "", machineNames(),
		"the machine of the ways c and go, emulated where need be (default: C has that of --target, "+
			"or what gcc assumes): "+strings.Join(machineNames(), ", "))
	cmd.Flags().StringVar(&f.cc, "cc", "", "the C compiler (default: the machine's)")
	cmd.Flags().StringVar(&f.cflags, "cflags", "",
		"what the C compiler is given behind the machine's flags")
}

// apply makes ways build and run their programs as the flags say.
func (f *ccFlags) apply(ways []way.Way) {
	host, known := hostOf(f.machine)
	c := slices.ContainsFunc(ways, func(w way.Way) bool { _, ok := w.(way.C); return ok })
	golang := slices.ContainsFunc(ways, func(w way.Way) bool { _, ok := w.(way.Go); return ok })
	if f.machine != "" && !c && !golang {
		failUsage("--machine has no effect without --via=c or go: leave it out")
	}
	if (f.cc != "" || f.cflags != "") && !c {
		failUsage("--cc and --cflags have no effect without --via=c: leave them out")
	}
	for i, w := range ways {
		switch w := w.(type) {
		case way.C:
			if known {
				w.Target = host
			}
			if w.Target.Compiler == "" && (f.cc != "" || f.cflags != "") {
				w.Target = toolchain.GCC()
			}
			if f.cc != "" {
				w.Target.Compiler = f.cc
				w.Target = w.Target.Named(f.cc)
			}
			w.Target = w.Target.With(strings.Fields(f.cflags)...)
			w.Settings.Limit = limitOf(w.Settings.Limit, w.Target.Emulator)
			ways[i] = w
		case way.Go:
			w.Machine = toolchain.GoHost(f.machine)
			w.Settings.Limit = limitOf(w.Settings.Limit, w.Machine.Emulator)
			ways[i] = w
		}
	}
}

// limitOf is how long a call may take that may take limit on the machine itself:
// emulated vectors are some hundred times slower, but not all of a call is vectors.
func limitOf(limit time.Duration, emulator []string) time.Duration {
	if len(emulator) > 0 && limit < 1<<58 {
		return 15 * limit
	}
	return limit
}
