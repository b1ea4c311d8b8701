package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// MixedConv2D is Conv2D with weights of integers, in C for machines without vectors, and without a
// bias: what scales a sum, and is added to it, is the epilogue's. The weights are packed as those
// of Conv2D are, of 8 bits or, with int4, of 4 bits, the first in the lower half of a byte.
func MixedConv2D() *Kernel {
	return &Kernel{Name: "mixed_conv2d_f32", Descriptor: mixedConvParams, Operands: []string{"x"},
		C: true, Apart: true, InPatches: eachAlone, ScalarPatches: true, tiling: productTiles,
		Match: matchMixedConv}
}

// MixedDepthwise is DepthwiseConv2D likewise.
func MixedDepthwise() *Kernel {
	return &Kernel{Name: "mixed_depthwise_f32", Descriptor: mixedDepthwiseParams,
		Operands: []string{"x"}, C: true, Head: "TILE_FUSED", Apart: true, InPatches: eachAlone,
		ScalarPatches: true, tiling: windowTiles, Windows: true, Match: matchMixedDepthwise}
}

// mixedOf returns r as a convolution of floats with integers, which are constant, or nil.
func mixedOf(r *Request) (cv *convolution, weights []byte) {
	cv = floatConvolution(r)
	if cv == nil || !cv.mixed || r.Target.vectors() {
		return nil, nil
	}
	weights, ok := r.Const(cv.w)
	if !ok {
		return nil, nil
	}
	return cv.orient(r.Target), weights
}

func matchMixedConv(r *Request) *Instance {
	cv, weights := mixedOf(r)
	if cv == nil || cv.groups > 1 && cv.cin == 1 {
		return nil
	}
	return cv.mixedInstance(r, mixedConvParams, cv.loops(), panels.Pack(cv.shape(cv.groups, cv.cout,
		r.Target.tile().Cols, 0), weights))
}

func matchMixedDepthwise(r *Request) *Instance {
	cv, weights := mixedOf(r)
	if cv == nil || cv.groups == 1 || cv.cin != 1 {
		return nil
	}
	return cv.mixedInstance(r, mixedDepthwiseParams, Values{"channels": num(cv.groups),
		"multiplier": num(cv.cout)}, panels.Pack(cv.shape(1, cv.groups*cv.cout, 1, 0), weights))
}

// mixedInstance makes the instance of a kernel whose weights are in order.
func (cv *convolution) mixedInstance(r *Request, d *Descriptor, own Values, w []byte) *Instance {
	own["int4"] = num(0)
	if !slices.ContainsFunc(w, func(b byte) bool { return int8(b) < -8 || int8(b) > 7 }) {
		w, own["int4"] = halves(w), num(1)
	}
	in := cv.instance(r.Target.tile(), d, own, Packed{Name: "w", DType: ir.Int8, Data: w,
		From: []int{cv.w}}, Packed{})
	in.Packed = in.Packed[:1]
	in.Cost = cost(in.MACs)
	return in
}

// halves packs integers of 4 bits, the first one in the lower half of a byte.
func halves(data []byte) []byte {
	packed := make([]byte, (len(data)+1)/2)
	for i, b := range data {
		packed[i/2] |= b & 15 << (i % 2 * 4)
	}
	return packed
}
