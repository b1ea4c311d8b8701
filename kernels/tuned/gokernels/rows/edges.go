package rows

// ConvEdges convolves batch images, xb apart, of ih rows and iw columns, xh and xw
// apart, between whose elements are zeros, so that rows and columns are uh and uw
// apart, into ones of oh rows and ow columns, each of groups groups of cout
// channels from one that is xg after the one before. The kernel has kh rows and kw
// columns of taps, dh and dw apart, and moves by sh and sw; the image begins after
// ph and pw zeros. Only taps that see elements are summed, over results that see
// the same of them. Either sh, sw, dh and dw are 1 or uh and uw are.
//
// The sums run over three loops, xOuter and xMiddle apart in x, wOuter and wMiddle
// rows of weights in a panel. Rows of taps are counted by the middle loop if planar
// is 1, the outer one then having outer taps, and else by the outer one. Columns
// are counted by the middle loop if flat is 1, the inner one having depth taps, and
// else by the inner one, unit taps each. The weights are packed: panels of taps rows
// of 32, the last of a group 16 wide where that is enough, zero where there is no
// channel; wRow and wCol are the rows of weights from tap to tap. bias is padded to
// panels of 32. Results are yw apart from column to column and yc, which is 1, from
// channel to channel, and finished as Linear's are.
func ConvEdges(y, x, w, bias []float32, batch, groups, cout, oh, ow, ih, iw, kh, kw, sh, sw, dh, dw,
	ph, pw, uh, uw, planar, flat, outer, depth, unit, taps, xb, xg, xh, xw, xOuter, xMiddle, wOuter,
	wMiddle, wRow, wCol, yw, yc int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	ConvEdgesPart(0, 0, 1, y, x, w, bias, batch, groups, cout, oh, ow, ih, iw, kh, kw, sh, sw, dh,
		dw, ph, pw, uh, uw, planar, flat, outer, depth, unit, taps, xb, xg, xh, xw, xOuter, xMiddle,
		wOuter, wMiddle, wRow, wCol, yw, yc, add, low, high, epilogue)
}

// ConvEdgesPart does one of the parts that ConvEdges's one step is divided into.
func ConvEdgesPart(_, part, parts int, y, x, w, bias []float32, batch, groups, cout, oh, ow, ih, iw,
	kh, kw, sh, sw, dh, dw, ph, pw, uh, uw, planar, flat, outer, depth, unit, taps, xb, xg, xh, xw,
	xOuter, xMiddle, wOuter, wMiddle, wRow, wCol, yw, yc int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	e := edges{rows: edge{oh, ih, kh, sh, dh, ph, uh}, cols: edge{ow, iw, kw, sw, dw, pw, uw},
		planar: planar == 1, flat: flat == 1, outer: outer, depth: depth, unit: unit,
		xh: xh, xw: xw, wOuter: wOuter, wMiddle: wMiddle, wRow: wRow, wCol: wCol, yw: yw, yc: yc}
	f := finish{y, add, low, high}
	e.run(&f, epilogue, part, parts, x, w, bias, batch, groups, cout, taps, xb, xg, xOuter, xMiddle)
}

// ConvEdgesPlanes is ConvEdges for row-major results: yw is 1. Each is a run for the
// epilogue.
func ConvEdgesPlanes(y, x, w, bias []float32, batch, groups, cout, oh, ow, ih, iw, kh, kw, sh, sw,
	dh, dw, ph, pw, uh, uw, planar, flat, outer, depth, unit, taps, xb, xg, xh, xw, xOuter, xMiddle,
	wOuter, wMiddle, wRow, wCol, yw, yc int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	ConvEdgesPlanesPart(0, 0, 1, y, x, w, bias, batch, groups, cout, oh, ow, ih, iw, kh, kw, sh, sw,
		dh, dw, ph, pw, uh, uw, planar, flat, outer, depth, unit, taps, xb, xg, xh, xw, xOuter,
		xMiddle, wOuter, wMiddle, wRow, wCol, yw, yc, add, low, high, epilogue)
}

// ConvEdgesPlanesPart is to ConvEdgesPlanes what ConvEdgesPart is to ConvEdges.
func ConvEdgesPlanesPart(_, part, parts int, y, x, w, bias []float32, batch, groups, cout, oh, ow,
	ih, iw, kh, kw, sh, sw, dh, dw, ph, pw, uh, uw, planar, flat, outer, depth, unit, taps, xb, xg,
	xh, xw, xOuter, xMiddle, wOuter, wMiddle, wRow, wCol, yw, yc int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	e := edges{rows: edge{oh, ih, kh, sh, dh, ph, uh}, cols: edge{ow, iw, kw, sw, dw, pw, uw},
		planar: planar == 1, flat: flat == 1, outer: outer, depth: depth, unit: unit,
		xh: xh, xw: xw, wOuter: wOuter, wMiddle: wMiddle, wRow: wRow, wCol: wCol, yw: yw, yc: yc,
		turned: true}
	f := finish{y, add, low, high}
	e.run(&f, epilogue, part, parts, x, w, bias, batch, groups, cout, taps, xb, xg, xOuter, xMiddle)
}

// edge is one dimension of an image with zeros between its elements, up apart, that
// a window of so many taps slides over.
type edge struct{ out, in, taps, stride, dilation, pad, up int }

// seen is what a window sees of its taps at n positions, up apart.
type seen struct {
	n            int
	first, count int // taps, every up-th of them
	at           int // element that the first one sees
}

