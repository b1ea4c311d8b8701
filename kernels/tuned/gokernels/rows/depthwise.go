package rows

// Depthwise convolves every channel of images, which lie innermost, by itself; there are
// zeros behind the image as before it. The weights are w[kernel_h][kernel_w][lanes],
// those of the channels once or, if there are few channels, several times beside each
// other; bias is repeated likewise. It returns whether results are rescaled: see Epilogue. Bytes
// it stores in sweeps alone.
func Depthwise(y, x, w, bias []float32, a *DepthwiseRowsParams, f *Epilogue) (rescaled bool) {
	DepthwisePart(alone(0), y, x, w, bias, a, f)
	s := a.slide()
	return f.scale != nil && rescales() && s.sweeps(sweepUnit)
}

// DepthwisePart computes one piece of Depthwise, which has one step.
func DepthwisePart(d Piece, y, x, w, bias []float32, a *DepthwiseRowsParams, f *Epilogue) {
	s := a.slide()
	first, end := d.of(a.outH)
	for b := range a.batch {
		s.run(y, x, w, bias, lines{b, first, end}, f)
	}
}

func (a *DepthwiseRowsParams) slide() slide {
	return slide{axis{a.inH, a.outH, a.kernelH, a.strideH, a.dilationH, a.padH},
		axis{a.inW, a.outW, a.kernelW, a.strideW, a.dilationW, a.padW}, a.channels, a.lanes,
		a.inStrideBatch, a.inStrideRow, a.inStrideCol, sums, 0, 1, a.outBytes, false}
}
