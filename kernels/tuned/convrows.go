package tuned

import (
	"maps"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// rowsCols is the width of a panel of weights for the kernels that work on rows
// of results: ROWS_COLS of the C code. A last panel of at most half as many
// columns is half as wide.
const rowsCols = 32

// rowsMax is the most rows of results that they have in registers.
const rowsMax = 12

// What a convolution does about padding, and about where channels lie.
const (
	inPlace       = iota // it reads the image as it lies
	copied               // with its padding, into scratch
	innerChannels        // and planes channel by channel beside each other
)

// Conv2DRows is the convolution over images in any layout, grouped or not, transposed or
// not, of one or two dimensions: the products of a few neighbouring results of a row with
// a panel of weights. Where there is padding, or zeros between elements as in a transposed
// convolution, the image is copied into scratch with those.
func Conv2DRows() *Kernel {
	return &Kernel{Name: "conv2d_rows_f32", Descriptor: convRowsParams, InPatches: flatInPatches,
		Go: "rows.Conv", Buffers: []string{"w", "bias", "scratch"},
		Phases: []string{"gather", "rows"}, Bounds: true, Operands: []string{"x"}, C: true,
		Match: matchConvRows}
}

func matchConvRows(r *Request) *Instance {
	cv := convolutionOnRows(r, r.Target.Language.Costs.FewestChannels)
	if cv == nil || !cv.constants(r) {
		return nil
	}
	if cv.transposed || cv.groups > 1 || !cv.yLast && !cv.outIsRow() {
		return cv.onRows(r, false)
	}
	own := *cv
	own.yLast = true
	if cv.xLast || cv.cin == 1 {
		own.xLast = true
		return own.onRows(r, false)
	}
	best, other := own.onRows(r, true), cv.onRows(r, false)
	if other != nil && other.Cost < best.Cost {
		return other
	}
	return best
}

// convolutionOnRows returns what Conv2DRows and ConvEdges take, transposed or with so many
// channels at least, or nil.
func convolutionOnRows(r *Request, channels int) *convolution {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv := anyConvolution(r)
	if cv == nil || cv.groups > 1 && cv.cin == 1 && cv.cout < 4 ||
		cv.cout < channels && !cv.transposed {
		return nil
	}
	return cv
}

// onRows makes an instance of Conv2DRows: with inner, of planes that it copies channel by
// channel beside each other.
func (cv *convolution) onRows(r *Request, inner bool) *Instance {
	up := cv.up
	one, zero := sym.Int(1), sym.Int(0)
	own := *cv
	rows, cols := &own.axes[0], &own.axes[1]
	if r.Rows != nil && !cv.xLast && !inner {
		if !sym.LessEq(rows.reach(), sym.Add(rows.pad, rows.in)) {
			return nil // planes are as high as the code says that the image is
		}
		rows.in = cv.height
	}
	own.xLast = cv.xLast || inner
	channels := cv.groups * cv.cin
	planes, pixel, row := channels, 1, cols.in
	if own.xLast {
		planes, pixel = 1, channels
	}
	if !inner {
		row = sym.Mul(cols.in, num(pixel))
	}
	// What results see of the image that they see, copied or not.
	seenRows, seenCols, mode := rows.in, cols.in, inPlace
	if rows.padded() || cols.padded() || !up[0].Is(1) || !up[1].Is(1) || inner {
		seenRows, seenCols, mode = rows.reach(), cols.reach(), copied
	}
	apart := one // channels of a pixel that is copied
	if inner {
		mode, apart = innerChannels, cv.plane
	}
	xh := sym.Mul(seenCols, num(pixel))
	plane := sym.Mul(seenRows, xh)
	s, ok := own.sums([2]sym.Expr{one, one}, xh, plane)
	if !ok {
		return nil
	}
	middle := s.panels.B
	if own.xLast && !s.flat {
		middle = 1
	}
	xg := sym.Mul(num(cv.cin), plane)
	if own.xLast {
		xg = num(cv.cin)
	}
	gh, gw, given := zero, zero, cols.in
	if mode != inPlace {
		gh, gw = seenRows, xh
		given = sym.Max(zero, sym.Min(given, sym.CeilDiv(sym.Sub(seenCols, cols.pad), up[1])))
	}
	in := own.instanceOnRows(r, s, convRowsParams, Values{
		"outer_taps": num(s.panels.A), "middle_taps": num(middle), "inner_taps": num(s.depth),
		"in_stride_batch": sym.Mul(num(channels), cv.plane),
		"in_stride_group": xg, "in_stride_outer": s.xOuter, "in_stride_middle": s.xMiddle,
		"in_stride_row": sym.Mul(rows.stride, xh),
		"in_stride_col": sym.Mul(cols.stride, num(pixel)), "planes": num(planes), "in_row": row,
		"pad_row": sym.Mul(cols.pad, num(pixel)), "padded_h": gh, "padded_row": gw,
		"copied_row": sym.Mul(num(pixel), given), "pixel": num(pixel), "copy_mode": num(mode),
		"source_stride_channel": apart, "upsample_h": up[0], "upsample_w": up[1]})
	in.Scratch = sym.Mul(sym.Int(4), num(planes), gh, gw)
	costs := &r.Target.Language.Costs
	run, lanes := 1.0, costs.AroundLanes
	if own.xLast && own.yLast && cv.groups == 1 && !cv.transposed {
		run, lanes = costs.Run, costs.RowsLanes
	}
	// Vectors do four times what numbers do. Loops around short runs, results by
	// way of sums, and panels that are not full come on top.
	in.Cost = cost(in.MACs) / 4 * (1 + run/float64(s.depth)) * cv.narrow(lanes)
	if !own.yLast {
		in.Cost *= 1.25
	}
	if inner {
		in.Cost += costs.PlaneCopy * cost(gh, gw)
	}
	in.Cost += costs.Copy * cost(cv.batch, num(planes), gh, gw)
	return in
}

// instanceOnRows makes the instance of a kernel that takes results of a row by panels of
// weights, whose sums are nested so.
func (cv *convolution) instanceOnRows(r *Request, s tapSums, d *Descriptor, own Values) *Instance {
	out := sym.Mul(cv.axes[0].out, cv.axes[1].out)
	yw, yc := sym.Int(1), out
	if cv.yLast {
		yw, yc = num(cv.groups*cv.cout), sym.Int(1)
	}
	maps.Copy(own, Values{"out_stride_channel": yc, "out_stride_col": yw,
		"channels_inner": truth(cv.yLast)})
	taps := cv.axes[0].kernel * cv.axes[1].kernel * cv.cin
	return &Instance{
		Params:   d.params(own, cv.window()),
		Operands: []int{cv.x},
		Packed: []Packed{inPanels("w", s.panels, cv.weights, cv.w),
			cv.biases(cv.groups, cv.cout, rowsCols)},
		Channels: Channels{Inner: yc, Count: num(cv.groups * cv.cout)}, RunChannels: cv.yLast,
		Tile: r.Target.tile(),
		MACs: sym.Mul(cv.batch, num(cv.groups*cv.cout), out, num(taps)),
	}
}

// outIsRow reports whether the result is the same in either layout: it has one
// pixel, or one channel.
func (cv *convolution) outIsRow() bool {
	return cv.axes[0].out.Is(1) && cv.axes[1].out.Is(1) || cv.groups*cv.cout == 1
}

// lastCols returns the width of the last panel of n columns of weights if it is
// narrower than rowsCols, else 0.
func lastCols(n int) int {
	if rest := n % rowsCols; rest > 0 && rest <= rowsCols/2 {
		return rowsCols / 2
	}
	return 0
}

// fewChannels is the most channels of ConvFew's results: FEW_CHANNELS of the C code.
const fewChannels = 8

// fewLanes is the most results that a vector of it has.
const fewLanes = 16

// The copy of an image that ConvFew makes at a time has about so many bytes, which stay in the
// first cache, and is for so many rows of results at least: copies overlap.
const (
	fewBytes = 16 << 10
	fewBand  = 8
)

// ConvFew is the convolution of row-major images into few channels: too few for
// the lanes of a vector, which are neighbouring results of a row. It copies what some
// rows of results see into scratch first, with zeros around the image, and the columns that
// results see with one tap beside each other. Weights are packed as w[cin][kh][kw][8].
func ConvFew() *Kernel {
	return &Kernel{Name: "conv2d_few_f32", Descriptor: convFewParams, Go: "rows.ConvFew",
		Buffers: []string{"w", "bias", "scratch"}, Phases: []string{"gather", "rows"}, Bounds: true,
		Rescales: true, Operands: []string{"x"}, C: true, Match: matchFew}
}

func matchFew(r *Request) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	if cv := convolutionOf(r); cv != nil {
		return cv.few(r)
	}
	return nil
}

