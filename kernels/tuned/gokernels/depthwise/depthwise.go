// Package depthwise convolves every channel of an image by itself.
package depthwise

// F32 convolves batch images of so many channels, ih rows and iw columns into
// channels·mult channels of oh rows and ow columns, output channel j from input
// channel j/mult. The kernel has kh rows and kw columns of taps, dh and dw apart,
// and moves by sh and sw; the image is surrounded by ph and pw zeros. The weights
// are w[channels·mult][kh][kw]. xb, xc, xh, xw are the steps of x over batch,
// channels, rows and columns, yb, yc, yh those of y, whose columns are
// neighbours: yw is 1. The epilogue, if not nil, is applied to each run of
// finished results: o is the position of run[0] in y, c the channel of all of
// the run.
func F32(y, x, w, bias []float32, batch, channels, mult, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw,
	xb, xc, xh, xw, yb, yc, yh, yw int, epilogue func(run []float32, o, c int)) {
	// Output columns left..right-1 see all kernel columns.
	left := (pw + sw - 1) / sw
	right := 0
	if reach := iw + pw - (kw-1)*dw; reach > 0 {
		right = min(ow, (reach-1)/sw+1)
	}
	for b := range batch {
		for j := range channels * mult {
			for p := range oh {
				top := p*sh - ph
				r, rows := window(top, ih, kh, dh)
				at := b*xb + j/mult*xc + (top+r*dh)*xh
				taps := w[(j*kh+r)*kw:][:rows*kw]
				o := b*yb + j*yc + p*yh
				run := y[o : o+(ow-1)*yw+1]
				for q := 0; q < ow; {
					start := q*sw - pw
					if q >= left && q+4 <= right && rows > 0 {
						four(run[q*yw:], yw, bias[j], x[at+start*xw:], sw*xw, dh*xh, dw*xw, taps, kw)
						q += 4
						continue
					}
					c, columns := window(start, iw, kw, dw)
					sum := bias[j]
					for r := range rows {
						for i := range columns {
							sum += x[at+r*dh*xh+(start+(c+i)*dw)*xw] * taps[r*kw+c+i]
						}
					}
					run[q*yw] = sum
					q++
				}
				if epilogue != nil {
					epilogue(run, o, j)
				}
			}
		}
	}
}

// four computes four neighbouring results, yw apart in y and step apart in x,
// from rows of kw taps, xh and xw apart in x.
func four(y []float32, yw int, bias float32, x []float32, step, xh, xw int, taps []float32, kw int) {
	a0, a1, a2, a3 := bias, bias, bias, bias
	for row := 0; len(taps) >= kw; row += xh {
		at := row
		for _, t := range taps[:kw] {
			v := x[at : at+3*step+1]
			a0 += t * v[0]
			a1 += t * v[step]
			a2 += t * v[2*step]
			a3 += t * v[3*step]
			at += xw
		}
		taps = taps[kw:]
	}
	y[0], y[yw], y[2*yw], y[3*yw] = a0, a1, a2, a3
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
