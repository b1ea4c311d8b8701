package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// A filter weighs inputs by their distance from an output, which is scaled so that no input is
// left out when an image shrinks. half is the distance from which on it is 0.
type filter struct {
	half  int64
	weigh func(distance *expr.Expr, sin func(*expr.Expr) *expr.Expr) *expr.Expr
}

var (
	triangular = filter{1, func(x *expr.Expr, _ func(*expr.Expr) *expr.Expr) *expr.Expr {
		return expr.Max(like(x, 0), expr.Sub(like(x, 1), expr.Abs(x)))
	}}
	// cubicAA is the kernel of Keys with a = -0.5.
	cubicAA = filter{2, func(x *expr.Expr, _ func(*expr.Expr) *expr.Expr) *expr.Expr {
		x = expr.Abs(x)
		near, far := keysKernel(-0.5)
		return expr.Select(expr.Lt(x, like(x, 1)), near(x), expr.Select(expr.Lt(x, like(x, 2)), far(x),
			like(x, 0)))
	}}
	lanczos3 = filter{3, func(x *expr.Expr, sin func(*expr.Expr) *expr.Expr) *expr.Expr {
		sinc := func(x *expr.Expr) *expr.Expr {
			x = expr.Mul(x, like(x, math.Pi))
			return expr.Select(expr.Eq(x, like(x, 0)), like(x, 1), expr.Div(sin(x), x))
		}
		return expr.Select(expr.Lt(expr.Abs(x), like(x, 3)),
			expr.Mul(sinc(x), sinc(expr.Div(x, like(x, 3)))), like(x, 0))
	}}
)

func (f filter) resampling(portable bool) resampling {
	return resampling{places: f.places, floats: true, filter: &f, portable: portable}
}

// filtered resamples with f.
func (c *Call) filtered(f filter, input string, m ir.DType, axes []axis, at []sym.Expr) *expr.Expr {
	x, over, weight := at[:2:2], []*sym.Symbol(nil), expr.Num(m, 1)
	for k, a := range axes {
		s := f.along(a, m, "k"+itoa(k), at[2+k])
		x, over, weight = append(x, s.at), append(over, s.over), expr.Mul(weight, s.weight)
	}
	return averaged(over, expr.Mul(weight, expr.Cast(m, c.Load(input, x...))), false)
}

// weighted is a weighted sum over inputs along one dimension.
type weighted struct {
	over   *sym.Symbol
	at     sym.Expr
	weight *expr.Expr
}

// along weighs the inputs around output o; the weights come to 1.
func (f filter) along(a axis, m ir.DType, name string, o sym.Expr) weighted {
	num := func(x float64) *expr.Expr { return expr.Num(m, x) }
	step := a.step(m)
	scale := expr.Max(step, num(1))
	support := expr.Mul(scale, num(float64(f.half)))
	center := expr.Mul(step, expr.Add(expr.Idx(m, o), num(0.5)))
	edge := func(x *expr.Expr) *expr.Expr { return expr.Cast(ir.Int64, expr.Add(x, num(0.5))) }
	first := expr.Max(edge(expr.Sub(center, support)), expr.Int(ir.Int64, 0))
	end := expr.Min(edge(expr.Add(center, support)), expr.Idx(ir.Int64, a.in))
	n := a.in // no more inputs than there are
	if step.Op == expr.OpConst {
		reach := 2 * float64(f.half) * math.Max(step.Float, 1)
		n = sym.Min(n, sym.Int(int64(math.Ceil(reach))+1))
	}
	weigh := func(v *sym.Symbol) (i, w *expr.Expr) {
		i = expr.Add(first, expr.Idx(ir.Int64, v.Expr()))
		x := expr.Add(expr.Sub(expr.Cast(m, i), center), num(0.5))
		return i, expr.Select(expr.Lt(i, end), f.weigh(expr.Div(x, scale), fn("sin")), num(0))
	}
	each, all := sym.NewVar(name, n), sym.NewVar(name+"_all", n)
	i, w := weigh(each)
	_, part := weigh(all)
	return weighted{over: each, at: clampedIndex(name+"_at", i, a.in, false).Expr(),
		weight: expr.Div(w, averaged([]*sym.Symbol{all}, part, false))}
}

