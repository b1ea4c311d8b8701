package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// trapezoidOps integrate along a dimension: half the sum of neighbours by the
// distance between them.
func trapezoidOps() []Op {
	total := func(b *Builder, x *ir.Value, d int) *ir.Value {
		return b.Op("aten.sum.dim_IntList", x, []int{d})
	}
	running := func(b *Builder, x *ir.Value, d int) *ir.Value {
		return b.Op("aten.cumsum.default", x, d)
	}
	return []Op{
		derived("aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
			trapezia(total)),
		derived("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
			trapezia(total)),
		derived("aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezia(total)),
		derived("aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
			trapezia(total)),
		derived("aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
			trapezia(running)),
		derived("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
			trapezia(running)),
	}
}

func trapezia(sum func(*Builder, *ir.Value, int) *ir.Value) func(*Builder,
	*Call) (*ir.Value, error) {
	return func(b *Builder, c *Call) (*ir.Value, error) {
		y := c.Value("y")
		if y.Type.Rank() == 0 {
			return nil, c.Errorf("a tensor without dimensions")
		}
		d := must(c.dim("dim", y.Type.Rank()))
		left := func(v *ir.Value, d int) *ir.Value {
			return b.Op("aten.slice.Tensor", v, d, 0, sym.Sub(v.Type.Sizes[d], sym.Int(1)))
		}
		right := func(v *ir.Value, d int) *ir.Value { return b.Op("aten.slice.Tensor", v, d, 1) }
		pairs := b.add(right(y, d), left(y, d))
		if c.Op.sch.Index("x") < 0 {
			step, err := c.Float("dx")
			return b.Op("aten.mul.Scalar", sum(b, pairs, d), step/2), err
		}
		x := c.Value("x")
		xd := 0 // one vector for all lines, or as many dimensions as y from the last
		if x.Type.Rank() > 1 {
			if xd = d - (y.Type.Rank() - x.Type.Rank()); xd < 0 {
				return nil, c.Errorf("%s do not fit", describeSizes([]ir.Type{y.Type, x.Type}))
			}
		} else if x.Type.Rank() == 0 {
			return nil, c.Errorf("x without dimensions")
		}
		if differ(x.Type.Sizes[xd], y.Type.Sizes[d]) {
			return nil, c.Errorf("%s places for %s values", x.Type.Sizes[xd], y.Type.Sizes[d])
		}
		step := b.sub(right(x, xd), left(x, xd))
		if x.Type.Rank() == 1 {
			shape := make([]int, y.Type.Rank()-d)
			for i := range shape {
				shape[i] = 1
			}
			shape[0] = -1
			step = b.Op("aten.reshape.default", step, shape)
		}
		return b.Op("aten.mul.Scalar", sum(b, b.mul(pairs, step), d), 0.5), nil
	}
}
