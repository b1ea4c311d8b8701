package lower

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/etgen/etgen/kernels/ops"
)

// HasKernel keeps the operators that native form can be built of: all but
// those that only say how they decompose.
func HasKernel(op *ops.Op) bool {
	return op.Compute != nil || op.Loops != nil || op.View != nil || op.Value != nil ||
		op.ScalarOp != nil || op.Effect
}

//go:embed core_aten.txt
var coreText string

// coreNames are the operators of Core ATen by the names nodes use.
var coreNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, line := range strings.Fields(coreText) {
		name := strings.Replace(line, "::", ".", 1)
		if strings.Count(name, ".") == 1 {
			name += ".default"
		}
		names[name] = true
	}
	return names
})

// IsCore keeps the operators of Core ATen, what is outside of ATen, and what
// has no decomposition and is no view. unfold is in no list, but run_decompositions
// leaves it.
func IsCore(op *ops.Op) bool {
	return coreNames()[op.Name()] || op.Name() == "aten.unfold.default" ||
		!strings.HasPrefix(op.Name(), "aten.") ||
		op.Decompose == nil && op.View == nil
}
