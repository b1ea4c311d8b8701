package ops

import (
	enc "encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// planar resamples the last two dimensions of x by op, an upsample_….vec, with
// axes for both; extra goes between its sizes and its factors. ok is false if
// the sizes that the factors make are not those wanted.
func (b *Builder) planar(op string, x *ir.Value, axes [2]axis,
	extra ...any) (y *ir.Value, ok bool) {
	for _, a := range axes {
		given := a.scale
		if a.overlookScale(op, axes[:], contiguousChannels(x.Type)); a.scale != given {
			return nil, false // planes would not look at it
		}
	}
	var sizes, factors any
	if axes[0].scale == 0 && axes[1].scale == 0 {
		sizes = []sym.Expr{axes[0].out, axes[1].out}
	} else {
		var fs []float64
		for _, a := range axes {
			f := 1.0
			if a.scale > 0 {
				f = 1 / a.scale
			} else if !a.in.Equal(a.out) {
				return nil, false
			}
			in, static := a.in.Const()
			switch {
			case static && !a.out.Is(int64(float64(in)*f)):
				return nil, false
			case !static && !a.out.Equal(sym.Mul(a.in, sym.Int(int64(f)))):
				return nil, false
			}
			fs = append(fs, f)
		}
		factors = fs
	}
	args := append([]any{x, sizes}, extra...)
	return b.Op(op, append(args, factors)...), true
}

// whole is an axis that stays as it is.
func whole(n sym.Expr, align bool) axis { return axis{in: n, out: n, align: align} }

// core resamples n dimensions by what resamples planes; where that
// cannot be told to, and for interpolations that have no such operator, by
// weighted sums of elements at constant places.
//
//go:noinline
func (r resampling) core(input string, n int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		axes := upsampleAxes(c, input, n)
		x := c.Value(input)
		if r.planes != "" {
			if y, ok := b.byPlanes(r.planes, c, x, axes); ok {
				return y
			}
		}
		m := opmath(x.Type.DType)
		for d, a := range axes {
			x = b.resampled(c, x, 2+d, a, m, r.places)
		}
		return b.cast(x, c.Outs[0].DType)
	}
}

func (b *Builder) byPlanes(op string, c *Call, x *ir.Value, axes []axis) (*ir.Value, bool) {
	var extra []any
	align := false
	if c.Op.sch.Index("align_corners") >= 0 {
		align = c.Bool("align_corners")
		extra = []any{align}
	}
	switch len(axes) {
	case 1:
		y, ok := b.planar(op, b.aten("unsqueeze", x, 2),
			[2]axis{whole(sym.Int(1), align), axes[0]}, extra...)
		if !ok {
			return nil, false
		}
		return b.aten("squeeze.dim", y, 2), true
	case 2:
		return b.planar(op, x, [2]axis{axes[0], axes[1]}, extra...)
	}
	s := x.Type.Sizes
	y, ok := b.planar(op, b.reshaped(x, s[0], sym.Mul(s[1], s[2]), s[3], s[4]),
		[2]axis{axes[1], axes[2]}, extra...)
	if !ok {
		return nil, false
	}
	plane := sym.Mul(axes[1].out, axes[2].out)
	y, ok = b.planar(op, b.reshaped(y, s[0], s[1], s[2], plane),
		[2]axis{axes[0], whole(plane, align)}, extra...)
	if !ok {
		return nil, false
	}
	return b.reshaped(y, c.Outs[0].Sizes...), true
}

// numericTaps gives the places and weights of output o of an axis of constant
// sizes, computed in dtype m; the weight of a single tap is 1.
type numericTaps func(a axis, m ir.DType, in, out, o int64) (at []int64, weights []float64)

// resampled resamples dimension d of x; sums are in dtype m.
func (b *Builder) resampled(c *Call, x *ir.Value, d int, a axis, m ir.DType,
	taps numericTaps) *ir.Value {
	in, ok := a.in.Const()
	out, ok2 := a.out.Const()
	c.errorIf(!ok || !ok2, "a dynamic size of dimension %d", d)
	if in == out && !a.align && (a.scale == 0 || a.scale == 1) {
		return x
	}
	b.limit(c, out)
	places, weights := tapColumns(c, a, m, in, out, taps)
	var sum *ir.Value
	for k, at := range places {
		y := b.aten("index_select", x, d, b.integers(at))
		if weights[k] != nil {
			shape := slices.Repeat([]int64{1}, x.Type.Rank()-d)
			shape[0] = out
			y = b.mul(b.cast(y, m), b.floats(m, weights[k], shape...))
		}
		if sum == nil {
			sum = y
		} else {
			sum = b.add(sum, y)
		}
	}
	return sum
}

