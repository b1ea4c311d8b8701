package rows

import "math"

// ConvBytes convolves images of floats that are whole numbers: bytes less padValue, which stands
// for padding. Weights are bytes, four of neighbouring taps of a column in an element, in panels as
// those of Conv: w[ceil(out_channels/32)][depth/4][32]. The channels of a pixel are a multiple of
// four with zeros; or what lies beside each other in a row of the image is, where pixel says so.
// Sums of bytes begin at start[2][roundUp(out_channels, 16)], which are int32: the second row is
// for bytes to which 128 is added.
//
// What results see is copied as the machine multiplies it: as bytes, as pairs of 16 bits, or as
// floats if they are not there already; with in_bytes they may be bytes already. For pairs and
// floats a panel of weights is spread out at a time, but for a single row of pairs. It returns
// whether results are rescaled: see Epilogue.
func ConvBytes(y, x, w, start, scratch []float32, a *ConvI8Params, f *Epilogue) (rescaled bool) {
	s := a.sight()
	cout, taps, way := a.outChannels, a.depth/4, s.way()
	t := tile{next: way.xNext, step: way.yNext, outer: a.kernelH, xOuter: a.dilationH * way.xRow,
		middle: 1, depth: s.columns * s.pixel, low: f.low, high: f.high, parts: s.parts,
		bytes: a.outH*a.outW == 1 && s.parts == 2}
	switch {
	case a.dilationW > 1:
		t.middle, t.xMiddle, t.depth = s.columns, a.dilationW*s.pixel, s.pixel
	case s.row > 0 && a.dilationH == 1: // rows of a window lie beside each other
		t.outer, t.depth = 1, a.kernelH*s.pixel
	}
	if byteFrom > 0 {
		start = start[len(start)/2:]
	}
	rescaled = f.scale != nil && rescales() && s.parts != 2 && a.outStrideChannel == 1
	if rescaled {
		t.bytesFrom = f.bytesFrom(a.outBytes)
		t.saturates = f.saturates(t.bytesFrom)
	}
	t.least, t.most, t.plus = f.least, f.most, f.plus
	seen := scratch
	if a.direct && (s.parts == 4 || s.bytes) {
		seen = nil
	}
	spread := scratch[len(scratch)-4*panel*taps:]
	t.length = lengths(way.count, tileRows)
	length := t.length
	if linesFast(s.parts) && a.outStrideChannel == 1 {
		length = max(way.count, 1)
	}
	for b := range a.batch {
		image := seen
		if seen == nil {
			image = x[s.at(b*a.inStrideBatch):]
		} else {
			s.copy(seen, x, b*a.inStrideBatch)
		}
		for j := 0; j < cout; j += panel {
			t.columns, t.width = panelOf(cout, j)
			t.w, t.bias = w[j*taps:][:taps*t.width], start[j:]
			if s.parts > 1 {
				t.bias = outside[:]
			}
			if s.parts > 1 && !t.bytes {
				t.w = s.spread(spread, t.w, t.width)
			}
			if rescaled {
				t.shift, t.scale = f.shift[j:], f.scale[j:]
				_, _ = t.shift[:t.columns], t.scale[:t.columns]
			}
			for p := range way.lines {
				for q := 0; q < way.count; q += length {
					t.rows = min(length, way.count-q)
					t.x = image[p*way.xLine+q*t.next:]
					o := b*a.outStrideBatch + p*way.yLine + q*t.step + j*a.outStrideChannel
					if a.outStrideChannel != 1 {
						f.apart(y, &t, o, j, a.outStrideChannel)
						continue
					}
					if t.bytesFrom > 0 {
						t.y = y[o/4:]
					} else {
						t.y, t.add = f.aim(y, o)
					}
					productOf(&t)
					if f.apply != nil {
						f.call(y, &t, o, j)
					}
				}
			}
		}
	}
	return rescaled
}

// apart carries out t for results whose columns are so far apart, by way of sums. It is a function
// of its own, so that no other call clears room for these.
func (f *Epilogue) apart(y []float32, t *tile, o, c, apart int) {
	var sums [maxRows * panel]float32
	whole := t.aside(&sums)
	productOf(&whole)
	f.take(y, t, &sums, o, c, apart)
}

// productOf is product of elements of any parts.
func productOf(t *tile) {
	if t.parts == 4 {
		product(t)
		return
	}
	if t.bytes { // an element has twice as many products
		words := *t
		words.outer, words.middle, words.depth = 1, 1, t.outer*t.middle*t.depth/2
		words.checkProduct()
		_ = t.x[:(t.outer-1)*t.xOuter+(t.middle-1)*t.xMiddle+t.depth]
	} else {
		t.checkProduct()
	}
	productBytes(t)
}

