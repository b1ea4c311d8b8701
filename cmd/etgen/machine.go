package main

import (
	"strings"

	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// machineNames lists the words of --machine.
func machineNames() string {
	var names []string
	for _, t := range toolchain.Hosts() {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
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

// runOn makes the C way among ways compile for a machine; "" leaves it at what
// --target says.
func runOn(ways []way.Way, machine string) error {
	if machine == "" {
		return nil
	}
	host, ok := hostOf(machine)
	if !ok {
		return usageError("--machine=%s is unknown: take %s", machine, machineNames())
	}
	for i, w := range ways {
		if c, ok := w.(way.C); ok {
			c.Target = host
			ways[i] = c
		}
	}
	return nil
}
