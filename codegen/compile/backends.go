package compile

import (
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

// Backends are etgen's own backends.
func Backends() []partition.Backend { return []partition.Backend{xnn.Backend{}} }
