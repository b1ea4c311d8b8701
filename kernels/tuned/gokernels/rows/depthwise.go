package rows

import "math"

// Depthwise convolves every channel of batch images of so many channels, which
// lie innermost, by itself: ih rows and iw columns into oh rows and
// ow columns. The kernel has kh rows and kw columns of taps, dh and dw apart, and
// moves by sh and sw; the image is surrounded by ph and pw zeros; output columns
// left..right-1 see all kernel columns. The weights are w[kh][kw][channels]. xb,
// xh and xw are the steps of x over batch, rows and columns. Results are
// finished as Linear's are, c being a channel.
func Depthwise(y, x, w, bias []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw, left, right, xb, xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	DepthwisePart(0, 0, 1, y, x, w, bias, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw, left, right, xb, xh, xw, add, low, high, epilogue)
}

// DepthwisePart does one of the parts that Depthwise's one step is divided into.
func DepthwisePart(_, part, parts int, y, x, w, bias []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw, left, right, xb, xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	t := tile{next: sw * xw, step: channels, xOuter: dh * xh, xMiddle: dw * xw, wOuter: kw * channels, wMiddle: channels}
	for b := range batch {
		for p := oh * part / parts; p < oh*(part+1)/parts; p++ {
			top := p*sh - ph
			r, rows := taps(top, ih, kh, dh)
			for q := 0; q < ow; q += t.rows {
				side := q*sw - pw
				c, columns := 0, kw
				t.rows = 1
				if q >= left && q < right {
					t.rows = lengths(right-q, windowRows)
				} else {
					c, columns = taps(side, iw, kw, dw)
				}
				t.outer, t.middle = rows, columns
				at, tap := 0, 0
				if rows > 0 && columns > 0 {
					at, tap = b*xb+(top+r*dh)*xh+(side+c*dw)*xw, (r*kw+c)*channels
				}
				o := ((b*oh+p)*ow + q) * channels
				for j := 0; j < channels; {
					// Whole panels, half a one, and the last channels beside some
					// that are there already.
					rest := channels - j
					t.width = rest / panel * panel
					if t.width == 0 {
						t.width = min(channels, panel/2)
					}
					skip := max(0, t.width-rest)
					t.x, t.w, t.bias = x[at+j-skip:], w[tap+j-skip:], bias[j-skip:]
					f.window(&t, o+j, j, skip, epilogue)
					j += t.width - skip
				}
			}
		}
	}
}

// window carries out t, a window whose result number skip is number o of y and of
// channel c. Those before it are left out.
func (f *finish) window(t *tile, o, c, skip int, e epilogue) {
	columns := t.width - skip
	if skip == 0 {
		f.aim(t, o)
		window(t)
	} else {
		var sums [maxRows * panel]float32
		part := *t
		part.y, part.step, part.add, part.low, part.high = sums[:], panel, nil, float32(math.Inf(-1)), float32(math.Inf(1))
		window(&part)
		f.take(t, &sums, skip, o, columns)
	}
	if e != nil {
		f.call(t, o, c, columns, e)
	}
}

// taps returns which of n taps, d apart from position p on, lie in 0..size-1:
// the first, and how many.
func taps(p, size, n, d int) (first, count int) {
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
