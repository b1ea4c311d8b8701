package compile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/etgen/etgen/kernels/tuned"
)

// Targets are the names that Options.Target may have, besides those of other
// Cortex-M cores. The first two are the same: whoever compiles the package
// decides the machine.
func Targets() []string {
	return []string{"generic", "native", "scalar", "neon", "x86-64-v3", "x86-64-v4", "cortex-m0", "cortex-m4", "cortex-m7", "cortex-m33", "riscv32"}
}

var cortexM = regexp.MustCompile(`^cortex-m[0-9]+$`)

// CheckTarget returns an error that lists the targets if name is none.
func CheckTarget(name string) error {
	for _, t := range Targets() {
		if t == name {
			return nil
		}
	}
	if cortexM.MatchString(name) {
		return nil
	}
	return fmt.Errorf("the target %q is unknown: take %s", name, strings.Join(Targets(), ", "))
}

func (opt Options) target() tuned.Target {
	t := tuned.Target{Lang: opt.Lang, Name: opt.Target, Threads: opt.Threads}
	if !opt.DivideAll {
		t.DividedFrom = tuned.WorthThreads
	}
	if t.Name == "" {
		t.Name = "generic"
	}
	t.Speed = opt.Optimize == "speed" || opt.Optimize == "" && !isMCU(t.Name)
	return t
}

// isMCU reports whether a target is a microcontroller, where code size counts
// first.
func isMCU(target string) bool { return cortexM.MatchString(target) || target == "riscv32" }
