package ops

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// tap is one input element that a resampled one is made of, along one
// dimension: its coordinate and its weight (nil for 1).
type tap struct {
	at     sym.Expr
	weight *expr.Expr
}

// axis is one resampled dimension.
type axis struct {
	in, out sym.Expr
	scale   float64 // input elements per output element as the caller gave it, 0 if not
	align   bool    // corners are aligned

	overlooked bool // the caller gave another scale, which PyTorch does not look at
}

// step returns the distance of two outputs in input elements, in dtype m.
func (a axis) step(m ir.DType) *expr.Expr {
	if a.align {
		n, one := expr.Idx(m, sym.Sub(a.out, sym.Int(1))), sym.Int(1)
		if a.out.Is(1) {
			return expr.Num(m, 0)
		}
		d := expr.Div(expr.Idx(m, sym.Sub(a.in, one)), n)
		if sym.Less(one, a.out) {
			return d
		}
		return expr.Select(expr.Gt(n, expr.Num(m, 0)), d, expr.Num(m, 0))
	}
	if a.scale > 0 {
		return expr.Num(m, a.scale)
	}
	return expr.Div(expr.Idx(m, a.in), expr.Idx(m, a.out))
}

// source returns where output o lies among the inputs.
func (a axis) source(m ir.DType, o sym.Expr) *expr.Expr {
	x := expr.Idx(m, o)
	if a.align {
		return expr.Mul(a.step(m), x)
	}
	half := expr.Num(m, 0.5)
	return expr.Sub(expr.Mul(a.step(m), expr.Add(x, half)), half)
}

// clamped binds the coordinate floor(x) + k, kept inside.
func (a axis) clamped(name string, floor *expr.Expr, k int64) sym.Expr {
	i := expr.Add(expr.Cast(ir.Int64, floor), expr.Int(ir.Int64, k))
	return clampedIndex(name, i, a.in, false).Expr()
}

// interpolation gives the taps of output o.
type interpolation func(a axis, m ir.DType, name string, o sym.Expr) []tap

// nearestTaps takes the element that holds the output's start (shift 0) or
// middle (shift ½).
func nearestTaps(shift float64) interpolation {
	return func(a axis, _ ir.DType, name string, o sym.Expr) []tap {
		if (a.scale == 0 || a.scale == 1) && a.in.Equal(a.out) {
			return []tap{{at: o}}
		}
		if (a.scale == 0 || a.scale == 0.5) && a.out.Equal(sym.Mul(a.in, sym.Int(2))) {
			return []tap{{at: sym.FloorDiv(o, sym.Int(2))}}
		}
		if even, ok := a.evenNearest(o, shift); ok {
			return []tap{{at: even}}
		}
		m := ir.Float32 // whatever the dtype
		x := expr.Idx(m, o)
		if shift != 0 {
			x = expr.Add(x, expr.Num(m, shift))
		}
		return []tap{{at: a.clamped(name, expr.Floor(expr.Mul(x, a.step(m))), 0)}}
	}
}

// evenNearest returns the nearest index as integer arithmetic if that gives
// what PyTorch's Float32 arithmetic does for every output.
func (a axis) evenNearest(o sym.Expr, shift float64) (sym.Expr, bool) {
	in, okIn := a.in.Const()
	out, okOut := a.out.Const()
	if !okIn || !okOut || out > 1<<16 {
		return o, false
	}
	step := float32(in) / float32(out)
	if a.scale > 0 {
		step = float32(a.scale)
	}
	odd := int64(2 * shift)
	for i := range out {
		x := float32(i)
		if shift != 0 {
			x += float32(shift)
		}
		src := min(int64(math.Floor(float64(float32(x*step)))), in-1)
		if src != (2*i+odd)*in/(2*out) {
			return o, false
		}
	}
	return sym.FloorDiv(sym.Mul(sym.Add(sym.Mul(sym.Int(2), o), sym.Int(odd)), a.in),
		sym.Mul(sym.Int(2), a.out)), true
}