// sineOf is the sine of a constant, as a constant.
func sineOf(x *expr.Expr) *expr.Expr { return like(x, math.Sin(x.Float)) }

// places is along as numbers, none if no input is in reach.
func (f filter) places(a axis, m ir.DType, in, out, o int64) (at []int64, weights []float64) {
	step := a.stepIn(m, in, out)
	scale := math.Max(step, 1)
	support := rounded(m, float64(f.half)*scale)
	center := rounded(m, step*rounded(m, float64(o)+0.5))
	first := max(int64(center-support+0.5), 0)
	end := min(int64(center+support+0.5), in)
	var sum float64
	for i := first; i < end; i++ {
		x := float64(i) - center + 0.5
		w := f.weigh(expr.Num(m, rounded(m, x/scale)), sineOf).Float
		at, weights, sum = append(at, i), append(weights, w), sum+w
	}
	if sum == 0 {
		return nil, nil
	}
	for k := range weights {
		weights[k] = rounded(m, weights[k]/sum)
	}
	return at, weights
}

// bytes are images of 8 bits, which PyTorch resamples in integers: columns, then rows, by weights
// of 16 bits with as many bits behind the point as the largest one leaves. Results are bytes.
func (r resampling) bytes(e entry, input string) *entry {
	return &entry{Schema: e.Schema,
		Infer: func(c *Call) []ir.Type { return r.infer(c, input, 2) },
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			x, axes := c.Value(input), upsampleAxes(c, input, 2)
			for d := 1; d >= 0; d-- {
				x = b.resampledBytes(c, x, 2+d, axes[d], r.places)
			}
			return []*ir.Value{x}
		}}
}

// resampledBytes resamples dimension d of x.
func (b *Builder) resampledBytes(c *Call, x *ir.Value, d int, a axis, taps numericTaps) *ir.Value {
	in, ok := a.in.Const()
	out, ok2 := a.out.Const()
	c.errorIf(!ok || !ok2, "a dynamic size of dimension %d of bytes", d)
	if in == out && !a.align && (a.scale == 0 || a.scale == 1) {
		return x
	}
	b.limit(c, out)
	columns, parts := tapColumns(c, a, ir.Float64, in, out, taps)
	weights := make([][]float64, len(parts)) // of elements, which at an edge have several parts
	for k := range weights {
		weights[k] = make([]float64, out)
	}
	most := 0.0
	for o := range out {
		for k, column := range columns {
			weights[column[o]-columns[0][o]][o] += parts[k][o]
		}
		for k := range weights {
			most = max(most, weights[k][o])
		}
	}
	bits := 0
	for bits < 22 && int64(0.5+most*float64(int64(2)<<bits)) < 1<<15 {
		bits++
	}
	sum := b.scalar(1<<bits>>1, ir.Int32)
	for k := range weights {
		fixed := seq.Map(weights[k], func(w float64) int64 {
			return int64(math.Copysign(0.5, w) + w*float64(int64(1)<<bits))
		})
		if !slices.ContainsFunc(fixed, func(w int64) bool { return w != 0 }) {
			continue
		}
		shape := slices.Repeat([]int64{1}, x.Type.Rank()-d)
		shape[0] = out
		at := seq.Map(columns[0], func(first int64) int64 { return min(first+int64(k), in-1) })
		y := b.cast(b.aten("index_select", x, d, b.integers(at)), ir.Int32)
		sum = b.add(sum, b.mul(y, b.cast(b.integers(fixed, shape...), ir.Int32)))
	}
	return b.cast(b.aten("clamp", b.aten("bitwise_right_shift.Tensor_Scalar", sum, bits), 0, 255),
		ir.Uint8)
}
