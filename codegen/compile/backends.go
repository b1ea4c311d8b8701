package compile

import "github.com/etgen/etgen/lower/partition"

// Backends are etgen's own backends.
func Backends() []partition.Backend { return nil }
