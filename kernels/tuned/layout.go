package tuned

import "github.com/etgen/etgen/kernels/ops"

// ChannelsLast reports whether the convolutions of a target want images whose
// channels lie innermost in memory: those that work on vectors of channels.
func ChannelsLast(t Target) bool { return t.Speed && t.vectors() }

// IsConvolution reports whether c is a convolution of float32 images, the
// operator that a layout is chosen for.
func IsConvolution(c *ops.Call) bool {
	cv := convolutionOf(&Request{Call: c})
	return cv != nil && len(c.Outs[0].Sizes) == 4
}

// WorthCopies reports whether a convolution of row-major images (see
// IsConvolution) is better off among copies: into channels-last order, if its
// kernel does not gather images itself, and out of it.
func WorthCopies(c *ops.Call, t Target) (into, out bool) {
	cv := convolutionOf(&Request{Call: c})
	switch {
	case cv == nil || cv.outIsRow():
		return false, false
	case cv.cin == 1 && cv.groups > 1: // each channel on its own
		lanes := cv.cout == 1 && cv.groups >= rowsCols/2
		return lanes, lanes
	}
	taps := cv.cin * cv.kernel[0] * cv.kernel[1]
	return false, cv.groups == 1 && taps >= copyMACs && cv.cout >= t.Language.Costs.CopiedChannels
}

// copyMACs is how many multiply-accumulates of a kernel that works on rows are
// worth one element copied from or to another layout.
const copyMACs = 16
