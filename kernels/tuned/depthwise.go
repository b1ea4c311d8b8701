package tuned

import (
	"math"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// The forms of DepthwiseRows.
const (
	// depthwiseLanes is Go's. Where there are few channels weights are several times beside
	// each other, [kh][kw][lanes], so that neighbouring pixels fill a vector together.
	depthwiseLanes = "depthwise_lanes_f32"
	// depthwiseSlide is for rows of 3 or 5 taps beside each other that move by one or two
	// pixels: a pixel is loaded once for all results that see it.
	depthwiseSlide = "depthwise_slide_f32"
	// depthwiseNarrow is the same for images of 8 channels and windows that move by one
	// column: a vector of more than 8 lanes holds the channels of neighbouring pixels. w is
	// [kh][kw][16], the channels repeated; bias is repeated likewise.
	depthwiseNarrow = "depthwise_narrow_f32"
	// depthwiseFours is for MVE, and a multiple of four channels.
	depthwiseFours = "depthwise_mve_f32"
	// depthwiseEights is for cores that have many registers for floats and load eight of them
	// at once, and for a multiple of eight channels.
	depthwiseEights = "depthwise_eights_f32"
)

// DepthwiseRows is the depthwise convolution over images whose channels lie innermost in
// memory; w is [kh][kw][channels].
func DepthwiseRows() *Kernel {
	return &Kernel{Name: "depthwise_rows_f32", Forms: []string{depthwiseSlide, depthwiseNarrow,
		depthwiseFours, depthwiseEights},
		Descriptor: depthwiseRowsParams, Windows: true, InPatches: depthwiseInPatches,
		Go:      "rows.Depthwise",
		Buffers: []string{"w", "bias"}, Phases: []string{"rows"}, Bounds: true, Rescales: true,
		Operands: []string{"x"}, C: true, tiling: eightTiles, Match: matchDepthwiseRows}
}

// slides reports whether the windows of an axis are such as depthwiseSlide's, and
// each sees some of the input.
func (a *axis) slides() bool {
	step, ok := a.stride.Const()
	reach := num(a.kernel - 1)
	return ok && (a.kernel == 3 || a.kernel == 5) && step <= 2 && a.dilation.Is(1) &&
		sym.LessEq(a.pad, reach) && sym.LessEq(a.after, reach)
}

// matchDepthwiseRows matches any number of channels if the language's kernel fills vectors
// with neighbouring pixels, else 8, or as many as fill one by themselves; with MVE multiples
// of 4, in the form depthwiseEights those of 8.
func matchDepthwiseRows(r *Request) *Instance {
	mve := r.Target.Machine.MVE && r.Target.Language.Has(DepthwiseRows())
	scalar := r.Target.tile().Pairs()
	if !ChannelsLast(r.Target) && !mve && !scalar {
		return nil
	}
	cv, pixels := convolutionOf(r), r.Target.Language.FindsVectors
	if cv == nil || cv.cin != 1 || cv.cout != 1 || !cv.xLast || !cv.yLast {
		return nil
	}
	cols := &cv.axes[1]
	form, head, times, speed := "", "", 1, 4.0
	switch {
	case mve && cv.groups%4 != 0:
		return nil
	case mve:
		form = depthwiseFours
	case scalar && !cv.eights(r.Target):
		return nil
	case scalar:
		form, head = depthwiseEights, "EIGHT_APART"
	case pixels:
		form = depthwiseLanes
		if cols.stride.Is(1) {
			times = abreast(cv.groups)
		}
	case cv.groups == narrowLanes/2 && cols.slides() && cols.stride.Is(1):
		form, times = depthwiseNarrow, 2
	case cv.groups < rowsCols/2:
		return nil
	case cols.slides():
		form, speed = depthwiseSlide, 8
	}
	// What is packed when the program is loaded has not been tried with the narrow form.
	if !cv.constants(r) || form == depthwiseNarrow && !cv.known(r) {
		return nil
	}
	w, bias := cv.repeated(times)
	in := cv.instance(r.Target.tile(), depthwiseRowsParams, Values{
		"channels": num(cv.groups), "lanes": num(times * cv.groups)}, w, bias)
	in.Form, in.Head, in.RunChannels = form, head, true
	in.StoresBytes = pixels && cols.slides() && cv.groups%4 == 0 && cv.groups >= rowsCols/4 &&
		cols.inStride.Is(int64(cv.groups)) // those are sweeps
	in.Cost = cost(in.MACs) / speed
	return in
}

// eights reports whether a convolution is such as depthwiseEights', but for its images' layout.
func (cv *convolution) eights(t Target) bool {
	return t.tile().Pairs() && cv.cin == 1 && cv.cout == 1 && cv.groups%8 == 0
}

// IsDepthwiseEights reports whether c is a convolution of channels in eights, whose kernel wants
// images whose channels lie innermost in memory.
func IsDepthwiseEights(c *ops.Call, t Target) bool {
	cv := convolutionOf(&Request{Call: c, Target: t})
	return cv != nil && cv.eights(t) && IsConvolution(c)
}

// eightTiles are those of depthwiseEights: pairs of neighbours that see all columns of taps.
func eightTiles(in *Instance) tiling {
	if in.Form != depthwiseEights {
		return tiling{}
	}
	return tiling{size: math.MaxInt32, blocks: in.number("channels") / 8, pair: 1.8, alone: 1.8}
}

// narrowLanes is how many floats of its weights a tap of depthwiseNarrow has.
const narrowLanes = rowsCols / 2

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
	return inPanels("w", wide, cv.weights, cv.w), inPanels("bias", row, cv.bias, bias.From...)
}
