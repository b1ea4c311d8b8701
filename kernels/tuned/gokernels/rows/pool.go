package rows

import "math"

// MaxPool takes the largest of every window of images, whose padding does not count; what
// is no number is larger than all. If channels do not lie innermost, planes are each on
// their own: runs for the epilogue are rows of them, and each part needs scratch for a
// row of the image. So it is with scratch where they do, which is for few channels.
func MaxPool(y, x, scratch []float32, a *PoolParams, epilogue EpilogueFunc) {
	MaxPoolPart(alone(0), y, x, scratch, a, epilogue)
}

// MaxPoolPart does a piece of MaxPool's one step.
func MaxPoolPart(d Piece, y, x, scratch []float32, a *PoolParams, epilogue EpilogueFunc) {
	if a.channelsInner && (len(scratch) == 0 || a.channels%windowUnit == 0) {
		pool(d, y, x, maxima, a, epilogue)
		return
	}
	maxPlanes(d, y, x, scratch, a, epilogue)
}

// AvgPool is MaxPool for means, of taps that are neighbours, and for channels that lie
// innermost. Padding is as wide behind the image as before it.
func AvgPool(y, x []float32, a *PoolParams, epilogue EpilogueFunc) {
	AvgPoolPart(alone(0), y, x, a, epilogue)
}

// AvgPoolPart does a piece of AvgPool's one step.
func AvgPoolPart(d Piece, y, x []float32, a *PoolParams, epilogue EpilogueFunc) {
	kind := means
	switch {
	case a.divisor > 0:
		kind = dividedMeans
	case a.divisor < 0:
		kind = paddedMeans
	}
	pool(d, y, x, kind, a, epilogue)
}

// pool computes a piece of all rows.
func pool(d Piece, y, x []float32, k kind, a *PoolParams, e EpilogueFunc) {
	f := unbounded(e)
	s := a.slide(k)
	var ones, zero [panel]float32
	for i := range ones {
		ones[i] = 1
	}
	first, end := d.of(a.outH)
	for b := range a.batch {
		s.run(y, x, ones[:], zero[:], lines{b, first, end}, &f)
	}
}

func (a *PoolParams) slide(k kind) slide {
	return slide{a.rows(), a.columns(), a.channels, a.channels, a.inH * a.inW * a.channels,
		a.inW * a.channels, a.channels, k, a.divisor, 1, 0, a.inBytes && keepsBytes()}
}

func (a *PoolParams) rows() axis {
	return axis{a.inH, a.outH, a.kernelH, a.strideH, a.dilationH, a.padH}
}

func (a *PoolParams) columns() axis {
	return axis{a.inW, a.outW, a.kernelW, a.strideW, a.dilationW, a.padW}
}

// maxPlanes is MaxPoolPart by rows of the image. Each part has its share of the scratch;
// if that is for fewer parts, there is nothing left for the others to do.
func maxPlanes(d Piece, y, x, scratch []float32, a *PoolParams, epilogue EpilogueFunc) {
	pixel, planes := 1, a.batch*a.channels
	if a.channelsInner {
		pixel, planes = a.channels, a.batch
	}
	row := a.inW * pixel
	d.parts = min(d.parts, len(scratch)/max(row, 1))
	if d.part >= d.parts {
		return
	}
	scratch = scratch[d.part*row:][:row]
	low := float32(math.Inf(-1))
	rows, cols := a.rows(), a.columns()
	t := tile{y: scratch, rows: 1, middle: 1, xOuter: a.dilationH * row, width: row,
		low: low, high: -low}
	first, end := d.of(planes * a.outH)
	for u := first; u < end; u++ {
		plane, p := u/a.outH, u%a.outH
		// The largest of what each column has, then of neighbouring columns.
		s := rows.from(p, a.outH)
		t.outer, t.x = s.count, nil
		if s.count > 0 {
			t.x = x[(plane*a.inH+p*a.strideH-a.padH+s.first*a.dilationH)*row:]
		}
		t.above()
		o := u * a.outW * pixel
		run := y[o:][:a.outW*pixel]
		cols.largest(run, scratch, pixel)
		switch {
		case epilogue == nil:
		case a.channelsInner:
			for i := 0; i < len(run); i += pixel {
				epilogue(run[i:][:pixel], o+i, 0)
			}
		default:
			epilogue(run, o, plane%a.channels)
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

// largest computes the largest of what a window sees of a row at each position, of pixels of so
// many elements.
func (a *axis) largest(run, row []float32, pixel int) {
	for q := 0; q*pixel < len(run); {
		s := a.from(q, len(run)/pixel)
		part := run[q*pixel:][:s.n*pixel]
		for i := range part {
			part[i] = float32(math.Inf(-1))
		}
		at := q*a.stride - a.pad + s.first*a.dilation
		for range s.count {
			for c := range pixel {
				taps := row[at*pixel+c:]
				for i, k := c, 0; i < len(part); i, k = i+pixel, k+a.stride*pixel {
					part[i] = max(part[i], taps[k])
				}
			}
			at += a.dilation
		}
		q += s.n
	}
}