// tapColumns are the taps of all outputs: the first ones of each, the second ones, and so on. One
// that has fewer than others has more with weight 0. Without weights there is one each.
func tapColumns(c *Call, a axis, m ir.DType, in, out int64, taps numericTaps) (places [][]int64,
	weights [][]float64) {
	ats, ws, most := make([][]int64, out), make([][]float64, out), 0
	for o := range out {
		ats[o], ws[o] = taps(a, m, in, out, o)
		c.errorIf(len(ats[o]) == 0, "output %d of %d is made of no input", o, out)
		most = max(most, len(ats[o]))
	}
	for k := range most {
		places, weights = append(places, make([]int64, out)), append(weights, nil)
		for o, at := range ats {
			places[k][o] = min(max(at[min(k, len(at)-1)], 0), in-1)
			if ws[o] == nil {
				continue
			}
			if weights[k] == nil {
				weights[k] = make([]float64, out)
			}
			if k < len(at) {
				weights[k][o] = ws[o][k]
			}
		}
	}
	return places, weights
}

// floats is a constant of dtype float32 or float64.
func (b *Builder) floats(d ir.DType, xs []float64, sizes ...int64) *ir.Value {
	var raw []byte
	for _, x := range xs {
		if d == ir.Float64 {
			raw = enc.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		} else {
			raw = enc.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
		}
	}
	return b.Constant("weights", &ir.Constant{Type: ir.StaticTensor(d, sizes...),
		Data: ir.Bytes(raw)})
}

// rounded is x as dtype d, float32 or float64, holds it.
func rounded(d ir.DType, x float64) float64 {
	if d == ir.Float64 {
		return x
	}
	return float64(float32(x))
}

// stepIn is the distance of two outputs in input elements.
func (a axis) stepIn(m ir.DType, in, out int64) float64 {
	switch {
	case a.align && out > 1:
		return rounded(m, float64(in-1)/float64(out-1))
	case a.align:
		return 0
	case a.scale > 0:
		return rounded(m, a.scale)
	}
	return rounded(m, float64(in)/float64(out))
}

// sourceIn is where output o lies among the inputs.
func (a axis) sourceIn(m ir.DType, in, out, o int64) float64 {
	if a.align {
		return rounded(m, a.stepIn(m, in, out)*float64(o))
	}
	return rounded(m, rounded(m, a.stepIn(m, in, out)*(float64(o)+0.5))-0.5)
}

func nearestPlaces(shift float64) numericTaps {
	return func(a axis, _ ir.DType, in, out, o int64) ([]int64, []float64) {
		x := rounded(ir.Float32, float64(o)+shift) * a.stepIn(ir.Float32, in, out)
		return []int64{int64(math.Floor(rounded(ir.Float32, x)))}, nil
	}
}

// between returns the input element before output o, and how far it is behind.
func (a axis) between(m ir.DType, in, out, o int64, clip bool) (floor int64, t float64) {
	x := a.sourceIn(m, in, out, o)
	if clip {
		x = max(x, 0)
	}
	floor = min(int64(math.Floor(x)), in-1)
	return floor, min(max(rounded(m, x-float64(floor)), 0), 1)
}

// linearTaps weigh the two elements around an output.
func linearTaps(a axis, m ir.DType, in, out, o int64) ([]int64, []float64) {
	floor, t := a.between(m, in, out, o, !a.align)
	return []int64{floor, floor + 1}, []float64{1 - t, t}
}

// cubicTaps have the weights of cubicWeights.
func cubicTaps(a axis, m ir.DType, in, out, o int64) ([]int64, []float64) {
	const k = -0.75
	floor, t := a.between(m, in, out, o, false)
	near := func(x float64) float64 { return ((k+2)*x-(k+3))*x*x + 1 }
	far := func(x float64) float64 { return ((k*x-5*k)*x+8*k)*x - 4*k }
	return []int64{floor - 1, floor, floor + 1, floor + 2}, []float64{far(t + 1), near(t),
		near(1 - t), far(2 - t)}
}
