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

// Conv2DRows is the convolution over images whose channels lie innermost in
// memory, without padding: the products of a few neighbouring results with a
// panel of weights run along contiguous channels. Weights are packed as
// w[ceil(cout/32)][kh][kw][cin][32], the last panel 16 wide where that is enough.
func Conv2DRows() *Kernel {
	return &Kernel{Name: "conv2d_rows_f32", Descriptor: convRowsParams, InPatches: flatInPatches,
		Go: "rows.Conv", Buffers: []string{"w", "bias"}, Phases: []string{"rows"}, Bounds: true, Operands: []string{"x"},
		C:     true,
		Match: func(r *Request) *Instance { return matchConvRows(r, false) }}
}

// Conv2DGather is Conv2DRows for images in any layout and with padding: it
// copies each into scratch first, channels innermost, its padding around it.
func Conv2DGather() *Kernel {
	return &Kernel{Name: "conv2d_gather_f32", Descriptor: convGatherParams,
		InPatches: flatInPatches, Go: "rows.ConvGather", Buffers: []string{"w", "bias", "scratch"},
		Phases: []string{"gather", "rows"}, Bounds: true,
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

// ConvAround is the convolution over images in any layout, grouped or not,
// transposed or not, of one or two dimensions: on tiles of a few neighbouring
// results by a panel of weights. The image stays in its layout;
// where there is padding, or zeros between elements as in a transposed
// convolution, a copy with those is made in scratch.
func ConvAround() *Kernel {
	return &Kernel{Name: "conv2d_around_f32", Descriptor: convAroundParams,
		InPatches: flatInPatches, Go: "rows.ConvAround", Buffers: []string{"w", "bias", "scratch"}, Phases: []string{"gather", "rows"},
		Bounds: true, Operands: []string{"x"}, C: true, Match: matchAround}
}

func matchAround(r *Request) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv, up := convolutionOf(r), [2]sym.Expr{sym.Int(1), sym.Int(1)}
	if cv == nil {
		if cv, up = transposedOf(r); cv == nil {
			return nil
		}
	}
	if cv.groups > 1 && cv.cin == 1 && cv.cout < 4 {
		return nil
	}
	costs := &r.Target.Language.Costs
	if cv.cout < costs.FewestChannels && !cv.transposed {
		return nil
	}
	n := func(x int) sym.Expr { return sym.Int(int64(x)) }
	one, zero := sym.Int(1), sym.Int(0)
	rows, cols := &cv.axes[0], &cv.axes[1]
	kh, kw, cin := rows.kernel, cols.kernel, cv.cin
	beside := cols.dilation.Is(1) || kw == 1 // taps of a row are neighbours
	if r.Rows != nil && !cv.xLast {
		if !sym.LessEq(rows.reach(), sym.Add(rows.pad, rows.in)) {
			return nil // planes are as high as the code says that the image is
		}
		own := *cv
		cv, rows, cols = &own, &own.axes[0], &own.axes[1]
		rows.in = cv.height
	}
	planes, pixel := cv.groups*cin, 1
	if cv.xLast {
		planes, pixel = 1, planes
	}
	// What results see of the image that they see, copied or not.
	seenRows, seenCols := rows.in, cols.in
	gather := rows.padded() || cols.padded() || !up[0].Is(1) || !up[1].Is(1)
	if gather {
		seenRows, seenCols = rows.reach(), cols.reach()
	}
	xh := sym.Mul(seenCols, n(pixel))
	plane := sym.Mul(seenRows, xh)
	taps := kh * kw
	s := panels.Shape{Groups: cv.groups, N: cv.cout, Cols: rowsCols, Last: lastCols(cv.cout)}
	s.Group, s.Column = cv.cout*cin*taps, cin*taps
	stepIn, stepRow, stepCol := taps, cv.kernel[1], 1
	if cv.transposed {
		s.Group, s.Column = cin*cv.cout*taps, taps
		stepIn, stepRow, stepCol = cv.cout*taps, -stepRow, -stepCol
	}
	var outer, middle, depth int
	var xOuter, xMiddle, xg sym.Expr
	switch {
	case !cv.xLast && beside:
		outer, middle, depth = cin, kh, kw
		xOuter, xMiddle = plane, sym.Mul(rows.dilation, xh)
		s.StepA, s.StepB, s.StepC = stepIn, stepRow, stepCol
	case !cv.xLast && kh == 1:
		outer, middle, depth = cin, kw, 1
		xOuter, xMiddle = plane, cols.dilation
		s.StepA, s.StepB = stepIn, stepCol
	case cv.xLast:
		outer, middle, depth = kh, kw, cin
		xOuter, xMiddle = sym.Mul(rows.dilation, xh), sym.Mul(cols.dilation, n(pixel))
		s.StepA, s.StepB, s.StepC = stepRow, stepCol, stepIn
	default:
		return nil
	}
	s.A, s.B, s.C = outer, middle, depth
	if cv.xLast && beside && cv.groups == 1 { // neighbouring pixels are one run
		middle, depth = 1, middle*depth
	}
	xg = sym.Mul(n(cin), plane)
	if cv.xLast {
		xg = n(cin)
	}
	if !cv.constants(r) {
		return nil
	}
	bias := panels.Shape{Groups: cv.groups, N: cv.cout, A: 1, B: 1, C: 1, Cols: rowsCols,
		Group: cv.cout, Column: 1}
	out := sym.Mul(rows.out, cols.out)
	yw, yc := one, out
	if cv.yLast {
		yw, yc = n(cv.groups*cv.cout), one
	}
	gh, gw := zero, zero
	if gather {
		gh, gw = seenRows, xh
	}
	given := cols.in // pixels of a row that are copied
	if gather {
		given = sym.Max(zero, sym.Min(given, sym.CeilDiv(sym.Sub(seenCols, cols.pad), up[1])))
	}
	given = sym.Mul(n(pixel), given)
	in := &Instance{
		Params: convAroundParams.params(Values{
			"outer_taps": n(outer), "middle_taps": n(middle), "inner_taps": n(depth),
			"in_stride_batch": sym.Mul(n(cv.groups*cin), rows.in, cols.in),
			"in_stride_group": xg, "in_stride_outer": xOuter, "in_stride_middle": xMiddle,
			"in_stride_row": sym.Mul(rows.stride, xh),
			"in_stride_col": sym.Mul(cols.stride, n(pixel)), "out_stride_channel": yc,
			"out_stride_col": yw, "channels_inner": truth(cv.yLast), "planes": n(planes),
			"in_row": sym.Mul(cols.in, n(pixel)), "pad_row": sym.Mul(cols.pad, n(pixel)),
			"padded_h": gh, "padded_row": gw, "copied_row": given, "pixel": n(pixel),
			"upsample_h": up[0], "upsample_w": up[1]}, cv.window()),
		Operands: []int{cv.x},
		Packed: []Packed{inPanels("w", s, cv.weights, cv.w), inPanels("bias", bias, cv.bias,
			cv.biasFrom()...)},
		Channels: Channels{Inner: yc, Count: n(cv.groups * cv.cout)}, RunChannels: cv.yLast,
		Tile:    r.Target.tile(),
		Scratch: sym.Max(sym.Int(4), sym.Mul(sym.Int(4), n(planes), gh, gw)),
		MACs:    sym.Mul(cv.batch, n(cv.groups*cv.cout), out, n(taps*cin)),
	}
	// Vectors do four times what numbers do. Loops around short runs, results by
	// way of sums, and panels that are not full come on top.
	in.Cost = cost(in.MACs) / 4 * (1 + 1/float64(depth)) *
		float64(max(costs.AroundLanes, cv.cout)) / float64(cv.cout)
	if !cv.yLast {
		in.Cost *= 1.25
	}
	in.Cost += costs.Copy * cost(cv.batch, n(planes), gh, gw)
	return in
}

// transposedOf reads r as a transposed convolution, or returns nil: it is the
// convolution with transposed weights over the input with zeros around its elements
// and between them, which are up apart.
func transposedOf(r *Request) (cv *convolution, up [2]sym.Expr) {
	c := r.Call
	switch c.Op.Name() {
	case "aten.convolution.default", "aten._convolution.default", "aten._convolution.deprecated":
	default:
		return nil, up
	}
	x, w, y := c.Tensor("input"), c.Tensor("weight"), c.Outs[0]
	if !c.Bool("transposed") || !allFloat32(c) || w.Rank() < 3 || w.Rank() > 4 ||
		x.Rank() != w.Rank() {
		return nil, up
	}
	sizes, ok := w.StaticSizes()
	groups, err := c.Int("groups")
	if !ok || err != nil || w.Numel().IsZero() {
		return nil, up
	}
	one := sym.Int(1)
	cv = &convolution{x: c.Operand("input"), w: c.Operand("weight"), b: c.Operand("bias"),
		batch: x.Sizes[0], transposed: true,
		groups: int(groups), cin: int(sizes[0] / groups), cout: int(sizes[1]),
		kernel: [2]int{1, int(sizes[len(sizes)-1])}}
	cv.xLast, cv.yLast = r.order(cv.x) != nil, r.Out != nil
	cv.axes[0] = axis{in: one, out: one, kernel: 1, stride: one, dilation: one}
	up = [2]sym.Expr{one, one}
	n := x.Rank() - 2
	for d := range n {
		a := &cv.axes[2-n+d]
		k := sizes[2+d]
		cv.kernel[2-n+d] = int(k)
		*a = axis{in: x.Sizes[2+d], out: y.Sizes[2+d], kernel: int(k), stride: one}
		var pad sym.Expr
		for _, arg := range []struct {
			name string
			to   *sym.Expr
		}{{"stride", &up[2-n+d]}, {"padding", &pad}, {"dilation", &a.dilation}} {
			es, err := c.SymInts(arg.name)
			if err != nil || len(es) != 1 && len(es) != n {
				return nil, up
			}
			*arg.to = es[min(d, len(es)-1)]
		}
		a.pad = sym.Sub(sym.Mul(sym.Int(k-1), a.dilation), pad)
		if lo, _ := a.pad.Bounds(); lo < 0 {
			return nil, up // results begin inside of the image
		}
		a.after = a.reach()
	}
	cv.plane = sym.Mul(cv.axes[0].in, cv.axes[1].in)
	return cv, up
}
