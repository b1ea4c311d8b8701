package lower

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
)

// OnlyStock fails if an operator is left that the stock runtime has no kernel
// for, and names all such nodes.
var OnlyStock = Pass{
	Name: "only-stock",
	Doc:  "report operators that cannot be said in those ExecuTorch has kernels for",
	Run: perMethod(func(_ *Context, m *ir.Method) error {
		var errs []error
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				if len(n.Regions) == 0 && !hasStockKernel(n.Op) && !isCustom(n.Op) {
					errs = append(errs, ir.ErrorAt("", n, fmt.Errorf("ExecuTorch has no kernel for it, and it cannot be said in operators that have one")))
				}
			}
		})
		return errors.Join(errs...)
	}),
}

// isCustom reports whether op is no operator of PyTorch's or ExecuTorch's own:
// its kernel comes with the program.
func isCustom(op string) bool {
	for _, ns := range []string{"aten.", "prims.", "_operator.", "math.", "torch.", "etgen.", "executorch_prim.", "dim_order_ops.", "et_copy.", "higher_order."} {
		if strings.HasPrefix(op, ns) {
			return false
		}
	}
	return true
}
