package raise

import (
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// Known reports whether calls of an operator can be raised.
func Known(table *ops.Table, o pte.Operator) bool { return roleOf(table, o).kind != unknown }

// Scratch reports whether argument i of an operator is memory to work in, which
// holds nothing before the call and nothing afterwards.
func Scratch(table *ops.Table, o pte.Operator, i int) bool { return roleOf(table, o).isScratch(i) }
