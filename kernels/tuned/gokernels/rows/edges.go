package rows

// ConvEdges convolves images between whose elements are zeros, so that their rows and
// columns are upsampled, group by group. Only taps that see elements are summed, over
// results that see the same of them. Either strides and dilations are 1 or nothing is
// upsampled.
//
// The sums run over three loops, which count rows of taps and columns of them as the
// parameters say. The weights are packed: panels of sum_taps rows of 32, the last of a
// group 16 wide where that is enough, zero where there is no channel. bias is padded to
// panels of 32.
func ConvEdges(y, x, w, bias []float32, a *ConvEdgesParams, f *Epilogue) {
	ConvEdgesPart(alone(0), y, x, w, bias, a, f)
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
	*ConvEdgesParams
	rows, cols edge
}

// ConvEdgesPart does a piece of ConvEdges's one step: of the panels, or of what is in
// each.
func ConvEdgesPart(d Piece, y, x, w, bias []float32, a *ConvEdgesParams, f *Epilogue) {
	s := edges{a, edge{a.outH, a.inH, a.kernelH, a.strideH, a.dilationH, a.padH, a.upsampleH},
		edge{a.outW, a.inW, a.kernelW, a.strideW, a.dilationW, a.padW, a.upsampleW}}
	cout, taps, parts := a.outChannels, a.sumTaps, d.parts
	wide := (cout + panel - 1) / panel * panel
	whole, turn := a.groups*wide/panel >= parts, 0
	turns, steps := 1, a.outH*((a.outW/a.upsampleW+tileRows-1)/tileRows)*taps/a.upsampleH
	if whole {
		turns = parts // from a part's panel to its next one
	} else {
		steps /= parts
	}
	mine := func() bool {
		turn++
		return (turn-1)%parts == d.part
	}
	t := tile{xOuter: a.inStrideOuter, xMiddle: a.inStrideMiddle, low: f.low, high: f.high}
	for b := range a.batch {
		weights := w
		for g := range a.groups {
			for j := 0; j < cout; j += panel {
				t.columns, t.width = panelOf(cout, j)
				t.bias = bias[g*wide+j:]
				packed := weights[:taps*t.width]
				weights = weights[len(packed):]
				if whole && !mine() {
					continue
				}
				next := weights[min(len(weights), (turns-1)*len(packed)):]
				t.prefetch(next[:min(len(next), len(packed))], steps)
				channel := g*cout + j
				o := b*a.groups*cout*a.outH*a.outW + channel*a.outStrideChannel
				image := x[b*a.inStrideBatch+g*a.inStrideGroup:]
				for py := range min(a.upsampleH, a.outH) {
					var v seen
					for p := py; p < a.outH; p += v.n * a.upsampleH {
						v = s.rows.from(p)
						v.n = lengths(v.n, tileRows)
						if whole || mine() {
							from := place{o + p*a.outW*a.outStrideCol, channel}
							s.row(y, &t, image, packed, v, from, f)
						}
					}
				}
			}
		}
	}
}

// place is a result: its number, and its channel.
type place struct{ o, channel int }

// row computes rows of results, which see v, from a place on, with the panel that t has.
func (s *edges) row(y []float32, t *tile, x, w []float32, v seen, from place, f *Epilogue) {
	for px := range min(s.upsampleW, s.outW) {
		var h seen
		for q := px; q < s.outW; q += h.n * s.upsampleW {
			h = s.cols.from(q)
			s.area(y, t, x, w, [2]seen{v, h}, place{from.o + q*s.outStrideCol, from.channel}, f)
		}
	}
}

// area computes results that see the same of rows and of columns, in tiles along the
// longer side.
func (s *edges) area(y []float32, given *tile, x, w []float32, sees [2]seen, from place,
	f *Epilogue) {
	t, v, h := *given, sees[0], sees[1]
	lines, n := v.n, h.n
	lineX, nextX := s.strideH*s.inStrideRow, s.strideW*s.inStrideCol
	lineY, nextY := s.upsampleH*s.outW*s.outStrideCol, s.upsampleW*s.outStrideCol
	if h.n < v.n && h.n < tileRows/2 {
		lines, n, lineX, nextX, lineY, nextY = n, lines, nextX, lineX, nextY, lineY
	}
	t.outer, t.middle, t.depth = v.count, 1, h.count*s.columnTaps
	if s.rowsInMiddle {
		t.outer, t.middle = s.outerTaps, v.count
	}
	if s.columnsInMiddle {
		t.middle, t.depth = h.count, s.innerTaps
	}
	if v.count*h.count == 0 {
		t.outer, lineX, nextX = 0, 0, 0
	}
	step := s.weightStrideMiddle * t.width
	t.wMiddle, t.wOuter = step-t.depth*t.width, s.weightStrideOuter*t.width-t.middle*step
	t.w = w[(v.first*s.weightStrideRow+h.first*s.weightStrideCol)*t.width:]
	x = x[v.at*s.inStrideRow+h.at*s.inStrideCol:]
	t.next, t.step = nextX, nextY
	length := lengths(n, tileRows)
	for line := range lines {
		for i := 0; i < n; i += length {
			t.rows = min(length, n-i)
			t.x = x[line*lineX+i*nextX:]
			at := from.o + line*lineY + i*nextY
			if !s.channelsInner {
				f.scattered(y, &t, at, from.channel, s.outStrideChannel)
				continue
			}
			t.y, t.add = f.aim(y, at)
			product(&t)
			if f.apply != nil {
				f.call(y, &t, at, from.channel)
			}
		}
	}
	given.fetched, given.fetchStep = t.fetched, t.fetchStep
}

// scattered carries out t, a product, for results whose columns are apart, by way of
// sums. The first one is number o of y and of channel c.
func (f *Epilogue) scattered(y []float32, t *tile, o, c, apart int) {
	var sums [maxRows * panel]float32
	whole := t.aside(&sums)
	product(&whole)
	t.fetched, t.fetchStep = whole.fetched, whole.fetchStep
	for j := range t.columns {
		for i := range t.rows {
			at := o + j*apart + i*t.step
			v := sums[i*panel+j]
			if f.add != nil {
				v += f.add[at]
			}
			y[at] = bounded(v, f.low, f.high)
			if f.apply != nil {
				f.apply(y[at:at+1], at, c+j)
			}
		}
	}
}
