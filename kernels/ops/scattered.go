package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// unpoolOps put elements where a pooling had found them.
func unpoolOps() []entry {
	return []entry{
		derived("aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
			maxUnpool(2)),
		derived("aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor", maxUnpool(3)),
	}
}

// maxUnpool is 0 but where an index of the last dims dimensions says that an element was.
func maxUnpool(dims int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		x, at := c.Value("self"), c.Value("indices")
		sizes := must(c.SymInts("output_size"))
		lead := x.Type.Rank() - dims
		c.errorIf(lead < 1 || len(sizes) != dims || !sameSizes(x.Type.Sizes, at.Type.Sizes),
			"%s to %d sizes", sizesOf{x.Type, at.Type}, len(sizes))
		flat := func(v *ir.Value) *ir.Value {
			return b.reshaped(v, append(slices.Clone(v.Type.Sizes[:lead]),
				sym.Mul(v.Type.Sizes[lead:]...))...)
		}
		to := append(slices.Clone(x.Type.Sizes[:lead]), sym.Mul(sizes...))
		zeros := b.aten("zeros", to, Kw("dtype", x.Type.DType))
		return b.reshaped(b.aten("scatter.src", zeros, -1, flat(at), flat(x)),
			append(slices.Clone(x.Type.Sizes[:lead]), sizes...)...)
	}
}

// maskedOps index where a mask allows it. Elsewhere indices may be out of range.
func maskedOps() []entry {
	indices := func(b *Builder, c *Call) ir.List {
		x := c.Tensor("self")
		at := slices.Clone(c.Arg("indices").(ir.List))
		c.errorIf(len(at) > x.Rank(), "%d indices of a tensor with %d dimensions", len(at), x.Rank())
		for d, a := range at {
			if ref, ok := a.(ir.Ref); ok {
				last := b.SymInt(sym.Sub(x.Sizes[d], sym.Int(1)))
				at[d] = ir.Ref{Value: b.aten("clamp", ref.Value, 0, last)}
			}
		}
		return at
	}
	return []entry{
		derived("aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			found := b.aten("index.Tensor", c.Value("self"), indices(b, c))
			return b.aten("where.self", c.Value("mask"), found, b.tensor(c, "fill", found.Type.DType))
		}),
		derived("aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			values := b.aten("masked_fill.Scalar", c.Value("values"),
				b.aten("logical_not", c.Value("mask")), 0)
			return b.aten("index_put", c.Value("self"), indices(b, c), values, true)
		}),
	}
}
