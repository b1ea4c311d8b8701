package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// function is what elementwise nodes, each of the one before, make of a quantity of int8.
type function struct {
	of    *quantity
	nodes []*ir.Node
}

// noteFunction notes a node that is an elementwise function of a quantity of int8, or of such a
// function.
func (a *integerArithmetic) noteFunction(n *ir.Node, c *ops.Call) {
	if a.speed || len(n.Outputs) != 1 || len(c.Operands()) != 1 || len(c.Scalars()) > 0 ||
		c.Outs[0].DType != ir.Float32 {
		return
	}
	v := c.Operands()[0]
	f := a.functions[v]
	if q := a.of[v]; f == nil && q != nil && q.uniform() && q.ints.Type.DType == ir.Int8 {
		f = &function{of: q}
	}
	if ts := a.tensors(c); f != nil && len(ts) == 1 && elementwise(ts[0]) {
		a.functions[n.Output(0)] = &function{of: f.of, nodes: append(slices.Clip(f.nodes), n)}
	}
}

// elementwise reports whether each element of t is made of the operand's at the same place.
func elementwise(t expr.Tensor) bool {
	ok := true
	expr.Walk(t.Body, func(e *expr.Expr) {
		switch e.Op {
		case expr.OpReduce, expr.OpIndex, expr.OpScalar:
			ok = false
		case expr.OpLoad:
			ok = ok && slices.EqualFunc(e.Coords, t.Vars, func(x sym.Expr, v *sym.Symbol) bool {
				return x.Equal(v.Expr()) || x.IsZero() && expr.Extent(v).Is(1)
			})
		}
	})
	return ok
}

// table looks up what quantize makes of a function of int8: one of 256 results, which are
// computed now. It is nil if they cannot be.
func (a *integerArithmetic) table(b *ops.Builder, n *ir.Node, f *function,
	to *quantization) *ir.Value {
	bytes := make(ir.Bytes, 256)
	for i := range bytes {
		bytes[i] = byte(i - 128)
	}
	made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
		q := *f.of
		q.ints = b.Constant("int8", &ir.Constant{Type: ir.StaticTensor(ir.Int8, 256), Data: bytes})
		v := (&integerArithmetic{of: map[*ir.Value]*quantity{}}).float(b, &q)
		for _, n := range append(slices.Clip(f.nodes), n) {
			from := must.Get(b.Table.Bind(n)).Operands()[0]
			v = again(b, []*ir.Node{n}, map[*ir.Value]*ir.Value{from: v})
		}
		return []*ir.Value{v}
	})
	if made == nil || made[0].Type.DType.Size() != 1 {
		return nil
	}
	xs, _ := numbersOf(made[0])
	data := seq.Map(xs, func(x float64) int64 { return min(max(int64(x)-to.less, to.lo), to.hi) })
	return b.Op("cortex_m.quantized_activation.default", f.of.ints,
		intConstant(b, n.Name+"_table", ir.Int8, data, 256))
}
