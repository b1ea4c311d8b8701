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

// runOn makes the C way among ways compile for a machine.
func runOn(ways []way.Way, machine string) error {
	for _, t := range toolchain.Hosts() {
		if t.Name != machine {
			continue
		}
		for i, w := range ways {
			if c, ok := w.(way.C); ok && machine != "gcc" {
				c.Target = t
				ways[i] = c
			}
		}
		return nil
	}
	return usageError("--machine=%s is unknown: take %s", machine, machineNames())
}