// keysKernel is the cubic kernel of Keys, for distances up to 1 and for those up to 2.
func keysKernel(a float64) (near, far func(x *expr.Expr) *expr.Expr) {
	near = func(x *expr.Expr) *expr.Expr {
		y := expr.Sub(expr.Mul(like(x, a+2), x), like(x, a+3))
		return expr.Add(expr.Mul(expr.Mul(y, x), x), like(x, 1))
	}
	far = func(x *expr.Expr) *expr.Expr {
		y := expr.Sub(expr.Mul(like(x, a), x), like(x, 5*a))
		y = expr.Add(expr.Mul(y, x), like(x, 8*a))
		return expr.Sub(expr.Mul(y, x), like(x, 4*a))
	}
	return near, far
}

// cubicWeights are those of the four elements around a point t behind the
// second: Keys' kernel with a = -0.75.
func cubicWeights(t *expr.Expr) []*expr.Expr {
	near, far := keysKernel(-0.75)
	one := like(t, 1)
	rest := expr.Sub(one, t)
	return []*expr.Expr{far(expr.Add(t, one)), near(t), near(rest), far(expr.Add(rest, one))}
}

// resample returns the element of the named operand that taps along its last
// dimensions make, the leading coordinates being lead.
func (c *Call) resample(name string, m ir.DType, lead []sym.Expr, taps [][]tap) *expr.Expr {
	if len(taps) == 0 {
		return expr.Cast(m, c.Load(name, lead...))
	}
	var sum *expr.Expr
	for _, t := range taps[0] {
		x := c.resample(name, m, append(slices.Clone(lead), t.at), taps[1:])
		if t.weight != nil {
			x = expr.Mul(t.weight, x)
		}
		if sum == nil {
			sum = x
		} else {
			sum = expr.Add(sum, x)
		}
	}
	return sum
}

// upsampleAxes reads the arguments: the last n dimensions are resampled.
func upsampleAxes(c *Call, input string, n int) []axis {
	t, s := c.Tensor(input), c.Op.sch
	c.errorIf(t.Rank() != n+2, "an input with %d dimensions", t.Rank())
	axes := make([]axis, n)
	factors := make([]float64, n)
	if s.Index("scale_factors") >= 0 && c.Has("scale_factors") {
		list, _ := c.Arg("scale_factors").(ir.List)
		c.errorIf(len(list) != n, "%d scale factors for %d dimensions", len(list), n)
		for d, x := range list {
			f, ok := x.(ir.Float)
			c.errorIf(!ok || f <= 0, "scale factor %v", x)
			factors[d] = float64(f)
		}
	}
	for d, name := range [][]string{nil, {"scales"}, {"scales_h", "scales_w"},
		{"scales_d", "scales_h", "scales_w"}}[n] {
		if s.Index(name) >= 0 && c.Has(name) {
			factors[d] = must(c.Float(name))
		}
	}
	var sizes []sym.Expr
	if c.Has("output_size") {
		sizes = c.spatialArg("output_size", n)
	}
	for d := range n {
		a := &axes[d]
		a.in = t.Sizes[2+d]
		a.align = s.Index("align_corners") >= 0 && c.Bool("align_corners")
		if factors[d] > 0 {
			a.scale = 1 / factors[d]
		}
		switch in, static := a.in.Const(); {
		case sizes != nil:
			a.out = sizes[d]
		case factors[d] == 0:
			panic(c.Errorf("neither output_size nor scale_factors"))
		case static:
			a.out = sym.Int(int64(float64(in) * factors[d]))
		default:
			num, den, ok := sym.BinaryFraction(factors[d])
			c.errorIf(!ok,
				"a scale factor of %g for a size %s that is not constant depends on rounding: take one such "+
					"as 0.5, or output sizes", factors[d], a.in)
			a.out = sym.FloorDiv(sym.Mul(a.in, sym.Int(num)), sym.Int(den))
		}
		c.need(a.in)
		c.need(a.out)
	}
	channels := contiguousChannels(t)
	for d := range axes {
		axes[d].overlookScale(s.Name, axes, channels)
	}
	return axes
}

