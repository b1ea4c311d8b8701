package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Interpolation and padding of grid_sampler as ATen numbers them.
const (
	gridLinear = iota
	gridNearest
	gridCubic

	gridZeros = iota - 3
	gridBorder
	gridReflect
)

// gridAxis is one dimension that is sampled at real coordinates.
type gridAxis struct {
	n       sym.Expr
	size    *expr.Expr // as a real number
	padding int64
	align   bool
}

// pixels turns a coordinate from -1 to 1 into one in elements.
func (g gridAxis) pixels(x *expr.Expr) *expr.Expr {
	x = expr.Add(x, like(x, 1))
	if g.align {
		return expr.Mul(expr.Div(x, like(x, 2)), expr.Sub(g.size, like(x, 1)))
	}
	return expr.Div(expr.Sub(expr.Mul(x, g.size), like(x, 1)), like(x, 2))
}

// padded brings a coordinate inside as the padding mode says.
func (g gridAxis) padded(x *expr.Expr) *expr.Expr {
	last := expr.Sub(g.size, like(x, 1))
	clip := func(x *expr.Expr) *expr.Expr { return expr.Min(last, expr.Max(x, like(x, 0))) }
	switch g.padding {
	case gridBorder:
		return clip(x)
	case gridReflect:
		low, span := like(x, 0), last
		if !g.align {
			low, span = like(x, -0.5), g.size
		}
		if g.align && g.n.Is(1) {
			return like(x, 0)
		}
		d := expr.Abs(expr.Sub(x, low))
		extra, flips := expr.Rem(d, span), expr.Floor(expr.Div(d, span))
		even := expr.Eq(expr.Rem(flips, like(x, 2)), like(x, 0))
		return clip(expr.Select(even, expr.Add(extra, low), expr.Add(expr.Sub(span, extra), low)))
	}
	return x
}

// element returns the coordinate that the whole number x is, and whether it
// lies inside.
func (g gridAxis) element(name string, x *expr.Expr) (sym.Expr, *expr.Expr) {
	inside := expr.And(expr.Ge(x, like(x, 0)), expr.Lt(x, g.size))
	safe := expr.Select(inside, x, like(x, 0))
	return clampedIndex(name, expr.Cast(ir.Int64, safe), g.n, false).Expr(), inside
}

// gridTap is an element, its weight (nil for 1) and whether it is inside.
type gridTap struct {
	at             sym.Expr
	weight, inside *expr.Expr
}

// taps returns what is sampled at x along one dimension.
func (g gridAxis) taps(mode int64, name string, x *expr.Expr) []gridTap {
	x = g.pixels(x)
	switch mode {
	case gridNearest:
		return []gridTap{g.tap(name+"_0", expr.Round(g.padded(x)), nil)}
	case gridLinear:
		return g.linear(name, g.padded(x))
	}
	var out []gridTap // each element is brought inside by itself
	left := expr.Floor(x)
	for k, w := range cubicWeights(expr.Sub(x, left)) {
		out = append(out, g.tap(name+"_"+itoa(k),
			expr.Trunc(g.padded(expr.Add(left, like(x, float64(k-1))))), w))
	}
	return out
}

func (g gridAxis) tap(name string, x, weight *expr.Expr) gridTap {
	at, inside := g.element(name, x)
	return gridTap{at, weight, inside}
}

// linear weighs the two elements around x, in elements.
func (g gridAxis) linear(name string, x *expr.Expr) []gridTap {
	left := expr.Floor(x)
	right := expr.Add(left, like(x, 1))
	return []gridTap{g.tap(name+"_0", left, expr.Sub(right, x)),
		g.tap(name+"_1", right, expr.Sub(x, left))}
}

// gridSampler samples the last n dimensions of input at the coordinates in
// grid, whose last dimension holds x, y, (z).
//
//go:noinline
func gridSampler(schema string, dims ...int) entry {
	setup := func(c *Call) (n int, mode, padding int64) {
		x, g := c.Tensor("input"), c.Tensor("grid")
		n = x.Rank() - 2
		mode = must(c.Int("interpolation_mode"))
		padding = must(c.Int("padding_mode"))
		switch {
		case !slices.Contains(dims, n) || g.Rank() != n+2 ||
			differ(g.Sizes[n+1], sym.Int(int64(n))) || differ(g.Sizes[0], x.Sizes[0]):
			panic(c.Errorf("%s do not fit as input and grid", sizesOf{x, g}))
		case !x.DType.IsFloat() || x.DType != g.DType:
			panic(c.Errorf("an input of %s and a grid of %s", x.DType, g.DType))
		case mode < gridLinear || mode > gridCubic || mode == gridCubic && n != 2 ||
			padding < gridZeros || padding > gridReflect:
			panic(c.Errorf("interpolation %d with padding %d in %d dimensions", mode, padding, n))
		case x.Numel().IsZero() && !g.Numel().IsZero() && !x.Sizes[1].IsZero():
			panic(c.Errorf("an input without elements"))
		}
		return
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			n, _, _ := setup(c)
			x, g := c.Tensor("input"), c.Tensor("grid")
			return []ir.Type{ir.TensorOf(x.DType, slices.Concat(x.Sizes[:2], g.Sizes[1:n+1])...)}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			n, mode, padding := setup(c)
			t := c.Tensor("input")
			m := opmath(t.DType)
			where := append([]sym.Expr{at[0]}, at[2:]...)
			taps := make([][]gridTap, n)
			for d := range n {
				g := gridAxis{n: t.Sizes[2+d], size: expr.Idx(m, t.Sizes[2+d]), padding: padding,
					align: c.Bool("align_corners")}
				x := expr.Cast(m, c.Load("grid", append(slices.Clone(where),
					sym.Int(int64(n-1-d)))...))
				taps[d] = g.taps(mode, "at"+itoa(d), x)
			}
			return c.sampled(m, at[:2], taps, expr.Bool(true), nil)
		}),
	}
}

// sampled adds up the taps of all dimensions; what lies outside is 0.
func (c *Call) sampled(m ir.DType, at []sym.Expr, taps [][]gridTap, inside,
	weight *expr.Expr) *expr.Expr {
	if len(taps) == 0 {
		x := expr.Cast(m, c.Load("input", at...))
		if weight != nil {
			x = expr.Mul(x, weight)
		}
		return expr.Select(inside, x, expr.Num(m, 0))
	}
	var sum *expr.Expr
	for _, t := range taps[0] {
		w := t.weight
		if weight != nil && w != nil {
			w = expr.Mul(weight, w)
		}
		x := c.sampled(m, append(slices.Clone(at), t.at), taps[1:], expr.And(inside, t.inside), w)
		if sum == nil {
			sum = x
		} else {
			sum = expr.Add(sum, x)
		}
	}
	return sum
}

// gridOps sample images at computed positions.
func gridOps() []entry {
	return []entry{
		gridSampler("aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, "+
			"int padding_mode, bool align_corners) -> Tensor", 2,
			3).core(func(b *Builder, c *Call) *ir.Value {
			// The operator for the number of dimensions.
			op := "aten.grid_sampler_2d.default"
			if c.Tensor("input").Rank() == 5 {
				op = "aten.grid_sampler_3d.default"
			}
			return sameAs(op)(b, c)
		}),
		gridSampler("aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, "+
			"int padding_mode, bool align_corners) -> Tensor", 2),
		gridSampler("aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, "+
			"int padding_mode, bool align_corners) -> Tensor", 3),
	}
}
