package native

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// scalar handles a node whose result is a number. Integers the compiler can
// follow are part of their users' types and need no code; what is known only
// when the program runs becomes a Let.
func (b *builder) scalar(f *facts) error {
	for _, v := range f.node.Outputs {
		if v == nil {
			continue
		}
		if v.Type.HasExpr && len(f.call.Operands()) == 0 && len(f.call.Scalars()) == 0 || f.call.Op.ScalarOp == nil && v.Type.HasExpr {
			continue
		}
		if f.call.Op.ScalarOp == nil {
			return fmt.Errorf("the operator has no kernel for numbers known only at run time")
		}
		value, args, err := b.scalarExpr(f)
		if err != nil {
			return err
		}
		let := &Let{Value: value, Args: args, From: []Origin{originOf(f.node)}}
		if syms := v.Type.Expr.Symbols(); v.Type.HasExpr && len(syms) == 1 && v.Type.Expr.Equal(syms[0].Expr()) {
			let.Sym = syms[0]
		} else {
			let.Var = b.scalarVar(v)
		}
		b.emit(let)
	}
	return nil
}

// scalarExpr returns what a node on numbers computes, its operands being
// variables of the method and buffers.
func (b *builder) scalarExpr(f *facts) (*expr.Expr, []*Buffer, error) {
	x, err := f.call.Op.ScalarOp(f.call)
	if err != nil {
		return nil, nil, err
	}
	x = expr.Rewrite(x, func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpScalar:
			v, scalarErr := b.scalarValue(f.call.Scalars()[e.Buf])
			if scalarErr != nil {
				err = scalarErr
				return e
			}
			return expr.Cast(e.DType, v)
		case expr.OpLoad: // one element: the first
			return expr.At(e.Buf, e.DType, flat(f.call.Operands()[e.Buf].Type.Sizes, e.Coords))
		}
		return e
	})
	var args []*Buffer
	for _, v := range f.call.Operands() {
		args = append(args, b.buffer(v))
	}
	return expr.Simplify(x), args, err
}

// effect handles an assertion. One that holds by what the compiler knows needs
// no code.
func (b *builder) effect(f *facts) error {
	if f.call.Op.ScalarOp == nil {
		return nil
	}
	cond, args, err := b.scalarExpr(f)
	if err != nil {
		return err
	}
	if cond.Op == expr.OpConst && cond.Int != 0 {
		return nil
	}
	message := "an assertion of the model"
	if s, ok := f.node.Arg("assert_msg").(ir.Str); ok {
		message = string(s)
	}
	b.emit(&Assert{Cond: cond, Args: args, Message: message, From: []Origin{originOf(f.node)}})
	return nil
}

// scalarValue returns a run-time scalar operand as an expression.
func (b *builder) scalarValue(v *ir.Value) (*expr.Expr, error) {
	if x := b.scalars[v]; x != nil {
		return expr.Get(x), nil
	}
	if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
		return expr.Idx(ir.Int64, v.Type.Expr), nil
	}
	return nil, fmt.Errorf("the number %s is not computed", v.Name)
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
