package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// IntegerWindows is the name of the weighted sums of integers.
const IntegerWindows = "etgen.integer_windows.default"

// integerWindows are average poolings and resampled images of a quantized network.
func integerWindows() []entry {
	return []entry{
		{
			// Weighted sums over windows of the last dimensions. Window o of dimension d begins at
			// starts[d][o], which is limited to what leaves it inside, and has the weights of row o
			// of weights[d]; that of several dimensions is their product. The sum is exact, in
			// int32 or as int64, of elements less their zero point; weights are int16, for sums of
			// int64 also int32.
			Schema: "etgen::integer_windows(Tensor self, Tensor[] starts, Tensor[] weights, " +
				"int self_zero_point, ScalarType dtype) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t, starts, weights := c.Tensor("self"), c.Tensors("starts"), c.Tensors("weights")
				n := len(starts)
				c.errorIf(n == 0 || n > t.Rank() || len(weights) != n, "%d starts and %d weights for %s",
					n, len(weights), sizesOf{t})
				sizes := slices.Clone(t.Sizes)
				for d := range n {
					s, w, size := starts[d], weights[d], &sizes[t.Rank()-n+d]
					long := w.DType == ir.Int32 && c.DType("dtype", ir.InvalidDType) == ir.Int64
					c.errorIf(s.DType != ir.Int32 || w.DType != ir.Int16 && !long || s.Rank() != 1 ||
						w.Rank() != 2 || differ(s.Sizes[0], w.Sizes[0]), "starts %s and weights %s",
						sizesOf{s}, sizesOf{w})
					c.errorIf(!sym.LessEq(sym.Int(1), w.Sizes[1]) || !sym.LessEq(w.Sizes[1], *size),
						"windows of %s of %s", w.Sizes[1], *size)
					*size = s.Sizes[0]
				}
				c.integerSum("self")
				return one(ir.TensorOf(c.DType("dtype", ir.InvalidDType), sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				t, starts, weights := c.Tensor("self"), c.Operand("starts"), c.Operand("weights")
				n := len(c.Tensors("starts"))
				lead := t.Rank() - n
				in, over := slices.Clone(at), make([]*sym.Symbol, n)
				m := c.integerSum()
				var sum func(d int) *expr.Expr
				sum = func(d int) *expr.Expr {
					if d == n {
						return expr.Cast(m, c.lessZero("self", in))
					}
					o, size := at[lead+d], c.operands[weights+d].Type.Sizes[1]
					over[d] = sym.NewVar("k"+itoa(d), size)
					first := clampedIndex("at"+itoa(d), c.LoadAt(starts+d, o),
						sym.Sub(sym.Add(t.Sizes[lead+d], sym.Int(1)), size), false)
					in[lead+d] = sym.Add(first.Expr(), over[d].Expr())
					w := expr.Cast(m, c.LoadAt(weights+d, o, over[d].Expr()))
					return expr.Mul(w, sum(d+1))
				}
				return expr.Sum(over, sum(0))
			}),
		},
	}
}

// Window is what an output along one dimension is made of: the elements from start on, each times a
// weight.
type Window struct {
	Start   int64
	Weights []float64
}

// Windows returns the windows of each dimension, the last ones, that c averages or resamples by
// weights that do not depend on the others; nil if it does not, sizes are not constant, or a window
// has no elements.
func Windows(c *Call) [][]Window {
	base, filtered := strings.CutSuffix(strings.TrimPrefix(ir.OpBase(c.Op.Name()), "_"), "_aa")
	kind, n := strings.TrimRight(base, "123d"), 0
	if dims := base[len(kind):]; len(dims) == 2 && dims[1] == 'd' {
		n = int(dims[0] - '0')
	}
	if filtered {
		kind += "_aa"
	}
	window := map[string]func(c *Call, n int) func(d int, in, out, o int64) Window{
		"avg_pool": pooledWindows, "adaptive_avg_pool": adaptiveWindows,
		"upsample_linear": resampledBy(linearTaps), "upsample_bilinear": resampledBy(linearTaps),
		"upsample_trilinear": resampledBy(linearTaps), "upsample_bicubic": resampledBy(cubicTaps),
		"upsample_bilinear_aa": resampledBy(triangular.places),
		"upsample_bicubic_aa":  resampledBy(cubicAA.places),
		"upsample_lanczos_aa":  resampledBy(lanczos3.places),
	}[kind]
	if window == nil || n == 0 {
		return nil
	}
	of, all := window(c, n), make([][]Window, n)
	x, y := c.operands[0].Type.Sizes, c.Outs[0].Sizes
	for d := range n {
		in, ok := x[len(x)-n+d].Const()
		out, ok2 := y[len(y)-n+d].Const()
		if of == nil || !ok || !ok2 || in > maxPlaces || out > maxPlaces {
			return nil
		}
		for o := range out {
			w := of(d, in, out, o)
			if len(w.Weights) == 0 {
				return nil
			}
			all[d] = append(all[d], w)
		}
	}
	return all
}

// average is the window of the elements from first up to end, the sum of which is divided.
func average(first, end int64, by float64) Window {
	return Window{first, slices.Repeat([]float64{1 / by}, int(max(end-first, 0)))}
}

func pooledWindows(c *Call, n int) func(d int, in, out, o int64) Window {
	p := poolOf(c, n)
	counted := c.Bool("count_include_pad")
	divisor := int64(0)
	if n > 1 && c.Has("divisor_override") {
		divisor = must(c.Int("divisor_override"))
	}
	return func(d int, in, _, o int64) Window {
		k, ok := p.kern[d].Const()
		stride, ok2 := p.stride[d].Const()
		pad, ok3 := p.pad[d].Const()
		if !ok || !ok2 || !ok3 {
			return Window{}
		}
		start := o*stride - pad
		first, end := max(start, 0), min(start+k, in)
		by := end - first
		switch {
		case divisor != 0 && d > 0:
			by = 1
		case divisor != 0:
			by = divisor
		case counted:
			by = min(start+k, in+pad) - start
		}
		return average(first, end, float64(by))
	}
}

func adaptiveWindows(*Call, int) func(d int, in, out, o int64) Window {
	return func(_ int, in, out, o int64) Window {
		first, end := o*in/out, ((o+1)*in+out-1)/out
		return average(first, end, float64(end-first))
	}
}

// resampledBy is those of taps: what lies outside counts as the next element inside. Weights are
// exact but for float64.
func resampledBy(taps numericTaps) func(c *Call, n int) func(d int, in, out, o int64) Window {
	return func(c *Call, n int) func(d int, in, out, o int64) Window {
		axes := upsampleAxes(c, c.Op.sch.Args[0].Name, n)
		return func(d int, in, out, o int64) Window {
			at, weights := taps(axes[d], ir.Float64, in, out, o)
			if len(at) == 0 {
				return Window{}
			}
			for k := range at {
				at[k] = min(max(at[k], 0), in-1)
			}
			w := Window{at[0], make([]float64, at[len(at)-1]-at[0]+1)}
			for k, x := range weights {
				w.Weights[at[k]-at[0]] += x
			}
			return w
		}
	}
}