// sight is what results of a convolution of bytes see, as it is copied.
type sight struct {
	a *ConvI8Params
	// Four numbers are so many parts; floats have no zeros behind them. A pixel has so many
	// channels, and elements.
	parts, channels, pixel int
	height, width          int // of the copy
	// A result sees so many pixels of a row, and the next one begins step on. If it is a single
	// one, that has what lies beside each other in the image.
	columns, step int
	row           int  // numbers of a row of the image, with padding, of which pixels are made; or 0
	bytes         bool // the image has bytes, four in an element, as the copy does
}

// bytesFrom returns what is added to numbers that are rescaled and bounded, to store them as bytes
// without signs. 0 says that they are stored as floats. Machines that multiply no bytes always do
// so. from, if not 0, is what is added to results to make bytes with signs of them.
func (f *Epilogue) bytesFrom(from int) int {
	if from == 0 || !keepsBytes() {
		return 0
	}
	return int(f.plus) + from + byteFrom
}

// saturates reports whether f bounds numbers by 0 and 255, as bytes without signs do, and whether
// adding from, which bytesFrom returned, changes no such byte.
func (f *Epilogue) saturates(from int) bool {
	return from%256 == 0 && f.least == 0 && f.most == math.MaxUint8
}

// at returns where element i of the image lies.
func (s *sight) at(i int) int {
	if s.bytes {
		return i / 4
	}
	return i
}

func (a *ConvI8Params) sight() sight {
	s := sight{a: a, channels: a.inChannels, columns: a.kernelW, step: a.strideW,
		bytes:  a.inBytes && keepsBytes(),
		parts:  partsFast(a.outH*a.outW == 1, a.few()),
		height: (a.outH-1)*a.strideH + (a.kernelH-1)*a.dilationH + 1,
		width:  (a.outW-1)*a.strideW + (a.kernelW-1)*a.dilationW + 1}
	switch {
	case s.parts == 4:
		s.pixel = a.inChannels
		return s
	case a.beside():
		s.row = s.width * a.inChannels
		s.channels, s.columns, s.step, s.width = a.kernelW*a.inChannels, 1, 1, a.outW
	}
	s.pixel = s.parts * a.pixel / 4
	return s
}

// way is how results are gone through: in lines of so many, which are rows, or columns.
type way struct {
	lines, count       int
	xRow, xLine, xNext int // how far rows, lines and results are apart in the copy
	yLine, yNext       int
}

// way returns the way of longer lines where columns of pixels lie one behind the other.
func (s *sight) way() way {
	a, row := s.a, s.width*s.pixel
	if s.row == 0 {
		return way{a.outH, a.outW, row, a.strideH * row, s.step * s.pixel, a.outStrideRow, a.outStrideCol}
	}
	w := way{a.outH, a.outW, s.pixel, a.strideH * s.pixel, s.height * s.pixel, a.outStrideRow,
		a.outStrideCol}
	if w.lines > w.count && a.outStrideChannel == 1 {
		w.lines, w.count = w.count, w.lines
		w.xLine, w.xNext, w.yLine, w.yNext = w.xNext, w.xLine, w.yNext, w.yLine
	}
	return w
}

// few reports whether a pixel has so few channels that floats are as quick as pairs with zeros.
func (a *ConvI8Params) few() bool { return a.inChannels < 4 }

// beside reports whether weights are packed by what lies beside each other in the image.
func (a *ConvI8Params) beside() bool { return a.depth < a.kernelH*a.kernelW*a.pixel }

// copy copies an image, which begins so many elements behind the first one. Behind the copy there
// may be rows of it that pixels are made of.
func (s *sight) copy(to, x []float32, from int) {
	line := s.width * s.pixel
	all := s.height * line
	if s.row > 0 {
		s.rows(to[:all], to[all:], x[from:])
		return
	}
	if s.a.direct { // all rows are one
		s.pixels(to[:s.a.outH*line], x, from)
		return
	}
	begin := min(s.a.padW, s.width)
	run := max(0, min(s.width-begin, s.a.inW)) * s.pixel
	done := 0
	for r := s.a.padH; r < min(s.height, s.a.padH+s.a.inH); r++ {
		at := r*line + begin*s.pixel
		s.blank(to[done:at])
		done = at + run
		s.pixels(to[at:done], x, from+(r-s.a.padH)*s.a.inStrideRow)
	}
	s.blank(to[done:all])
}

