package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// fewChannels is the most channels of ConvFew's results: FEW_CHANNELS of the C code.
const fewChannels = 8

// fewLanes is the most results that a vector of it has.
const fewLanes = 16

// ConvFew is the convolution of row-major images into few channels: too few for
// the lanes of a vector, which are neighbouring results of a row. It copies an
// image into scratch first, with zeros around it, and the columns that results see
// with one tap beside each other. Weights are packed as w[cin][kh][kw][8].
func ConvFew() *Kernel {
	return &Kernel{Name: "conv2d_few_f32", Descriptor: convFewParams, Go: "rows.ConvFew", Buffers: []string{"w", "bias", "scratch"},
		Phases: []string{"gather", "rows"}, Bounds: true, Operands: []string{"x"},
		C: true, Match: matchFew}
}

func matchFew(r *Request) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv := convolutionOf(r)
	if cv == nil || cv.groups > 1 || cv.cout < 4 || cv.cout > fewChannels ||
		cv.xLast && cv.cin > 1 {
		return nil
	}
	rows, cols := &cv.axes[0], &cv.axes[1]
	step, ok := cols.stride.Const()
	x := r.Call.Tensor("input")
	if whole := sym.Mul(x.Sizes[2:]...); !ok || !cols.dilation.Is(1) ||
		!sym.Mul(rows.in, cols.in).Equal(whole) || !cv.constants(r) {
		return nil
	}
	n := func(x int) sym.Expr { return sym.Int(int64(x)) }
	bias := panels.Shape{Groups: 1, N: cv.cout, A: 1, B: 1, C: 1, Cols: fewChannels,
		Group: cv.cout, Column: 1}
	taps := cv.kernel[0] * cv.kernel[1]
	w := panels.Shape{Groups: 1, N: cv.cout, A: cv.cin, B: rows.kernel, C: cols.kernel,
		Cols:  fewChannels,
		Group: cv.cout * cv.cin * taps, Column: cv.cin * taps, StepA: taps,
		StepB: cv.kernel[1], StepC: 1}
	// Whole vectors are read, of neighbours in a phase.
	lanes := sym.Mul(n(fewLanes), sym.CeilDiv(cols.out, n(fewLanes)))
	phase := sym.Add(lanes, n((cols.kernel-1)/int(step)))
	gh, gw := rows.reach(), sym.Mul(cols.stride, phase)
	yc := sym.Mul(rows.out, cols.out)
	if cv.yLast {
		yc = sym.Int(1)
	}
	in := &Instance{
		Params: convFewParams.params(Values{
			"in_stride_batch": sym.Mul(n(cv.cin), rows.in, cols.in), "out_stride_channel": yc,
			"channels_inner": truth(cv.yLast), "padded_h": gh, "padded_row": gw,
			"copied_w": sym.Max(sym.Int(0), sym.Min(cols.in, sym.Sub(cols.reach(), cols.pad))),
			"phase":    phase}, cv.window()),
		Operands: []int{cv.x},
		Packed: []Packed{inPanels("w", w, cv.weights, cv.w), inPanels("bias", bias, cv.bias,
			cv.biasFrom()...)},
		Channels: Channels{Inner: yc, Count: n(cv.cout)}, RunChannels: cv.yLast,
		Tile:    r.Target.tile(),
		Scratch: sym.Mul(n(4*cv.cin), gh, gw),
		MACs:    sym.Mul(cv.batch, n(cv.cout), rows.out, cols.out, n(taps*cv.cin)),
	}
	_, width := cols.out.Bounds()
	costs := &r.Target.Language.Costs
	in.Cost = cost(in.MACs)/4*costs.FewProduct*float64(roundUp(width, fewLanes))/float64(max(width, 1)) +
		costs.FewCopy*cost(cv.batch, n(cv.cin), gh, cols.reach())
	return in
}
