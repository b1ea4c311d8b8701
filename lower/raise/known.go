package raise

import (
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// Known reports whether calls of an operator can be raised.
func Known(table *ops.Table, o pte.Operator) bool { return roleOf(table, o).kind != unknown }
