package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
)

// ofHalves makes of a product of half floats, whose weights stand for integers, that of float32, in
// which the integers are multiplied. The result alone is rounded.
func (a *integerArithmetic) ofHalves(b *ops.Builder, n *ir.Node, c *ops.Call,
	weight string) []*ir.Value {
	d := c.Outs[0].DType
	if !d.IsHalf() || a.wider(b, c.Value(weight)) == nil {
		return nil
	}
	y := b.Op(n.Op, withRefs(n, func(v *ir.Value) *ir.Value {
		if !v.Type.DType.IsHalf() {
			return v
		}
		if w := a.wider(b, v); w != nil {
			return w
		}
		return cast(b, v, ir.Float32)
	})...)
	made := a.visit(b, y.Def, must.Get(b.Table.Bind(y.Def)))
	if made == nil {
		return nil
	}
	return []*ir.Value{cast(b, made[0], d)}
}

// wider is float32 that stands for integers, and that half floats are rounded from; nil if there is
// none.
func (a *integerArithmetic) wider(b *ops.Builder, v *ir.Value) *ir.Value {
	from := castOf(v)
	switch {
	case from == nil || !v.Type.DType.IsHalf():
		return nil
	case a.of[from] != nil || a.groups[from] != nil:
		return from
	case from.Type.DType == ir.Int8 && a.constant[from]:
		w := cast(b, from, ir.Float32)
		a.widen(w.Def, must.Get(b.Table.Bind(w.Def)))
		return w
	}
	return nil
}

// castOf is what a node makes v of, by its type alone, nil if none does.
func castOf(v *ir.Value) *ir.Value {
	if v == nil || v.Def == nil {
		return nil
	}
	if base := ir.OpBase(v.Def.Op); base != "to" && base != "_to_copy" {
		return nil
	}
	from, ok := v.Def.Arg("self").(ir.Ref)
	if !ok || from.Value.Type.Kind != ir.TensorKind {
		return nil
	}
	return from.Value
}

// widens reports whether v is made of half floats, and holds each.
func widens(v *ir.Value) bool {
	from := castOf(v)
	return from != nil && v.Type.DType == ir.Float32 && from.Type.DType.IsHalf()
}