// contiguousChannels reports whether PyTorch takes the kernel that is vectorized over the
// channels of t: there are more than three, innermost, and no gaps.
func contiguousChannels(t ir.Type) bool {
	if t.Rank() != 4 || !sym.Less(sym.Int(3), t.Sizes[1]) {
		return false
	}
	want := channelsLastStrides(t.Sizes)
	for d, n := range t.Sizes {
		if !n.Is(1) && !t.Strides[d].Equal(want[d]) {
			return false
		}
	}
	return true
}

// overlookScale replaces the scale given where PyTorch's kernel of that name has a
// shortcut for equal or doubled sizes, which does not look at it. Nearest has it in
// two dimensions, where rows and columns of the output are at most 128 together or
// the kernel is the one of contiguousChannels.
func (a *axis) overlookScale(op string, axes []axis, channels bool) {
	switch {
	case a.scale == 0 || strings.Contains(op, "nearest_exact") || strings.Contains(op, "_aa"):
	case strings.Contains(op, "nearest"):
		if len(axes) != 2 ||
			!channels && sym.Less(sym.Int(128), sym.Add(axes[0].out, axes[1].out)) {
			return
		}
		if a.out.Equal(sym.Mul(a.in, sym.Int(2))) {
			a.scale, a.overlooked = 0.5, a.scale != 0.5
		}
		fallthrough
	case strings.Contains(op, "linear"):
		if a.in.Equal(a.out) {
			a.scale, a.overlooked = 1, a.scale != 1
		}
	}
}

// resampling is a way to resample: the weights of elements as expressions and, for
// Core forms, as numbers; planes is the operator that resamples images so, if there is one. One
// with a filter has no taps: their number follows from sizes.
type resampling struct {
	taps   interpolation
	places numericTaps
	planes string
	floats bool // of floats, and bytes if images; told whether corners are aligned
	filter *filter

	portable bool // ExecuTorch has the operator itself
}

// resamples gives the two operators that resample the last n dimensions: name, and its
// .vec, which takes factors too.
func (r resampling) resamples(name string, n int) []entry {
	scales := []string{"", "float? scales=None", "float? scales_h=None, float? scales_w=None",
		"float? scales_d=None, float? scales_h=None, float? scales_w=None"}[n]
	align := ""
	if r.floats {
		align = "bool align_corners, "
	}
	ops := []entry{
		r.entry("aten::"+name+"(Tensor self, SymInt["+itoa(n)+"] output_size, "+align+scales+
			") -> Tensor", "self", n),
		r.entry("aten::"+name+".vec(Tensor input, SymInt[]? output_size, "+align+
			"float[]? scale_factors) -> Tensor", "input", n),
	}
	for i, input := range []string{"self", "input"} {
		switch vec := "aten." + name + ".vec"; {
		case i == 1 && r.filter != nil:
			ops[i] = ops[i].core(plainResample(input, "aten."+name+".default"))
		case r.places != nil && (i == 0 || r.planes != vec) && !r.portable:
			ops[i] = ops[i].core(r.core(input, n))
		}
		if r.planes == "aten."+name+".vec" {
			ops[i].Settle = settled(input, "aten."+name+".default")
		}
	}
	return ops
}

// infer gives the type of an argument whose last n dimensions are resampled.
func (r resampling) infer(c *Call, input string, n int) []ir.Type {
	axes := upsampleAxes(c, input, n)
	t := c.Tensor(input)
	sizes := slices.Clone(t.Sizes[:2])
	for _, a := range axes {
		sizes = append(sizes, a.out)
	}
	return one(inFormatOf(t, t.DType, sizes))
}

// entry resamples the last n dimensions of an argument.
func (r resampling) entry(schema, input string, n int) entry {
	e := entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor(input)
			c.errorIf(r.floats && !t.DType.IsFloat(), "not defined on %s", t.DType)
			return r.infer(c, input, n)
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			axes := upsampleAxes(c, input, n)
			m := opmath(c.Outs[0].DType)
			if r.filter != nil {
				return c.filtered(*r.filter, input, m, axes, at)
			}
			taps := make([][]tap, n)
			for i, a := range axes {
				taps[i] = r.taps(a, m, "at"+itoa(i), at[2+i])
			}
			return c.resample(input, m, at[:2], taps)
		}),
	}
	if r.floats && n == 2 {
		images := r.bytes(e, input)
		e.variant = func(c *Call) *entry {
			if c.Tensor(input).DType == ir.Uint8 {
				return images
			}
			return nil
		}
	}
	return e
}

