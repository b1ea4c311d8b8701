package rows

// sweep computes neighbouring results of a row of a window with weights that slides
// over images whose channels lie innermost: all of its taps beside each other are
// loaded for them once, and what lies outside of the image counts as zeros.
type sweep struct {
	y     []float32
	x     []float32 // from the first row on that the window sees
	w     []float32 // from that row's on
	bias  []float32
	add   []float32 // laid out as y, if not nil: added to the sums
	none  []float32 // zeros, for panel channels
	count int       // results, at most sweepMost
	first int       // pixel that the first one sees first, which may be outside
	rows  int       // of taps that are inside, xRow and wRow apart
	xRow  int
	wRow  int
	taps  int // of a row, 3 or 5, wNext apart
	wNext int
	by    int // pixels, 1 or 2, that results are apart
	width int // pixels of a row of the image, xNext apart
	xNext int
	// channels are a multiple of sweepUnit.
	channels  int
	low, high float32
	// see Epilogue
	shift, scale      []float32
	least, most, plus float32
	bytesFrom         int // see tile
	saturates         bool
}

const (
	sweepMost             = 7    // results of a sweep
	sweepShort, sweepLong = 3, 5 // rows of taps that there are sweeps for
)

// outside is what a sweep sees outside of images. It is never written.
var outside [panel]float32

// sweeps reports whether s is computed by sweeps, of a multiple of unit channels: each
// result sees some of the image's columns.
func (s *slide) sweeps(unit int) bool {
	c := &s.cols
	return s.kind == sums && s.channels >= panel/4 && s.channels%unit == 0 &&
		s.xw == s.channels &&
		(c.taps == sweepShort || c.taps == sweepLong) && c.dilation == 1 && c.stride <= 2 &&
		c.pad < c.taps && (c.out-1)*c.stride-c.pad < c.in
}

// pairs reports whether sweeps of a multiple of unit channels take two pixels for one, of twice the
// channels: these lie beside each other, and a vector of so few would be half empty.
func (s *slide) pairs(unit int) bool {
	return unit == 1 && s.channels == panel/4 && s.lanes >= 2*s.channels && s.cols.stride == 1
}

// along is how sweeps go along a row of results: from begin up to before end by pairs, which see
// nothing outside of the image, and before and behind by results.
type along struct{ out, length, begin, end, pairs int }

// along returns how sweeps of a multiple of unit channels go.
func (s *slide) along(unit int) along {
	c := &s.cols
	if !s.pairs(unit) {
		return along{out: c.out, length: lengths(c.out, sweepMost)}
	}
	begin := min(c.pad, c.out)
	all := max(0, min(c.out, c.in+c.pad-c.taps+1)-begin) / 2
	return along{c.out, sweepMost, begin, begin + 2*all, lengths(all, sweepMost)}
}

// at returns how many results, or pairs of results, the sweep from q on has.
func (a *along) at(q int) (n int, pairs bool) {
	switch {
	case q < a.begin:
		return a.begin - q, false
	case q < a.end:
		return min(a.pairs, (a.end-q)/2), true
	}
	return min(a.length, a.out-q), false
}

// sweep is run by sweeps.
func (s *slide) sweep(y, x, w, bias []float32, of lines, f *Epilogue) {
	t := sweep{none: outside[:], xRow: s.rows.dilation * s.xh, wRow: s.cols.taps * s.lanes,
		taps: s.cols.taps, wNext: s.lanes, xNext: s.channels, low: f.low, high: f.high}
	var twice [2][panel / 2]float32 // the scales of a pair
	if f.scale != nil && rescales() {
		t.shift, t.scale = f.shift[:s.channels], f.scale[:s.channels]
		t.least, t.most, t.plus, t.bytesFrom = f.least, f.most, f.plus, f.bytesFrom(s.outBytes)
		t.saturates = f.saturates(t.bytesFrom)
		if s.pairs(sweepUnit) {
			for i, from := range [][]float32{t.shift, t.scale} {
				copy(twice[i][copy(twice[i][:], from):], from)
			}
			t.shift, t.scale = twice[0][:], twice[1][:]
		}
	}
	along := s.along(sweepUnit)
	for p := of.first; p < of.end; p++ {
		top := p*s.rows.stride - s.rows.pad
		skip, count := taps(top, s.rows.in, s.rows.taps, s.rows.dilation)
		t.rows, t.x, t.w = count, nil, nil
		if count > 0 {
			t.x = x[of.image*s.xb+(top+skip*s.rows.dilation)*s.xh:]
			t.x = t.x[:(count-1)*t.xRow+s.cols.in*s.channels]
			t.w = w[skip*t.wRow:][:count*t.wRow]
		}
		for q := 0; q < s.cols.out; {
			n, pairs := along.at(q)
			t.count, t.first = n, q*s.cols.stride-s.cols.pad
			t.channels, t.by, t.width = s.channels, s.cols.stride, s.cols.in
			if pairs {
				t.channels, t.by, t.width = 2*s.channels, 2, s.cols.in-1
			}
			t.bias = bias[:t.channels]
			o, all := ((of.image*s.rows.out+p)*s.cols.out+q)*s.channels, n*t.channels
			if t.bytesFrom > 0 {
				t.y = y[o/4:][:all/4]
			} else {
				t.y = y[o:][:all]
			}
			if f.add != nil {
				t.add = f.add[o:][:all]
			}
			sweepFast(&t)
			if f.apply != nil {
				for i := 0; i < all; i += s.channels {
					f.apply(y[o+i:][:s.channels], o+i, 0)
				}
			}
			q += all / s.channels
		}
	}
}
