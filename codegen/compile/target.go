package compile

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/kernels/tuned"
)

// Targets are the names that Options.Target may have. The first two are the same: whoever compiles
// the package
// decides the machine.
func Targets() []string {
	return []string{"generic", "native", "scalar", "neon", "x86-64-v3", "x86-64-v4", "cortex-m0",
		"cortex-m1", "cortex-m3", "cortex-m4", "cortex-m7",
		"cortex-m23", "cortex-m33", "cortex-m35", "cortex-m52", "cortex-m55",
		"cortex-m85", "riscv32"}
}

// CheckTarget returns an error that lists the targets if name is none.
func CheckTarget(name string) error {
	for _, t := range Targets() {
		if t == name {
			return nil
		}
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
func isMCU(target string) bool {
	return strings.HasPrefix(target, "cortex-m") || target == "riscv32"
}
