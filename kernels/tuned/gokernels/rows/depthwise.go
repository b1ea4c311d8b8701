package rows

// Depthwise convolves every channel of batch images of so many channels, which
// lie innermost, by itself: ih rows and iw columns into oh rows and
// ow columns. The kernel has kh rows and kw columns of taps, dh and dw apart, and
// moves by sh and sw; the image begins after ph and pw zeros, and there are zeros
// behind it. The weights are w[kh][kw][lanes], those of the channels once or, if
// there are few channels, several times beside each other; bias is repeated
// likewise. xb, xh and xw are the steps of x over batch, rows and columns. Results
// are finished as Linear's are, c being a channel.
func Depthwise(y, x, w, bias []float32, batch, channels, lanes, ih, iw, oh, ow, kh, kw, sh, sw, dh,
	dw, ph, pw, xb, xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	DepthwisePart(0, 0, 1, y, x, w, bias, batch, channels, lanes, ih, iw, oh, ow, kh, kw, sh, sw,
		dh, dw, ph, pw, xb, xh, xw, add, low, high, epilogue)
}

// DepthwisePart does one of the parts that Depthwise's one step is divided into.
func DepthwisePart(_, part, parts int, y, x, w, bias []float32, batch, channels, lanes, ih, iw, oh,
	ow, kh, kw, sh, sw, dh, dw, ph, pw, xb, xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	s := slide{axis{ih, oh, kh, sh, dh, ph}, axis{iw, ow, kw, sw, dw, pw}, channels, lanes, xb, xh,
		xw, sums, 0, 1}
	for b := range batch {
		s.run(&f, epilogue, x, w, bias, b, oh*part/parts, oh*(part+1)/parts)
	}
}
