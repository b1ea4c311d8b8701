package lower

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
)

// OnlyStock fails if an operator is left that the stock runtime has no kernel
// for, or memory for a result cannot be planned, and names all such nodes.
var OnlyStock = Pass{
	Name: "only-stock",
	Doc:  "report operators that cannot be said in those ExecuTorch has kernels for",
	Run: perMethod(func(_ *Context, m *ir.Method) error {
		var errs []error
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				err := stockFault(n)
				if err == nil {
					err = unboundedFault(n)
				}
				if err != nil {
					errs = append(errs, ir.ErrorAt("", n, err))
				}
			}
		})
		return errors.Join(errs...)
	}),
}

// stockFault says why the stock runtime cannot run n, nil if it can.
func stockFault(n *ir.Node) error {
	if len(n.Regions) > 0 {
		return nil
	}
	if !isAssertion(n) && !hasStockKernel(n.Op) && !isCustom(n.Op) {
		return fmt.Errorf(
			"ExecuTorch has no kernel for it, and it cannot be said in operators that have one")
	}
	if n.Op == "aten.convolution.default" {
		if r, ok := n.Arg("input").(ir.Ref); ok && r.Value.Type.Rank() > 4 {
			return fmt.Errorf("ExecuTorch's kernel takes no more than two spatial dimensions")
		}
	}
	if n.Op == toDimOrderOp {
		for _, t := range []ir.Type{n.Outputs[0].Type, n.Arg("self").(ir.Ref).Value.Type} {
			switch t.DType {
			case ir.Uint16, ir.Uint32, ir.Uint64:
				return fmt.Errorf("ExecuTorch has no kernel that converts %s", t.DType)
			}
		}
	}
	return nil
}

// unboundedFault says that memory for a result of n cannot be planned, nil if it can.
func unboundedFault(n *ir.Node) error {
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		for _, e := range v.Type.Sizes {
			if _, most := e.Bounds(); most == math.MaxInt64 && !e.Undefined() {
				return fmt.Errorf("its size %v has no upper bound, which memory planning needs: %s",
					e, ir.WantBound(e))
			}
		}
	}
	return nil
}

// isCustom reports whether op is no operator of PyTorch's or ExecuTorch's own:
// its kernel comes with the program.
func isCustom(op string) bool {
	for _, ns := range []string{"aten.", "prims.", "_operator.", "math.", "torch.", "etgen.",
		"executorch_prim.", "dim_order_ops.", "et_copy.", "higher_order."} {
		if strings.HasPrefix(op, ns) {
			return false
		}
	}
	return true
}
