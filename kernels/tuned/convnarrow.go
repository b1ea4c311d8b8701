package tuned

import "github.com/etgen/etgen/ir/sym"

// narrowLanes is how many floats of its weights a tap of DepthwiseNarrow has.
const narrowLanes = rowsCols / 2

// DepthwiseNarrow is DepthwiseSlide for images of 8 channels that columns move over
// by one: a vector that is wider has the channels of neighbouring pixels. w is
// [kh][kw][16], the channels repeated; bias is repeated likewise.
func DepthwiseNarrow() *Kernel {
	return &Kernel{Name: "depthwise_narrow_f32", Descriptor: depthwiseRowsParams,
		InBands: eachAlone, Phases: []string{"rows"},
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
