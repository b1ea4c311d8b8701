package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// ConvAround is the convolution over images in any layout, grouped or not,
// transposed or not, of one or two dimensions: on tiles of a few neighbouring
// results by a panel of weights. The image stays in its layout;
// where there is padding, or zeros between elements as in a transposed
// convolution, a copy with those is made in scratch.
func ConvAround() *Kernel {
	return &Kernel{Name: "conv2d_around_f32", Descriptor: convAroundParams,
		InBands: flatInBands, Go: "rows.ConvAround", Buffers: []string{"w", "bias", "scratch"}, Phases: []string{"gather", "rows"},
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
	if cv.cout < costs.FewestChannels && !cv.turned {
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
	if cv.turned {
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
// convolution with turned weights over the input with zeros around its elements
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
		batch: x.Sizes[0], turned: true,
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
