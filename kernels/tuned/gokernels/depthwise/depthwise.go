// Package depthwise convolves every channel of an image by itself.
package depthwise

// F32 convolves batch images of so many channels, ih rows and iw columns into
// channels·mult channels of oh rows and ow columns, output channel j from input
// channel j/mult. The kernel has kh rows and kw columns of taps, dh and dw apart,
// and moves by sh and sw; the image is surrounded by ph and pw zeros; output columns
// left..right-1 see all kernel columns. The weights are w[channels·mult][kh][kw]. xb, xc, xh, xw
// are the steps of x over batch,
// channels, rows and columns, yb, yc, yh those of y, whose columns are
// neighbours: yw is 1. The epilogue, if not nil, is applied to each run of
// finished results: o is the position of run[0] in y, c the channel of all of
// the run.
func F32(y, x, w, bias []float32, batch, channels, mult, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph,
	pw, left, right,
	xb, xc, xh, xw, yb, yc, yh, yw int, epilogue func(run []float32, o, c int)) {
	if left >= right {
		left, right = ow, ow
	}
	for b := range batch {
		for j := range channels * mult {
			for p := range oh {
				top := p*sh - ph
				r, rows := window(top, ih, kh, dh)
				at := b*xb + j/mult*xc + (top+r*dh)*xh
				taps := w[(j*kh+r)*kw:][:rows*kw]
				o := b*yb + j*yc + p*yh
				run := y[o : o+ow]
				for q := range run {
					run[q] = bias[j]
				}
				if rows > 0 && left < right {
					inside(run[left:right], x[at+(left*sw-pw)*xw:], taps, kw, sw*xw, dh*xh, dw*xw)
				}
				for _, edge := range [...][2]int{{0, left}, {right, ow}} {
					for q := edge[0]; q < edge[1]; q++ {
						start := q*sw - pw
						c, columns := window(start, iw, kw, dw)
						for r := range rows {
							for i := c; i < c+columns; i++ {
								run[q] += x[at+r*dh*xh+(start+i*dw)*xw] * taps[r*kw+i]
							}
						}
					}
				}
				if epilogue != nil {
					epilogue(run, o, j)
				}
			}
		}
	}
}

// inside adds rows of kw taps, xh and xw apart in x, to results that see all of
// them and are step apart in x.
func inside(run, x, taps []float32, kw, step, xh, xw int) {
	for row := 0; len(taps) >= kw; row += xh {
		c := 0
		for ; c+3 <= kw; c += 3 {
			three(run, x[row+c*xw:], step, xw, taps[c], taps[c+1], taps[c+2])
		}
		for ; c < kw; c++ {
			one(run, x[row+c*xw:], step, taps[c])
		}
		taps = taps[kw:]
	}
}

// three adds three taps, xw apart in x.
func three(run, x []float32, step, xw int, t0, t1, t2 float32) {
	n := len(run)
	x1, x2 := x[xw:], x[2*xw:]
	if step == 1 {
		x, x1, x2 = x[:n], x1[:n], x2[:n]
		for i, v := range run {
			run[i] = v + t0*x[i] + t1*x1[i] + t2*x2[i]
		}
		return
	}
	at := 0
	for i, v := range run {
		run[i] = v + t0*x[at] + t1*x1[at] + t2*x2[at]
		at += step
	}
}

// one adds one tap.
func one(run, x []float32, step int, t float32) {
	if step == 1 {
		for i, v := range x[:len(run)] {
			run[i] += t * v
		}
		return
	}
	for i := range run {
		run[i] += t * x[i*step]
	}
}

// window returns which of n taps, d apart from position p on, lie in 0..size-1:
// the first, and how many.
func window(p, size, n, d int) (first, count int) {
	if p < 0 {
		first = (d - 1 - p) / d
	}
	end := 0
	if p < size {
		end = min(n, (size-p+d-1)/d)
	}
	if end <= first {
		return 0, 0
	}
	return first, end - first
}
