package rows

// axis is one dimension of an image that a window of so many taps slides over.
// Only what lies before the image is said of its padding.
type axis struct{ in, out, taps, stride, dilation, pad int }

// span is n neighbouring positions of a window along an axis at which it sees
// the same of its taps: count of them from the first on.
type span struct{ n, first, count int }

// from returns the positions from p on and before end that see what p does.
// Where p does not see all taps that is p alone.
func (a *axis) from(p, end int) span {
	s := span{n: 1}
	s.first, s.count = taps(p*a.stride-a.pad, a.in, a.taps, a.dilation)
	if s.count == a.taps {
		s.n = min(end, (a.in-1-(a.taps-1)*a.dilation+a.pad)/a.stride+1) - p
	}
	return s
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

// slide is a window that slides over images whose channels lie innermost, xb,
// xh and xw apart over batch, rows and columns. lanes is a multiple of channels:
// so many weights stand beside each other, those of the channels again and
// again.
type slide struct {
	rows, cols      axis
	channels, lanes int
	xb, xh, xw      int
	kind            kind
	divisor         int     // of divided means
	over            float32 // what the sums at hand are divided by, if they are means
	outBytes        int     // see DepthwiseRowsParams
	bytes           bool    // the largest are of bytes without signs
}

// kind is what is made of what a window sees.
type kind int

const (
	sums kind = iota
	maxima
	means        // of the taps that lie in the image
	paddedMeans  // of those in the padding too, which is as wide on both sides
	dividedMeans // sums divided by a given number
)

// lines are rows of the results of an image: from the first up to before end.
type lines struct{ image, first, end int }

// run computes rows of results, which lie in y from the beginning of all images.
func (s *slide) run(y, x, w, bias []float32, of lines, f *Epilogue) {
	if s.sweeps(sweepUnit) {
		s.sweep(y, x, w, bias, of, f)
		return
	}
	var v, h span
	for p := of.first; p < of.end; p += v.n {
		v = s.rows.from(p, of.end)
		if !s.areas() { // a few rows at a time: what they see stays in the cache
			v.n = lengths(v.n, windowRows)
		}
		for q := 0; q < s.cols.out; q += h.n {
			h = s.cols.from(q, s.cols.out)
			s.area(y, x, w, bias, corner{of.image, p, q, v, h}, f)
		}
	}
}

// areas reports whether the largest of spans of rows and columns are computed at once.
func (s *slide) areas() bool { return s.kind == maxima && largestAreas() }

// corner is where spans of rows and columns of an image's results begin, and what they
// see.
type corner struct {
	image, row, column int
	rows, columns      span
}

// area computes results in tiles along their rows or their columns.
func (s *slide) area(y, x, w, bias []float32, at corner, f *Epilogue) {
	p, q, v, h := at.row, at.column, at.rows, at.columns
	t := tile{outer: v.count, middle: h.count, xOuter: s.rows.dilation * s.xh,
		xMiddle: s.cols.dilation * s.xw}
	switch s.kind {
	case sums:
		t.wOuter, t.wMiddle = s.cols.taps*s.lanes, s.lanes
		w = w[(v.first*s.cols.taps+h.first)*s.lanes:]
	case maxima:
		w = nil
	default:
		s.over = s.elements(p, q, v, h)
	}
	first := 0
	if v.count*h.count > 0 {
		top, side := p*s.rows.stride-s.rows.pad+v.first*s.rows.dilation,
			q*s.cols.stride-s.cols.pad+h.first*s.cols.dilation
		if first = at.image*s.xb + top*s.xh + side*s.xw; !s.bytes {
			x = x[first:]
		}
	}
	o := ((at.image*s.rows.out+p)*s.cols.out + q) * s.channels
	xRow, xColumn, oRow := s.rows.stride*s.xh, s.cols.stride*s.xw, s.cols.out*s.channels
	if v.count*h.count == 0 {
		xRow, xColumn = 0, 0
	}
	if s.areas() {
		t.rows, t.width, t.next, t.step = h.n, s.channels, xColumn, s.channels
		t.lines, t.xLine, t.yLine = v.n, xRow, oRow
		if s.bytes {
			t.x, t.y, t.xAt, t.yAt = x, y, first, o
			largestBytes(&t)
			return
		}
		t.x, t.y, t.low, t.high = x, y[o:], f.low, f.high
		largest(&t)
		for i := 0; i < v.n*h.n && f.apply != nil; i++ {
			at := o + i/h.n*oRow + i%h.n*s.channels
			f.apply(y[at:][:s.channels], at, 0)
		}
		return
	}
	pixels := 1 // beside each other in a row of a tile
	if s.lanes > s.channels && s.cols.stride == 1 {
		pixels = s.lanes / s.channels
	}
	// The direction of a tile that may have several rows must not depend on how many it
	// has: this number differs between parts, and results must not.
	if pixels == 1 && (v.count < s.rows.taps || h.n >= min(s.rows.out, windowRows)) {
		t.next, t.step = xColumn, s.channels
		for i := range v.n {
			t.rows, t.width = h.n, s.channels
			s.line(y, x[i*xRow:], w, bias, t, o+i*oRow, f)
		}
		return
	}
	t.next, t.step = xRow, oRow
	// The middle loop runs along the tile's rows: they may see the same there. Means add up as PyTorch
	// does, for what rounds them to integers may have exact halves.
	if s.kind < means {
		t.outer, t.xOuter, t.wOuter, t.middle, t.xMiddle, t.wMiddle = t.middle, t.xMiddle, t.wMiddle,
			t.outer, t.xOuter, t.wOuter
	}
	for i := 0; i < h.n; i += pixels {
		t.rows, t.width = v.n, min(pixels, h.n-i)*s.channels
		s.line(y, x[i*xColumn:], w, bias, t, o+i*s.channels, f)
	}
}

// elements returns what the sums of means are divided by; 1 where there is nothing to sum.
func (s *slide) elements(p, q int, v, h span) float32 {
	n := v.count * h.count
	switch s.kind {
	case paddedMeans:
		n = s.rows.padded(p) * s.cols.padded(q)
	case dividedMeans:
		n = s.divisor
	}
	return float32(max(n, 1))
}

// padded returns how many taps at position p lie in the image or in padding.
func (a *axis) padded(p int) int {
	from := p*a.stride - a.pad
	return min(a.taps, a.in+a.pad-from)
}

// line computes rows of t, which may be more than those of a tile, and wider.
func (s *slide) line(y, x, w, bias []float32, t tile, o int, f *Epilogue) {
	n, width := t.rows, t.width
	t.low, t.high = f.low, f.high
	length := lengths(n, windowRows)
	for i := 0; i < n; i += length {
		t.rows = min(length, n-i)
		for j := 0; j < width; {
			// As many as vectors can do, or the last ones beside some that are
			// there already.
			rest := width - j
			t.width = rest - rest%windowUnit
			if t.width == 0 {
				t.width = min(width, windowUnit)
			}
			if s.kind >= means {
				t.width = min(t.width, panel)
			}
			skip := max(0, t.width-rest)
			if t.x = x[i*t.next:]; t.outer*t.middle > 0 {
				t.x = t.x[j-skip:]
			}
			if t.w, t.bias = w, bias; s.kind == sums {
				t.w, t.bias = w[j-skip:], bias[j-skip:]
			}
			if t.y, t.add = f.aim(y, o+i*t.step+j); skip == 0 {
				s.compute(&t)
			} else {
				s.last(&t, skip)
			}
			j += t.width - skip
		}
		if s.kind >= means {
			for r := range t.rows {
				// A product with the reciprocal would differ in the last bit, which matters where
				// the result is rounded to an integer later.
				run := y[o+(i+r)*t.step:][:width]
				for j, v := range run {
					run[j] = v / s.over
				}
			}
		}
		if f.apply != nil {
			for r := range t.rows {
				for j := 0; j < width; j += s.channels {
					at := o + (i+r)*t.step + j
					f.apply(y[at:][:s.channels], at, 0)
				}
			}
		}
	}
}

// last carries out t, of which the first lanes do not count.
func (s *slide) last(t *tile, skip int) {
	var results [maxRows * panel]float32
	whole := t.aside(&results)
	s.compute(&whole)
	t.take(&results, skip, t.width-skip)
}

func (s *slide) compute(t *tile) {
	if s.kind == maxima {
		largest(t)
	} else {
		window(t)
	}
}
