package ops

import (
	"github.com/etgen/etgen/ir"
)

// coreForm writes an operator with one result in terms of Core ATen. It may
// use Builder.Op.
type coreForm func(b *Builder, c *Call) *ir.Value

// core gives an entry that has a kernel of its own a decomposition for targets
// that have none.
func (op Op) core(f coreForm) Op {
	op.Decompose = func(b *Builder, c *Call) ([]*ir.Value, error) {
		return []*ir.Value{f(b, c)}, nil
	}
	return op
}

// sameAs is another operator with the same arguments in the same order, the
// extra ones behind.
func sameAs(op string, extra ...any) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		args := make([]any, 0, len(c.Args)+len(extra))
		for _, a := range c.Args {
			args = append(args, a)
		}
		return b.Op(op, append(args, extra...)...)
	}
}

// opmathForm computes f on argument self in the dtype PyTorch computes in, and
// rounds to the result's dtype once.
func opmathForm(f func(b *Builder, c *Call, x *ir.Value) *ir.Value) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		return b.cast(f(b, c, b.cast(c.Value("self"), opmath(c.Outs[0].DType))), c.Outs[0].DType)
	}
}

// cast converts a tensor to d.
func (b *Builder) cast(x *ir.Value, d ir.DType) *ir.Value {
	if x.Type.DType == d {
		return x
	}
	return b.Op("aten._to_copy.default", x, Kw("dtype", d))
}

// scalar returns a number as a tensor of dtype d without dimensions.
func (b *Builder) scalar(x any, d ir.DType) *ir.Value {
	return b.Op("aten.scalar_tensor.default", x, Kw("dtype", d))
}

// tensor returns an argument as a tensor of dtype d.
func (b *Builder) tensor(c *Call, name string, d ir.DType) *ir.Value {
	if c.Operand(name) >= 0 {
		return b.cast(c.Value(name), d)
	}
	return b.scalar(c.Arg(name), d)
}

// The operators of Core ATen that decompositions use most.
func (b *Builder) add(x, y any) *ir.Value { return b.Op("aten.add.Tensor", x, y) }
func (b *Builder) sub(x, y any) *ir.Value { return b.Op("aten.sub.Tensor", x, y) }
func (b *Builder) mul(x, y any) *ir.Value { return b.Op("aten.mul.Tensor", x, y) }
func (b *Builder) div(x, y any) *ir.Value { return b.Op("aten.div.Tensor", x, y) }

// where chooses between a, a number or a tensor, and b of dtype d.
func (b *Builder) where(cond *ir.Value, x, y any, d ir.DType) *ir.Value {
	side := func(v any) any {
		if t, ok := v.(*ir.Value); ok && t.Type.Kind == ir.TensorKind {
			return b.cast(t, d)
		}
		return b.scalar(v, d)
	}
	return b.Op("aten.where.self", cond, side(x), side(y))
}
