package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// constants returns the values of m and its regions whose data never changes,
// except what nodes compute of them.
func constants(m *ir.Method, written map[string]bool) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for i, v := range m.Graph.Inputs {
		out[v] = v.Const != nil && v.Const.Data != nil && (m.Inputs[i].Kind == ir.TensorConstant ||
			!written[m.Inputs[i].Target])
	}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, v := range g.Constants {
			out[v] = v.Const != nil && v.Const.Data != nil
		}
	})
	return out
}

// denseBytes returns the bytes that a tensor of static sizes takes; ok is
// false for others.
func denseBytes(t ir.Type) (n int64, ok bool) {
	if t.Kind != ir.TensorKind {
		return 0, false
	}
	return t.Bytes().Const()
}

// restride returns the constant that a call makes of a constant operand by
// looking at its elements another way, without touching the data; ok is false
// if it does more, or needs no constant strides for it.
func restride(c *ops.Call, out ir.Type) (k *ir.Constant, ok bool) {
	if len(c.Outs) != 1 {
		return nil, false
	}
	operand, from, coords, ok := reads(c)
	if !ok || c.Operands()[operand].Const == nil || c.Operands()[operand].Type.DType != out.DType {
		return nil, false
	}
	src := c.Operands()[operand].Const
	at := src.Type.Offset
	for d, x := range from {
		at = sym.Add(at, sym.Mul(x, src.Type.Strides[d]))
	}
	t := out
	t.Strides = make([]sym.Expr, len(coords))
	for d, x := range coords {
		v := x.Symbols()
		if len(v) != 1 { // a dimension of size 1 or 0
			t.Strides[d] = sym.Int(1)
			continue
		}
		if t.Strides[d], at, ok = at.Coef(v[0]); !ok {
			return nil, false
		}
		if n, isConst := t.Strides[d].Const(); !isConst || n < 0 {
			return nil, false
		}
	}
	if n, isConst := at.Const(); !isConst || n < 0 {
		return nil, false
	}
	t.Offset = at
	k = &ir.Constant{Name: src.Name, Type: t, Data: src.Data}
	return k, ir.CheckConstant(k) == nil
}
