package rows

import "math"

// MaxPool takes the largest of every window of batch images of so many channels,
// which lie innermost, ih rows and iw columns, into images of oh rows and ow
// columns; what is no number is larger than all. The window has kh rows and kw
// columns, dh and dw apart, and moves by sh and sw; the image begins after ph
// and pw elements that do not count, and there are some behind it. The epilogue,
// if not nil, is called on the channels of each result: o is the position of
// run[0] in y and c its channel.
func MaxPool(y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw int, epilogue func(run []float32, o, c int)) {
	pool(y, x, batch, channels, maxima, 0, axis{ih, oh, kh, sh, dh, ph}, axis{iw, ow, kw, sw, dw, pw}, epilogue)
}

// AvgPool is MaxPool for means, of taps that are neighbours. Sums are divided by
// divisor; if it is 0, by how many elements a window sees; if it is negative, by
// how many with the padding, which is as wide behind the image as before it.
func AvgPool(y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, ph, pw, divisor int, epilogue func(run []float32, o, c int)) {
	kind := means
	switch {
	case divisor > 0:
		kind = dividedMeans
	case divisor < 0:
		kind = paddedMeans
	}
	pool(y, x, batch, channels, kind, divisor, axis{ih, oh, kh, sh, 1, ph}, axis{iw, ow, kw, sw, 1, pw}, epilogue)
}

func pool(y, x []float32, batch, channels int, k kind, divisor int, rows, cols axis, e epilogue) {
	f := finish{y, nil, float32(math.Inf(-1)), float32(math.Inf(1))}
	s := slide{rows, cols, channels, channels, rows.in * cols.in * channels, cols.in * channels, channels, k, divisor}
	var shares, zero [panel]float32
	for b := range batch {
		s.run(&f, e, x, shares[:], zero[:], b, 0, rows.out)
	}
}