// settled says calls without the factors that PyTorch overlooks: other kernels look at
// them, and which it overlooks depends on strides. plain is the operator that takes a
// factor for each dimension.
func settled(input, plain string) func(*Builder, *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		axes := upsampleAxes(c, input, 2)
		if !axes[0].overlooked && !axes[1].overlooked {
			return nil
		}
		return []*ir.Value{plainResample(input, plain)(b, c)}
	}
}

// plainResample is a call of the operator that takes sizes, and a factor for each dimension.
func plainResample(input, plain string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		axes := upsampleAxes(c, input, 2)
		args := []any{c.Value(input), []sym.Expr{axes[0].out, axes[1].out}}
		if c.Op.sch.Index("align_corners") >= 0 {
			args = append(args, c.Bool("align_corners"))
		}
		for _, a := range axes {
			if a.scale == 0 || a.overlooked {
				args = append(args, nil)
			} else {
				args = append(args, 1/a.scale)
			}
		}
		return b.Op(plain, args...)
	}
}

// upsampleOps resample images.
func upsampleOps() []entry {
	near := resampling{nearestTaps(0), nearestPlaces(0), "aten.upsample_nearest2d.vec", false, nil,
		false}
	exact := resampling{nearestTaps(0.5), nearestPlaces(0.5), "", false, nil, false}
	linear := resampling{func(a axis, m ir.DType, name string, o sym.Expr) []tap {
		// Weighs the two elements around the output.
		if a.in.Equal(a.out) {
			return []tap{{at: o}}
		}
		zero := expr.Num(m, 0)
		x := a.source(m, o)
		if !a.align {
			x = expr.Max(x, zero)
		}
		floor := expr.Min(expr.Floor(x), expr.Idx(m, sym.Sub(a.in, sym.Int(1))))
		right := expr.Min(expr.Max(expr.Sub(x, floor), zero), expr.Num(m, 1))
		return []tap{
			{a.clamped(name+"_0", floor, 0), expr.Sub(expr.Num(m, 1), right)},
			{a.clamped(name+"_1", floor, 1), right},
		}
	}, linearTaps, "aten.upsample_bilinear2d.vec", true, nil, false}
	cubic := resampling{func(a axis, m ir.DType, name string, o sym.Expr) []tap {
		if a.in.Equal(a.out) && !a.align && a.scale == 0 {
			return []tap{{at: o}}
		}
		x := a.source(m, o)
		floor := expr.Min(expr.Floor(x), expr.Idx(m, sym.Sub(a.in, sym.Int(1))))
		t := expr.Min(expr.Max(expr.Sub(x, floor), expr.Num(m, 0)), expr.Num(m, 1))
		var taps []tap
		for k, w := range cubicWeights(t) {
			taps = append(taps, tap{a.clamped(name+"_"+itoa(k), floor, int64(k-1)), w})
		}
		return taps
	}, cubicTaps, "", true, nil, false}
	return slices.Concat(
		near.resamples("upsample_nearest1d", 1), near.resamples("upsample_nearest2d", 2),
		near.resamples("upsample_nearest3d", 3), exact.resamples("_upsample_nearest_exact1d", 1),
		exact.resamples("_upsample_nearest_exact2d", 2),
		exact.resamples("_upsample_nearest_exact3d", 3), linear.resamples("upsample_linear1d", 1),
		linear.resamples("upsample_bilinear2d", 2), linear.resamples("upsample_trilinear3d", 3),
		cubic.resamples("upsample_bicubic2d", 2),
		triangular.resampling(true).resamples("_upsample_bilinear2d_aa", 2),
		cubicAA.resampling(false).resamples("_upsample_bicubic2d_aa", 2),
		lanczos3.resampling(false).resamples("_upsample_lanczos2d_aa", 2))
}
