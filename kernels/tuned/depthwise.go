package tuned

import "github.com/etgen/etgen/ir/sym"

// DepthwiseRows is the depthwise convolution over images whose channels lie
// innermost in memory; w is [kh][kw][channels].
func DepthwiseRows() *Kernel {
	return &Kernel{Name: "depthwise_rows_f32", Descriptor: depthwiseRowsParams,
		InPatches: eachAlone, Phases: []string{"rows"}, Operands: []string{"x"},
		C:     true,
		Match: func(r *Request) *Instance { return matchDepthwiseRows(r, false) }}
}

// DepthwiseSlide is DepthwiseRows for rows of 3 or 5 taps beside each other that
// move by one or two pixels: a pixel is loaded once for all results that see it.
func DepthwiseSlide() *Kernel {
	return &Kernel{Name: "depthwise_slide_f32", Descriptor: depthwiseRowsParams,
		InPatches: eachAlone, Phases: []string{"rows"}, Operands: []string{"x"},
		C: true,
		Match: func(r *Request) *Instance {
			cv := convolutionOf(r)
			if cv == nil || !cv.axes[1].slides() {
				return nil
			}
			in := matchDepthwiseRows(r, false)
			if in != nil {
				in.Cost /= 2
			}
			return in
		}}
}

// slides reports whether the windows of an axis are such as DepthwiseSlide's, and
// each sees some of the input.
func (a *axis) slides() bool {
	step, ok := a.stride.Const()
	reach := sym.Int(int64(a.kernel - 1))
	return ok && (a.kernel == 3 || a.kernel == 5) && step <= 2 && a.dilation.Is(1) &&
		sym.LessEq(a.pad, reach) && sym.LessEq(a.after, reach)
}

// DepthwiseLanes is Go's DepthwiseRows. Where there are few channels its weights
// are several times beside each other, [kh][kw][lanes], so that neighbouring
// pixels fill a vector together.
func DepthwiseLanes() *Kernel {
	return &Kernel{Name: "depthwise_lanes_f32", Descriptor: depthwiseRowsParams,
		InPatches: lanesInPatches, Go: "rows.Depthwise", Buffers: []string{"w", "bias"},
		Phases: []string{"rows"}, Bounds: true, Operands: []string{"x"},
		Match: func(r *Request) *Instance { return matchDepthwiseRows(r, true) }}
}

// matchDepthwiseRows matches any number of channels if a kernel fills vectors with
// neighbouring pixels, else as many as fill one by themselves.
func matchDepthwiseRows(r *Request, pixels bool) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv := convolutionOf(r)
	if cv == nil || cv.cin != 1 || cv.cout != 1 || cv.groups < rowsCols/2 && !pixels ||
		!cv.xLast || !cv.yLast || !cv.constants(r) {
		return nil
	}
	n := func(x int) sym.Expr { return sym.Int(int64(x)) }
	times := 1
	if pixels && cv.axes[1].stride.Is(1) {
		times = abreast(cv.groups)
	}
	w, bias := cv.repeated(times)
	in := cv.instance(r.Target.tile(), depthwiseRowsParams, Values{"channels": n(cv.groups),
		"lanes": n(times * cv.groups)}, w, bias)
	in.RunChannels = true
	in.Cost = cost(in.MACs) / 4
	return in
}

// abreast returns how many neighbouring pixels of so many channels vectors work
// on together: as many as fill them whole if those are not too many.
func abreast(channels int) int {
	if channels >= rowsCols {
		return 1
	}
	const vector, most = rowsCols / 2, 8 * rowsCols
	for n := 1; n*channels <= most; n++ {
		if n*channels >= rowsCols && n*channels%vector == 0 {
			return n
		}
	}
	return (rowsCols + channels - 1) / channels
}

// repeated packs weights and bias of a depthwise convolution in one panel, which
// has all channels so many times beside each other.
func (cv *convolution) repeated(times int) (w, bias Packed) {
	w, bias = cv.panels(1, cv.groups, cv.groups, 0)
	if times == 1 {
		return w, bias
	}
	wide, row := *w.Panels, *bias.Panels
	wide.C, wide.StepC = times, 0
	row.C, row.StepC = times, 0
	return inPanels("w", wide, cv.weights, cv.w), inPanels("bias", row, cv.bias, cv.biasFrom()...)
}

// narrowLanes is how many floats of its weights a tap of DepthwiseNarrow has.
const narrowLanes = rowsCols / 2

// DepthwiseNarrow is DepthwiseSlide for images of 8 channels and windows that move by one
// column: a vector of more than 8 lanes holds the channels of neighbouring pixels. w is
// [kh][kw][16], the channels repeated; bias is repeated likewise.
func DepthwiseNarrow() *Kernel {
	return &Kernel{Name: "depthwise_narrow_f32", Descriptor: depthwiseRowsParams,
		InPatches: eachAlone, Phases: []string{"rows"},
		Operands: []string{"x"}, C: true,
		Match: matchDepthwiseNarrow}
}

func matchDepthwiseNarrow(r *Request) *Instance {
	if !ChannelsLast(r.Target) {
		return nil
	}
	cv := convolutionOf(r)
	if cv == nil || cv.cin != 1 || cv.cout != 1 || cv.groups != narrowLanes/2 ||
		!cv.xLast || !cv.yLast || !cv.axes[1].slides() || !cv.axes[1].stride.Is(1) || !cv.known(r) {
		return nil
	}
	taps := cv.axes[0].kernel * cv.axes[1].kernel
	w := make([]float32, 0, taps*narrowLanes)
	bias := make([]float32, narrowLanes)
	for k := range taps {
		for lane := range narrowLanes {
			w = append(w, cv.weight(lane%cv.groups, 0, k))
		}
	}
	for lane := range bias {
		bias[lane] = cv.bias[lane%cv.groups]
	}
	in := cv.instance(r.Target.tile(), depthwiseRowsParams, Values{
		"channels": sym.Int(int64(cv.groups)), "lanes": sym.Int(narrowLanes)},
		packed("w", w, cv.w), packed("bias", bias, cv.biasFrom()...))
	in.Cost = cost(in.MACs) / 4
	return in
}
