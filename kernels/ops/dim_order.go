package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// dimOrderOps are ExecuTorch's copies that say where the result's elements
// lie by an order of dimensions, outermost first, instead of a memory format,
// and its copies between devices.
func dimOrderOps() []Op {
	const ns = "dim_order_ops::"
	out := []Op{
		dimOrderCopy(ns + "_to_dim_order_copy(Tensor self, " + factoryTail +
			", bool non_blocking=False, int[]? dim_order=None) -> Tensor"),
		dimOrderCopy(ns +
			"_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? dim_order=None) -> Tensor"),
		dimOrderEmpty(ns + "_empty_dim_order(int[] size, " + factoryTail +
			", int[]? dim_order=None) -> Tensor"),
	}
	for _, s := range []string{"et_copy::_h2d_copy(Tensor self) -> Tensor",
		"et_copy::_d2h_copy(Tensor self) -> Tensor"} {
		out = append(out, converting(s, "self", copyType).core(sameAs("aten.clone.default")))
	}
	return out
}

// dimOrdered is t as dtype d with its dimensions in the order of the dim_order
// argument; absent, in the order they are in.
func (c *Call) dimOrdered(t ir.Type, d ir.DType) (ir.Type, error) {
	if !c.Has("dim_order") {
		return likeType(t, d), nil
	}
	order := must(c.Ints("dim_order"))
	if len(order) != t.Rank() {
		return t, c.Errorf("an order of %d dimensions for a tensor with %d", len(order), t.Rank())
	}
	perm := make([]int, len(order))
	for i, n := range order {
		if n < 0 || n >= int64(len(order)) || slices.Contains(order[:i], n) {
			return t, c.Errorf("%v is no order of %d dimensions", order, len(order))
		}
		perm[len(order)-1-i] = int(n)
	}
	return ir.Type{Kind: ir.TensorKind, DType: d, Sizes: t.Sizes, Strides: stridesInOrder(t.Sizes,
		perm)}, nil
}

func dimOrderCopy(schema string) Op {
	return converting(schema, "self", func(c *Call) (ir.Type, error) {
		t := c.Tensor("self")
		d := t.DType
		if c.Op.sch.Index("dtype") >= 0 {
			d = c.DType("dtype", d)
		}
		return c.dimOrdered(t, d)
	})
}

// dimOrderEmpty makes a tensor of zeros: what it holds is undefined.
func dimOrderEmpty(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			sizes := must(c.sizes("size"))
			d := c.DType("dtype", defaultFloat)
			return one(c.dimOrdered(ir.TensorOf(d, sizes...), d))
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out := c.Outs[0]
			vars, _ := indexVars(out.Sizes)
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Num(out.DType, 0)}}, nil
		},
	}
}
