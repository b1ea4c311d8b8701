package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// quantileOps are quantiles and means, and those that leave out NaN.
func quantileOps() []Op {
	const tail = "int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"
	return []Op{
		derived("aten::quantile(Tensor self, Tensor q, "+tail, quantile(false)),
		derived("aten::quantile.scalar(Tensor self, float q, "+tail, quantile(false)),
		derived("aten::nanquantile(Tensor self, Tensor q, "+tail, quantile(true)),
		derived("aten::nanquantile.scalar(Tensor self, float q, "+tail, quantile(true)),
		derived("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			x := c.Value("self")
			total := b.Op("aten.nansum.default", x, c.Arg("dim"), c.Bool("keepdim"),
				Kw("dtype", c.Arg("dtype")))
			numbers := b.Op("aten.logical_not.default", b.Op("aten.isnan.default", x))
			if c.Has("dim") {
				return b.div(total, b.Op("aten.sum.dim_IntList", numbers, c.Arg("dim"),
					c.Bool("keepdim"))), nil
			}
			return b.div(total, b.Op("aten.sum.dim_IntList", numbers, upTo(x.Type.Rank()),
				c.Bool("keepdim"))), nil
		}),
	}
}

// quantile sorts along dim, or all elements, and reads between the two whose
// ranks are around q·(n-1). The quantiles come before the other dimensions. NaN
// in a line makes the result NaN, or, if left out, lessens n.
func quantile(skip bool) func(*Builder, *Call) (*ir.Value, error) {
	return func(b *Builder, c *Call) (*ir.Value, error) {
		x, keep := c.Value("self"), c.Bool("keepdim")
		rank := x.Type.Rank()
		q, single := must2(b.quantilesAsked(c))
		// The line is the last dimension: x is [others…, n].
		var others []sym.Expr
		d := 0
		if c.Has("dim") && rank > 0 {
			d = must(c.dim("dim", rank))
			others = slices.Delete(slices.Clone(x.Type.Sizes), d, d+1)
			x = b.Op("aten.movedim.int", x, d, -1)
		} else {
			x = b.Op("aten.reshape.default", x, []int{-1})
		}
		n := x.Type.Sizes[len(others)]
		if sym.Less(n, sym.Int(1)) {
			return nil, c.Errorf("no elements to take a quantile of")
		}
		nan := b.Op("aten.isnan.default", x)
		least := b.Op("aten.sub.Tensor", b.scalarOf(n), b.scalar(1, ir.Float64))
		var at *ir.Value // ranks, [others…, number of quantiles]
		if skip {
			numbers := b.Op("aten.sum.dim_IntList", b.Op("aten.logical_not.default", nan),
				[]int{-1}, true)
			at = b.Op("aten.clamp_min.default",
				b.mul(q, b.Op("aten.sub.Scalar", b.cast(numbers, ir.Float64), 1)), 0)
		} else {
			at = b.where(b.Op("aten.any.dim", nan, -1, true), least, b.mul(q, least), ir.Float64)
		}
		sorted := b.Ops("aten.sort.default", x, -1)[0]
		read := func(rank *ir.Value) *ir.Value {
			return b.Op("aten.gather.default", sorted, -1, b.cast(rank, ir.Int64))
		}
		low := b.Op("aten.floor.default", at)
		var y *ir.Value
		switch how := c.Str("interpolation"); how {
		case "lower":
			y = read(low)
		case "higher":
			y = read(b.Op("aten.ceil.default", at))
		case "nearest":
			y = read(b.Op("aten.round.default", at))
		case "linear", "midpoint":
			var part any = b.cast(b.sub(at, low), x.Type.DType)
			if how == "midpoint" {
				part = b.scalar(0.5, x.Type.DType)
			}
			from, to := read(low), read(b.Op("aten.ceil.default", at))
			y = b.Op("aten.lerp.Tensor", from, to, part)
		default:
			return nil, c.Errorf("interpolation %q", how)
		}
		y = b.Op("aten.movedim.int", y, -1, 0)
		if keep && c.Has("dim") && rank > 0 {
			y = b.Op("aten.unsqueeze.default", y, d+1)
		} else if keep {
			y = b.Op("aten.reshape.default", y, slices.Concat([]int{-1},
				slices.Repeat([]int{1}, rank)))
		}
		if single {
			y = b.Op("aten.squeeze.dims", y, []int{0})
		}
		return y, nil
	}
}

// quantilesAsked returns argument q as float64 [k], and whether it is one.
func (b *Builder) quantilesAsked(c *Call) (q *ir.Value, single bool, err error) {
	if c.Operand("q") < 0 {
		x, err := c.Float("q")
		if err == nil && !(x >= 0 && x <= 1) {
			err = c.Errorf("q is %g, not in [0, 1]", x)
		}
		// The number is one of the input's dtype first.
		v := b.cast(b.scalar(x, c.Tensor("self").DType), ir.Float64)
		return b.Op("aten.reshape.default", v, []int{1}), true, err
	}
	q = b.cast(c.Value("q"), ir.Float64)
	if q.Type.Rank() > 1 {
		return nil, false, c.Errorf("q with %d dimensions", q.Type.Rank())
	}
	return b.Op("aten.reshape.default", q, []int{-1}), q.Type.Rank() == 0, nil
}

// scalarOf is a size as a float64 tensor without dimensions.
func (b *Builder) scalarOf(n sym.Expr) *ir.Value {
	return b.Op("aten.scalar_tensor.default", n, Kw("dtype", ir.Float64))
}
