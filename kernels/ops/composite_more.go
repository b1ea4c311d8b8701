package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// seldomOps are composites that few models have.
func seldomOps() []Op {
	slope := func(c *Call) (float64, error) {
		lower := must(c.Float("lower"))
		upper, err := c.Float("upper")
		if err == nil && c.Bool("training") {
			err = c.Errorf("slopes drawn at random; export the model after model.eval()")
		}
		return (lower + upper) / 2, err
	}
	leaks := func(b *Builder, c *Call) (*ir.Value, error) {
		s, err := slope(c)
		return b.Op("aten.leaky_relu.default", c.Value("self"), s), err
	}
	const bounds = "Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None"
	return []Op{
		derived("aten::rrelu(Tensor self, "+bounds+") -> Tensor", leaks),
		{
			Schema: "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, " + bounds +
				") -> (Tensor, Tensor noise_out)",
			Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
				y, err := leaks(b, c)
				return []*ir.Value{y, c.Value("noise")}, err
			},
		},
		derived("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				if c.Has("dim") {
					return crossProduct(b, c, "dim")
				}
				for d, n := range c.Tensor("self").Sizes {
					if n.Is(3) {
						return crossAlong(b, c, d)
					}
				}
				return nil, c.Errorf("no dimension of size 3 in %s",
					describeSizes([]ir.Type{c.Tensor("self")}))
			}),
		derived("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", powersOf),
		derived("aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", func(b *Builder, c *Call) (*ir.Value, error) {
			product := b.Op("aten.mul.Scalar", b.Op("aten.outer.default", c.Value("vec1"),
				c.Value("vec2")), c.Arg("alpha"))
			if beta, err := c.Float("beta"); err != nil || beta == 0 {
				return product, err
			}
			return b.add(b.Op("aten.mul.Scalar", c.Value("self"), c.Arg("beta")), product), nil
		}),
		derived("aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				base, err := c.Float("base")
				at := b.Op("aten.linspace.default", c.Arg("start"), c.Arg("end"), c.Arg("steps"),
					Kw("dtype", ir.Float64))
				y := b.Op("aten.exp.default", b.Op("aten.mul.Scalar", at, math.Log(base)))
				if base == 2 {
					y = b.Op("aten.exp2.default", at)
				}
				return b.cast(y, c.DType("dtype", defaultFloat)), err
			}),
		derived("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", affineGrid),
	}
}

// powersOf has the powers of a vector's elements in its columns.
func powersOf(b *Builder, c *Call) (*ir.Value, error) {
	x := c.Value("x")
	if x.Type.Rank() != 1 {
		return nil, c.Errorf("a tensor with %d dimensions", x.Type.Rank())
	}
	n, ok := x.Type.Sizes[0].Const()
	if c.Has("N") {
		k := must(c.Int("N"))
		n, ok = k, true
	}
	if !ok || n < 0 || n > 1<<10 {
		return nil, c.Errorf("a dynamic number of powers, or too many")
	}
	if !x.Type.DType.IsFloat() {
		x = b.cast(x, ir.Int64)
	}
	power := b.Op("aten.ones_like.default", x)
	columns := make([]*ir.Value, n)
	for i := range columns {
		at := n - 1 - int64(i)
		if c.Bool("increasing") {
			at = int64(i)
		}
		columns[at] = power
		power = b.mul(power, x)
	}
	if n == 0 {
		return b.Op("aten.slice.Tensor", b.Op("aten.unsqueeze.default", x, 1), 1, 0, 0), nil
	}
	return b.Op("aten.stack.default", columns, 1), nil
}

// affineGrid maps the centres of cells of [-1, 1] in each dimension, or, with
// corners aligned, places from border to border.
func affineGrid(b *Builder, c *Call) (*ir.Value, error) {
	theta := c.Value("theta")
	sizes := must(c.SymInts("size"))
	n := len(sizes) - 2
	if t := theta.Type; n != 2 && n != 3 || t.Rank() != 3 || !t.Sizes[1].Is(int64(n)) ||
		!t.Sizes[2].Is(int64(n)+1) {
		return nil, c.Errorf("a grid of %d dimensions for maps of %s", n,
			describeSizes([]ir.Type{theta.Type}))
	}
	d := theta.Type.DType
	grid := sizes[2:]
	var columns []*ir.Value // x, y, z; 1
	for i := n - 1; i >= 0; i-- {
		steps, ok := grid[i].Const()
		if !ok {
			return nil, c.Errorf("a grid of a dynamic size")
		}
		last := 1.0
		if !c.Bool("align_corners") && steps > 0 {
			last = float64(steps-1) / float64(steps)
		}
		at := b.Op("aten.linspace.default", -last, last, steps, Kw("dtype", d))
		if steps <= 1 {
			at = b.Op("aten.zeros.default", []int64{steps}, Kw("dtype", d))
		}
		shape := []int{1, 1, 1}[:n]
		shape[i] = -1
		columns = append(columns, b.Op("aten.expand.default", b.Op("aten.reshape.default", at,
			shape), grid))
	}
	columns = append(columns, b.Op("aten.ones_like.default", columns[0]))
	places := b.Op("aten.reshape.default", b.Op("aten.stack.default", columns, -1),
		[]int{1, -1, n + 1})
	mapped := b.Op("aten.matmul.default", places, b.Op("aten.transpose.int", theta, 1, 2))
	shape := append(append(sizes[:1:1], grid...), theta.Type.Sizes[1])
	return b.Op("aten.reshape.default", mapped, shape), nil
}
