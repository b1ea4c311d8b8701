package rows

import "math"

// MaxPool takes the largest of every window of batch images of so many channels,
// which lie innermost, ih rows and iw columns, into images of oh rows and ow
// columns; what is no number is larger than all. The window has kh rows and kw
// columns, dh and dw apart, and moves by sh and sw; the image begins after ph
// and pw elements that do not count, and there are some behind it. The epilogue,
// if not nil, is called on the channels of each result: o is the position of
// run[0] in y and c its channel.
func MaxPool(y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw int,
	epilogue func(run []float32, o, c int)) {
	MaxPoolPart(0, 0, 1, y, x, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph,
		pw, epilogue)
}

// MaxPoolPart does one of the parts that MaxPool's one step is divided into.
func MaxPoolPart(_, part, parts int, y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh,
	sw, dh, dw, ph, pw int, epilogue func(run []float32, o, c int)) {
	pool(part, parts, y, x, batch, channels, maxima, 0, axis{ih, oh, kh, sh, dh, ph},
		axis{iw, ow, kw, sw, dw, pw}, epilogue)
}

// AvgPool is MaxPool for means, of taps that are neighbours. Sums are divided by
// divisor; if it is 0, by how many elements a window sees; if it is negative, by
// how many with the padding, which is as wide behind the image as before it.
func AvgPool(y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, ph, pw, divisor int,
	epilogue func(run []float32, o, c int)) {
	AvgPoolPart(0, 0, 1, y, x, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, ph, pw,
		divisor, epilogue)
}

// AvgPoolPart does one of the parts that AvgPool's one step is divided into.
func AvgPoolPart(_, part, parts int, y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh,
	sw, ph, pw, divisor int, epilogue func(run []float32, o, c int)) {
	kind := means
	switch {
	case divisor > 0:
		kind = dividedMeans
	case divisor < 0:
		kind = paddedMeans
	}
	pool(part, parts, y, x, batch, channels, kind, divisor, axis{ih, oh, kh, sh, 1, ph},
		axis{iw, ow, kw, sw, 1, pw}, epilogue)
}

// pool computes one of so many parts of all rows.
func pool(part, parts int, y, x []float32, batch, channels int, k kind, divisor int, rows,
	cols axis, e epilogue) {
	f := finish{y, nil, float32(math.Inf(-1)), float32(math.Inf(1))}
	s := slide{rows, cols, channels, channels, rows.in * cols.in * channels, cols.in * channels,
		channels, k, divisor, 1}
	var ones, zero [panel]float32
	for i := range ones {
		ones[i] = 1
	}
	for b := range batch {
		s.run(&f, e, x, ones[:], zero[:], b, rows.out*part/parts, rows.out*(part+1)/parts)
	}
}

// MaxPoolPlanes is MaxPool for row-major images: of planes, each on its own. The
// scratch holds a row. The epilogue's runs are rows of planes, of channel c.
func MaxPoolPlanes(y, x, scratch []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw,
	ph, pw int, epilogue func(run []float32, o, c int)) {
	MaxPoolPlanesPart(0, 0, 1, y, x, scratch, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh,
		dw, ph, pw, epilogue)
}

// MaxPoolPlanesPart does one of the parts that MaxPoolPlanes' one step is divided
// into. Each has its share of the scratch; if that is for fewer parts, there is
// nothing left for the others to do.
func MaxPoolPlanesPart(_, part, parts int, y, x, scratch []float32, batch, channels, ih, iw, oh, ow,
	kh, kw, sh, sw, dh, dw, ph, pw int, epilogue func(run []float32, o, c int)) {
	parts = min(parts, len(scratch)/max(iw, 1))
	if part >= parts {
		return
	}
	scratch = scratch[part*iw:][:iw]
	low := float32(math.Inf(-1))
	rows, cols := axis{ih, oh, kh, sh, dh, ph}, axis{iw, ow, kw, sw, dw, pw}
	t := tile{y: scratch, rows: 1, middle: 1, xOuter: dh * iw, width: iw, low: low, high: -low}
	all := batch * channels * oh
	for u := all * part / parts; u < all*(part+1)/parts; u++ {
		plane, p := u/oh, u%oh
		// The largest of what each column has, then of neighbouring columns.
		s := rows.from(p, oh)
		t.outer, t.x = s.count, nil
		if s.count > 0 {
			t.x = x[(plane*ih+p*sh-ph+s.first*dh)*iw:]
		}
		t.above()
		o := (plane*oh + p) * ow
		run := y[o : o+ow]
		cols.largest(run, scratch)
		if epilogue != nil {
			epilogue(run, o, plane%channels)
		}
	}
}

// above computes a row of the largest of what lies above each other.
func (t *tile) above() {
	width := t.width
	if rest := width % windowUnit; rest > 0 && width > windowUnit {
		end := *t
		end.y = t.y[width-windowUnit:]
		if t.x != nil {
			end.x = t.x[width-windowUnit:]
		}
		end.width = windowUnit
		largest(&end)
		t.width -= rest
	}
	largest(t)
	t.width = width
}

// largest computes the largest of what a window sees of a row at each position.
func (a *axis) largest(run, row []float32) {
	for q := 0; q < len(run); {
		s := a.from(q, len(run))
		part := run[q : q+s.n]
		for i := range part {
			part[i] = float32(math.Inf(-1))
		}
		at := q*a.stride - a.pad + s.first*a.dilation
		for range s.count {
			taps := row[at:]
			for i, v := range part {
				part[i] = max(v, taps[i*a.stride])
			}
			at += a.dilation
		}
		q += s.n
	}
}
