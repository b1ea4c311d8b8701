package compile

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// checkTypes holds the dtypes that a file records for the results of its nodes
// against those that follow from the operands: a file that was tampered with,
// or an operator that etgen understands otherwise than PyTorch, must not become
// code. Nodes that do not bind are left to lowering, which names all of them.
func checkTypes(table *ops.Table, p *ir.Program) error {
	var errs []error
	for _, m := range p.Methods {
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				if err := checkNode(table, n); err != nil {
					errs = append(errs, ir.ErrorAt(p.Source, n, err))
				}
			}
		})
	}
	return errors.Join(errs...)
}

func checkNode(table *ops.Table, n *ir.Node) error {
	if len(n.Regions) > 0 {
		return nil
	}
	c, err := table.Bind(n)
	if err != nil {
		return nil
	}
	for i, v := range n.Outputs {
		if v == nil || i >= len(c.Outs) || v.Type.Kind != ir.TensorKind || c.Outs[i].Kind != ir.TensorKind {
			continue
		}
		if have, want := v.Type.DType, c.Outs[i].DType; have != want {
			if have.IsComplex() || want.IsComplex() {
				return fmt.Errorf("the operator is not supported on complex numbers: the file says that %s is %v", v.Name, have)
			}
			return fmt.Errorf("the file says that %s is %v, but it is %v", v.Name, have, want)
		}
		if have, want := len(v.Type.Sizes), len(c.Outs[i].Sizes); have != want {
			return fmt.Errorf("the file says that %s has %d dimensions, but it has %d", v.Name, have, want)
		}
	}
	return nil
}
