package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// fractionalPool is the largest element of each window, and its place in the plane. Windows begin
// at distances that differ by one, as a sample of each plane and dimension says.
func fractionalPool(n int) entry {
	d := itoa(n)
	return entry{
		Schema: "aten::fractional_max_pool" + d + "d(Tensor self, int[" + d + "] kernel_size, int[" + d +
			"] output_size, Tensor random_samples) -> (Tensor, Tensor)",
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			x, samples := c.Value("self"), c.Value("random_samples")
			r := x.Type.Rank() - n
			c.errorIf(r != 1 && r != 2 || !x.Type.DType.IsFloat() || samples.Type.DType != x.Type.DType,
				"an input of %s and samples of %s", x.Type.DType, samples.Type.DType)
			s := x.Type.Sizes
			lead, space := sym.Mul(s[:r]...), s[r:]
			c.errorIf(samples.Type.Rank() != 3 ||
				differ(samples.Type.Numel(), sym.Mul(lead, sym.Int(int64(n)))),
				"samples of %s for %s", sizesOf{samples.Type}, sizesOf{x.Type})
			kernel, outs := must(c.Ints("kernel_size")), must(c.Ints("output_size"))
			c.errorIf(len(kernel) != n || len(outs) != n, "windows of %v, outputs of %v", kernel, outs)
			b.limit(c, slices.Concat(kernel, outs)...)
			samples = b.reshaped(samples, lead, sym.Int(int64(n)))
			var places *ir.Value // [planes, outputs…, kernel…], in a plane
			for k := range n {
				at := k
				if n == 2 { // in two dimensions the sample of columns comes first
					at = 1 - k
				}
				c.errorIf(kernel[k] < 1 || outs[k] < 1, "windows of %v, outputs of %v", kernel, outs)
				c.need(sym.Sub(space[k], sym.Int(kernel[k]+outs[k]-2)))
				place := b.fractionalPlaces(b.aten("narrow", samples, 1, at, 1), space[k], kernel[k], outs[k])
				shape := slices.Repeat([]sym.Expr{sym.Int(1)}, 2*n+1)
				shape[0], shape[1+k], shape[1+n+k] = lead, sym.Int(outs[k]), sym.Int(kernel[k])
				place = b.mul(b.reshaped(place, shape...), sym.Mul(space[k+1:]...))
				if places != nil {
					place = b.add(places, place)
				}
				places = place
			}
			window := int64(1)
			for _, k := range kernel {
				window *= k
			}
			flat := b.aten("reshape", places, []sym.Expr{lead, sym.Mul(places.Type.Sizes[1:]...)})
			values := b.aten("gather", b.aten("reshape", x, []sym.Expr{lead, sym.Mul(space...)}), 1, flat)
			rows := []sym.Expr{lead, sym.FloorDiv(flat.Type.Sizes[1], sym.Int(window)), sym.Int(window)}
			largest := b.Ops("aten.max.dim", b.reshaped(values, rows...), 2, true)
			which := b.aten("gather", b.reshaped(flat, rows...), 2, largest[1])
			sizes := slices.Clone(s[:r])
			for _, o := range outs {
				sizes = append(sizes, sym.Int(o))
			}
			return []*ir.Value{b.reshaped(largest[0], sizes...), b.reshaped(which, sizes...)}
		},
	}
}

// fractionalPlaces are the elements of the windows along a dimension: [planes, outputs, kernel].
func (b *Builder) fractionalPlaces(sample *ir.Value, n sym.Expr, kernel, outs int64) *ir.Value {
	last := sym.Sub(n, sym.Int(kernel))
	start := b.aten("full", []sym.Expr{sample.Type.Sizes[0], sym.Int(1)}, last, Kw("dtype", ir.Int64))
	if outs > 1 {
		d := sample.Type.DType
		step := b.div(b.scalar(last, d), b.scalar(outs-1, d))
		whole := func(x *ir.Value) *ir.Value { return b.cast(b.mul(x, step), ir.Int64) }
		i := b.aten("arange", outs-1, Kw("dtype", d))
		start = b.aten("cat", []*ir.Value{b.sub(whole(b.add(i, sample)), whole(sample)), start}, 1)
	}
	return b.add(b.aten("unsqueeze", start, 2), b.aten("arange", kernel))
}
