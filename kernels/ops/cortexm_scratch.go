package ops

import (
	"slices"
	"strings"
)

// CMSISScratch returns the bytes that CMSIS-NN's kernels work in, at most: those of cores without
// vectors and of such that multiply pairs or have vectors (MVE) need different ones. C is a
// call of a convolution, a pooling or a batch of products of cortex_m.
func CMSISScratch(c *Call) (sizes [2]int64) {
	most := func(name string, d int) int64 {
		_, n := c.Tensor(name).Sizes[d].Bounds()
		return n
	}
	up := func(n, to int64) int64 { return (n + to - 1) / to * to }
	columns := func(depth int64) int64 { return max(4*up(depth, 4), 4*up(depth, 16)) }
	op := strings.TrimPrefix(c.Op.Name(), "cortex_m.")
	switch op {
	case "quantized_avg_pool2d.default":
		return [2]int64{4 * most("input", 1)}
	case "quantized_batch_matmul.default":
		return [2]int64{4 * most("rhs_transposed", 1)}
	}
	in, width := most("input", 1), most("input", 3)
	kh, kw := most("weight", 1), most("weight", 2)
	stride, padding := c.spatialInts("stride"), c.spatialInts("padding")
	dilation := c.spatialInts("dilation")
	single := kh*kw == 1 && slices.Max(padding) == 0
	switch op {
	case "quantized_conv2d.default":
		if single && in == most("weight", 3) {
			return [2]int64{4 * in}
		}
		return [2]int64{max(columns(kh*kw*in), (kw+padding[1])*in)}
	case "quantized_depthwise_conv2d.default":
		out := most("weight", 3)
		if in == 1 {
			sizes[0] = columns(kh*kw) + kh*kw*out + (kw + padding[1])
		}
		if in == out && slices.Max(dilation) == 1 {
			const block = 124 // channels at a time with vectors
			sizes[0] = max(sizes[0], 2*in*kh*kw, 4*block*kh*kw)
		}
	default:
		out := most("weight", 0)
		if slices.Max(stride) <= 2 && in > 16 { // as a convolution
			return [2]int64{columns(kh * kw * in), kh * kw * in * out}
		}
		sizes[0] = 4 * ((width-1)*stride[1] + max(kw, stride[0])) * out * max(kh, stride[0])
	}
	return sizes
}

// spatialInts returns an argument for two axes, of padding what is before.
func (c *Call) spatialInts(name string) []int64 {
	list := must(c.Ints(name))
	if len(list) == 1 {
		list = append(list, list[0])
	}
	return list
}