// from returns the positions from p on that see the same. Where p does not see all
// taps that may lie on elements that is p alone.
func (a *edge) from(p int) seen {
	s := seen{n: 1}
	phase := (p*a.stride - a.pad) % a.up
	first := -phase
	if phase > 0 {
		first += a.up
	}
	at, all := (p*a.stride-a.pad+first)/a.up, 0
	if first < a.taps {
		all = (a.taps - first + a.up - 1) / a.up
	}
	skip, count := taps(at, a.in, all, a.dilation)
	if count == 0 {
		return s
	}
	s.first, s.count, s.at = first+skip*a.up, count, at+skip*a.dilation
	if count == all {
		s.n = min((a.out-p+a.up-1)/a.up, (a.in-1-at-(all-1)*a.dilation)/a.stride+1)
	}
	return s
}

// edges is a convolution as ConvEdges says.
type edges struct {
	rows, cols                  edge
	planar, flat                bool
	outer, depth, unit          int
	xh, xw                      int
	wOuter, wMiddle, wRow, wCol int
	yw, yc                      int
	turned                      bool
}

// run computes a part: of the panels, or of what is in each.
func (s *edges) run(f *finish, e epilogue, part, parts int, x, w, bias []float32, batch, groups,
	cout, taps, xb, xg, xOuter, xMiddle int) {
	wide := (cout + panel - 1) / panel * panel
	whole, turn := groups*wide/panel >= parts, 0
	turns, steps := 1, s.rows.out*((s.cols.out/s.cols.up+tileRows-1)/tileRows)*taps/s.rows.up
	if whole {
		turns = parts // from a part's panel to its next one
	} else {
		steps /= parts
	}
	mine := func() bool {
		turn++
		return (turn-1)%parts == part
	}
	t := tile{xOuter: xOuter, xMiddle: xMiddle}
	for b := range batch {
		weights := w
		for g := range groups {
			for j := 0; j < cout; j += panel {
				columns, width := panelOf(cout, j)
				t.bias, t.width, t.columns = bias[g*wide+j:], width, columns
				packed := weights[:taps*width]
				weights = weights[len(packed):]
				if whole && !mine() {
					continue
				}
				next := weights[min(len(weights), (turns-1)*len(packed)):]
				t.follow(next[:min(len(next), len(packed))], steps)
				channel := g*cout + j
				o := b*groups*cout*s.rows.out*s.cols.out + channel*s.yc
				for py := range min(s.rows.up, s.rows.out) {
					var v seen
					for p := py; p < s.rows.out; p += v.n * s.rows.up {
						v = s.rows.from(p)
						v.n = lengths(v.n, tileRows)
						if whole || mine() {
							s.row(f, e, &t, x[b*xb+g*xg:], packed, v, p,
								o+p*s.cols.out*s.yw, channel)
						}
					}
				}
			}
		}
	}
}

// row computes rows of results, which see v, the first of them number o, with the
// panel that t has.
func (s *edges) row(f *finish, e epilogue, t *tile, x, w []float32, v seen, p, o, channel int) {
	for px := range min(s.cols.up, s.cols.out) {
		var h seen
		for q := px; q < s.cols.out; q += h.n * s.cols.up {
			h = s.cols.from(q)
			s.area(f, e, t, x, w, v, h, o+q*s.yw, channel)
		}
	}
}

// area computes results that see v and h, in tiles along the longer side.
func (s *edges) area(f *finish, e epilogue, t *tile, x, w []float32, v, h seen, o, channel int) {
	lines, n := v.n, h.n
	lineX, nextX := s.rows.stride*s.xh, s.cols.stride*s.xw
	lineY, nextY := s.rows.up*s.cols.out*s.yw, s.cols.up*s.yw
	if h.n < v.n && h.n < tileRows/2 {
		lines, n, lineX, nextX, lineY, nextY = n, lines, nextX, lineX, nextY, lineY
	}
	t.outer, t.middle, t.depth = v.count, 1, h.count*s.unit
	if s.planar {
		t.outer, t.middle = s.outer, v.count
	}
	if s.flat {
		t.middle, t.depth = h.count, s.depth
	}
	if v.count*h.count == 0 {
		t.outer, lineX, nextX = 0, 0, 0
	}
	step := s.wMiddle * t.width
	t.wMiddle, t.wOuter = step-t.depth*t.width, s.wOuter*t.width-t.middle*step
	t.w = w[(v.first*s.wRow+h.first*s.wCol)*t.width:]
	x = x[v.at*s.xh+h.at*s.xw:]
	t.next, t.step = nextX, nextY
	length := lengths(n, tileRows)
	for line := range lines {
		for i := 0; i < n; i += length {
			t.rows = min(length, n-i)
			t.x = x[line*lineX+i*nextX:]
			at := o + line*lineY + i*nextY
			if s.turned {
				f.scattered(t, at, channel, s.yc, e)
			} else {
				f.product(t, at, channel, t.columns, e)
			}
		}
	}
}

// scattered carries out t like product for results whose columns are yc apart, by
// way of sums.
func (f *finish) scattered(t *tile, o, c, yc int, e epilogue) {
	var sums [maxRows * panel]float32
	whole := t.aside(&sums)
	product(&whole)
	t.fetched, t.lead = whole.fetched, whole.lead
	for j := range t.columns {
		for i := range t.rows {
			at := o + j*yc + i*t.step
			v := sums[i*panel+j]
			if f.add != nil {
				v += f.add[at]
			}
			f.y[at] = bounded(v, f.low, f.high)
			if e != nil {
				e(f.y[at:at+1], at, c+j)
			}
		}
	}
}
