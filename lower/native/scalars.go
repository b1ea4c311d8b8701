package native

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// scalar handles a node whose result is a number. Integers the compiler can
// follow are part of their users' types and need no code.
func (b *builder) scalar(f *facts) error {
	for _, v := range f.node.Outputs {
		if v != nil && v.Type.Kind == ir.IntKind && v.Type.HasExpr {
			continue
		}
		return fmt.Errorf("a number computed at run time is not supported here")
	}
	return nil
}

// effect handles an assertion. Those about sizes hold by the bounds the
// generated code checks at entry.
func (b *builder) effect(*facts) error { return nil }

// scalarValue returns a run-time scalar operand as an expression.
func (b *builder) scalarValue(v *ir.Value) (*expr.Expr, error) {
	if x := b.scalars[v]; x != nil {
		return expr.Get(x), nil
	}
	if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
		return expr.Idx(ir.Int64, v.Type.Expr), nil
	}
	return nil, fmt.Errorf("scalar %s is not computed", v.Name)
}

// scalarDType returns the dtype a run-time scalar is passed as.
func scalarDType(v *ir.Value) ir.DType {
	switch v.Type.Kind {
	case ir.BoolKind:
		return ir.Bool
	case ir.IntKind:
		return ir.Int64
	}
	return ir.Float64
}