// few makes an instance of ConvFew.
func (cv *convolution) few(r *Request) *Instance {
	if cv.groups > 1 || cv.cout < 4 || cv.cout > fewChannels {
		return nil
	}
	rows, cols := &cv.axes[0], &cv.axes[1]
	step, ok := cols.stride.Const()
	whole := sym.Mul(r.Call.Tensor("input").Sizes[2:]...)
	if cv.xLast && cv.cin > 1 && !whole.Is(1) { // a pixel is row-major, too
		return nil
	}
	if !ok || !cols.dilation.Is(1) ||
		!sym.Mul(rows.in, cols.in).Equal(whole) || !cv.constants(r) {
		return nil
	}
	taps := cv.kernel[0] * cv.kernel[1]
	w := panels.Shape{Groups: 1, N: cv.cout, A: cv.cin, B: rows.kernel, C: cols.kernel,
		Cols:  fewChannels,
		Group: cv.cout * cv.cin * taps, Column: cv.cin * taps, StepA: taps,
		StepB: cv.kernel[1], StepC: 1}
	// Whole vectors are read, of neighbours in a phase.
	lanes := sym.Mul(num(fewLanes), sym.CeilDiv(cols.out, num(fewLanes)))
	phase := sym.Add(lanes, num((cols.kernel-1)/int(step)))
	gw, band := sym.Mul(cols.stride, phase), *rows
	if r.Target.Threads < 2 { // threads share a copy of all
		_, row := sym.Mul(rows.stride, gw).Bounds()
		n := fewBytes / (4 * int64(cv.cin) * min(max(row, 1), fewBytes))
		band.out = sym.Min(rows.out, num(int(max(n, fewBand))))
	}
	gh, yc := band.reach(), sym.Mul(rows.out, cols.out)
	if cv.yLast {
		yc = sym.Int(1)
	}
	in := &Instance{
		Params: convFewParams.params(Values{
			"in_stride_batch": sym.Mul(num(cv.cin), rows.in, cols.in), "out_stride_channel": yc,
			"channels_inner": truth(cv.yLast), "padded_h": gh, "padded_row": gw,
			"band":     band.out,
			"copied_w": sym.Max(sym.Int(0), sym.Min(cols.in, sym.Sub(cols.reach(), cols.pad))),
			"phase":    phase}, cv.window()),
		Operands: []int{cv.x},
		Packed:   []Packed{inPanels("w", w, cv.weights, cv.w), cv.biases(1, cv.cout, fewChannels)},
		Channels: Channels{Inner: yc, Count: num(cv.cout)}, RunChannels: cv.yLast,
		Tile:    r.Target.tile(),
		Scratch: sym.Mul(num(4*cv.cin), gh, gw),
		MACs:    sym.Mul(cv.batch, num(cv.cout), rows.out, cols.out, num(taps*cv.cin)),
	}
	_, width := cols.out.Bounds()
	costs := &r.Target.Language.Costs
	in.Cost = cost(in.MACs)/4*costs.FewProduct*
		float64(roundUp(width, fewLanes))/float64(max(width, 1)) +
		costs.FewCopy*cost(cv.batch, num(cv.cin), rows.reach(), cols.reach())
	return in
}