// rows copies an image of which a pixel of the copy has what lies beside each other. Its rows are
// made bytes, then taken apart: a column of pixels lies behind the other, so that those of a window
// lie beside each other, too.
func (s *sight) rows(to, rest, x []float32) {
	n, column := s.a.inChannels, s.height*s.pixel
	// A row begins with an element's first byte; what is before it is padding.
	before := min(s.a.padW*n, s.row)
	lead, visible := (before+3)/4, min(s.a.inW*n, s.row-before)
	line := lead + (s.row-before+3)/4
	places, rest := rest[:column], rest[column:]
	for i := range places {
		places[i] = math.Float32frombits(uint32(4 * (i/s.pixel*line + i%s.pixel)))
	}
	bytes, rest := rest[:s.height*line+1], rest[s.height*line+1:]
	for r := range s.height {
		row, from := bytes[r*line:][:line], r-s.a.padH
		if from < 0 || from >= s.a.inH || visible == 0 {
			s.blank(row)
			continue
		}
		s.blank(row[:lead])
		s.blank(row[lead+visible/4:])
		image := x[from*s.a.inStrideRow:]
		if s.a.inStrideChannel != 1 || s.a.inStrideCol != n {
			for i := range rest[:visible] {
				rest[i] = image[i/n*s.a.inStrideCol+i%n*s.a.inStrideChannel]
			}
			image = rest
		}
		rowFast(row[lead:], image[:visible], s.a.padValue+byteFrom)
	}
	for q := range s.width {
		wordsFast(to[q*column:][:column], bytes, places, 4*lead-before+q*s.a.strideW*n)
	}
}

// blank makes padding of a copy.
func (s *sight) blank(to []float32) {
	if s.parts > 1 {
		clear(to)
		return
	}
	pad := math.Float32frombits(uint32(uint8(s.a.padValue+byteFrom)) * 0x01010101)
	for i := range to {
		to[i] = pad
	}
}

// pixels copies neighbouring pixels, which begin so many elements behind the first one.
func (s *sight) pixels(to, x []float32, first int) {
	channels, pixel, apart := s.channels, s.pixel, s.a.inStrideChannel
	count, done := len(to)/pixel, 0
	if s.bytes && channels%4 > 0 {
		spaceFast(to, x, channels, 4*pixel, count, first)
		return
	}
	x = x[s.at(first):]
	dense := apart == 1 && s.a.inStrideCol == channels
	switch {
	case dense && s.parts == 4 || s.bytes:
		copy(to, x)
		return
	case dense && channels%4 == 0:
		channels, count = count*channels, 1
		fallthrough
	case dense || s.a.inStrideCol == 1:
		if done = pixelsFast(to, x, channels, apart, count, s.a.padValue+byteFrom); done == len(to) {
			return
		}
	}
	for i := range count {
		from, row := x[i*s.a.inStrideCol:], to[i*(len(to)/count):][:len(to)/count]
		switch s.parts {
		case 1:
			for k := done; k < len(row); k++ {
				row[k] = word(from, 4*k, min(channels-4*k, 4), apart, 8, s.a.padValue+byteFrom)
			}
		case 2:
			for k := done; k < len(row); k++ {
				row[k] = word(from, 2*k, min(channels-2*k, 2), apart, 16, 0)
			}
		default:
			for c := range row {
				row[c] = from[c*apart]
			}
		}
	}
}

// word is an element of count numbers of so many bits, with an offset, that lie apart. The rest of
// it is zeros.
func word(from []float32, first, count, apart, bits, offset int) float32 {
	all := uint32(0)
	for k := range count {
		all |= uint32(int(from[(first+k)*apart])+offset) & (1<<bits - 1) << (k * bits)
	}
	return math.Float32frombits(all)
}

// spread makes rows of pairs of 16 bits, or of floats, of rows of bytes, width elements long, and
// returns them: one row becomes so many parts, without the zeros behind floats.
func (s *sight) spread(to, from []float32, width int) []float32 {
	channels, words := s.channels, s.a.pixel/4
	if s.a.beside() {
		channels *= s.a.kernelW
	}
	if s.parts == 2 || channels%4 == 0 { // no zeros
		channels, words = len(from)/width*s.parts, len(from)/width
	}
	at := 0
	for i := 0; i < len(from); i += words * width { // the next one overwrites the zeros
		spreadBytes(to[at:], from[i:][:words*width], width, s.parts)
		at += channels * width
	}
	return to[:at]
}

// spreadBytes makes so many parts of each row.
func spreadBytes(to, from []float32, width, parts int) {
	if spreadFast(to, from, width, parts) {
		return
	}
	for i := 0; i < len(from); i += width {
		rows := to[i*parts:][:width*parts]
		for j, v := range from[i:][:width] {
			bits := math.Float32bits(v)
			for k := range 4 {
				rows[k*width+j] = float32(int8(bits >> (8 * k)))
			}
		}
	}
}
