package tuned

import (
	"maps"

	"github.com/etgen/etgen/ir/sym"
)

// rowsCols is the width of a panel of weights for the kernels that work on rows
// of results: ROWS_COLS of the C code. A last panel of at most half as many
// columns is half as wide.
const rowsCols = 32

// rowsMax is the most rows of results that they have in registers.
const rowsMax = 12

// Conv2DRows is the convolution over images whose channels lie innermost in
// memory, without padding: the products of a few neighbouring results with a
// panel of weights run along contiguous channels. Weights are packed as
// w[ceil(cout/32)][kh][kw][cin][32], the last panel 16 wide where that is enough.
func Conv2DRows() *Kernel {
	return &Kernel{Name: "conv2d_rows_f32", Descriptor: convRowsParams, InBands: flatInBands,
		Go: "rows.Conv", Buffers: []string{"w", "bias"}, Phases: []string{"rows"}, Bounds: true, Operands: []string{"x"},
		C:     true,
		Match: func(r *Request) *Instance { return matchConvRows(r, false) }}
}

// Conv2DGather is Conv2DRows for images in any layout and with padding: it
// copies each into scratch first, channels innermost, its padding around it.
func Conv2DGather() *Kernel {
	return &Kernel{Name: "conv2d_gather_f32", Descriptor: convGatherParams,
		InBands: flatInBands, Go: "rows.ConvGather", Buffers: []string{"w", "bias", "scratch"}, Phases: []string{"gather", "rows"}, Bounds: true,
		Operands: []string{"x"}, C: true,
		Match: func(r *Request) *Instance { return matchConvRows(r, true) }}
}

func matchConvRows(r *Request, gather bool) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv := convolutionOf(r)
	if cv == nil || cv.groups > 1 || !cv.yLast && !cv.outIsRow() ||
		cv.cout < r.Target.Language.Costs.FewestChannels {
		return nil
	}
	rows, cols := &cv.axes[0], &cv.axes[1]
	direct := !rows.padded() && !cols.padded() && (cv.xLast || cv.cin == 1)
	n := func(x int) sym.Expr { return sym.Int(int64(x)) }
	one := sym.Int(1)
	// The gathered rows begin with all of the padding.
	begins := sym.LessEq(cols.pad, sym.Add(sym.Mul(n(cols.kernel-1), cols.dilation), one)) ||
		sym.LessEq(cols.pad, cols.reach())
	if direct == gather || gather && !begins || !cv.constants(r) {
		return nil
	}
	gh, gw := rows.reach(), cols.reach()
	image := sym.Mul(n(cv.cin), cv.plane)
	xw, xh := n(cv.cin), sym.Mul(n(cv.cin), cols.in)
	if gather {
		xh = sym.Mul(n(cv.cin), gw)
	}
	runs, run := n(cols.kernel), n(cv.cin)
	if cols.dilation.Is(1) || cols.kernel == 1 {
		runs, run = one, n(cols.kernel*cv.cin) // neighbouring columns are one run
	}
	taps := rows.kernel * cols.kernel * cv.cin
	w, bias := cv.panels(1, cv.cout, rowsCols, lastCols(cv.cout))
	d, values := convRowsParams, Values{"tap_runs": runs, "run_length": run,
		"in_stride_batch": image, "in_stride_row": xh, "in_stride_col": xw}
	in := &Instance{
		Operands: []int{cv.x},
		Packed:   []Packed{w, bias},
		Channels: Channels{Inner: one, Count: n(cv.cout)}, RunChannels: true,
		Tile: r.Target.tile(),
		MACs: sym.Mul(cv.batch, n(cv.cout), rows.out, cols.out, n(taps)),
	}
	costs := &r.Target.Language.Costs
	depth, _ := run.Const()
	in.Cost = cost(in.MACs) / 4 * (cv.narrow(costs.RowsLanes) * (1 + costs.Run/float64(depth)))
	if gather {
		fc, fw := cv.plane, one
		if cv.xLast || cv.cin == 1 {
			fc, fw = one, n(cv.cin)
		} else {
			in.Cost += costs.PlaneCopy * cost(gh, xh)
		}
		d = convGatherParams
		maps.Copy(values, Values{"padded_h": gh, "source_stride_channel": fc,
			"source_stride_row": sym.Mul(cols.in, fw), "source_stride_col": fw,
			"copied_w": sym.Min(cols.in, sym.Sub(gw, cols.pad))})
		in.Scratch = sym.Mul(sym.Int(4), gh, xh)
		in.Cost += costs.Copy * cost(cv.batch, gh, xh)
	}
	in.Params = d.params(values, cv.window())
	return in
}

// outIsRow reports whether the result is the same in either layout: it has one
// pixel, or one channel.
func (cv *convolution) outIsRow() bool {
	return cv.axes[0].out.Is(1) && cv.axes[1].out.Is(1) || cv.groups*cv.cout == 1
}

// biasFrom returns the operand that the bias was read from, none for zeros.
func (cv *convolution) biasFrom() []int {
	if cv.b < 0 {
		return nil
	}
	return []int{cv.b}
}

// lastCols returns the width of the last panel of n columns of weights if it is
// narrower than rowsCols, else 0.
func lastCols(n int) int {
	if rest := n % rowsCols; rest > 0 && rest <= rowsCols/2 {
		return rowsCols / 2
	}
	return 0
}
