package tuned

import "github.com/etgen/etgen/kernels/ops"

// ChannelsLast reports whether the convolutions of a target want images whose
// channels lie innermost in memory: those that work on vectors of channels.
func ChannelsLast(t Target) bool { return t.Speed && (t.tile().Vector || t.Lang == "go") }

// IsConvolution reports whether c is a convolution of float32 images, the
// operator that a layout is chosen for.
func IsConvolution(c *ops.Call) bool {
	cv := convolutionOf(&Request{Call: c})
	return cv != nil && len(c.Outs[0].Sizes) == 4
}
