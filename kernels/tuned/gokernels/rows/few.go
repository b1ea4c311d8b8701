package rows

import "math"

const (
	fewChannels = 8  // of results, at most: as many stand beside each other in weights
	fewCols     = 48 // of results, at most, of a tile
)

// ConvFew convolves batch images, xb apart, of cin planes, ih rows and iw columns
// into ones of cout channels, 8 at most, which lie innermost, oh rows and ow
// columns. The kernel has kh rows and kw columns of taps; rows of taps are dh
// apart; it moves by sh and sw. The weights are w[cin][kh][kw][8]; bias has 8
// elements. Each image is copied into scratch first, with ph rows of zeros above
// and pw columns of them before it, given of its columns, and zeros around: planes
// have gh rows, gw apart, in which every sw-th column is in one phase, phase
// elements after the one before. Results are finished as Linear's are.
func ConvFew(y, x, w, bias, scratch []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh, xb, ih,
	iw, ph, pw, given, gh, gw, phase int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	for step := range 2 * batch {
		ConvFewPart(step, 0, 1, y, x, w, bias, scratch, batch, cin, cout, oh, ow, kh, kw, sh, sw,
			dh, xb, ih, iw, ph, pw, given, gh, gw, phase, add, low, high, epilogue)
	}
}

// ConvFewPart does one of the parts that a step of ConvFew is divided into: steps
// copy an image and convolve it in turn, and each begins when the one before has
// ended.
func ConvFewPart(step, part, parts int, y, x, w, bias, scratch []float32, _, cin, cout, oh, ow, kh,
	kw, sh, sw, dh, xb, ih, iw, ph, pw, given, gh, gw, phase int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	b := step / 2
	if step%2 == 0 {
		phases(scratch, x[b*xb:], gh*part/parts, gh*(part+1)/parts, cin, sw, ih, iw, ph, pw, given,
			gh, gw, phase)
		return
	}
	f := finish{y, add, low, high}
	t := few{w: w, bias: bias, planes: cin, plane: gh * gw, rows: kh, row: dh * gw, taps: kw,
		phases: sw, phase: phase, channels: cout}
	var sums [fewChannels * fewCols]float32
	t.low, t.high = float32(math.Inf(-1)), float32(math.Inf(1))
	t.y, t.step = sums[:], fewCols
	across := turn{sums: sums[:], channels: cout, low: low, high: high}
	length := fewLength(ow)
	for p := oh * part / parts; p < oh*(part+1)/parts; p++ {
		for q := 0; q < ow; q += length {
			t.columns = min(length, ow-q)
			t.x = scratch[p*sh*gw+q:]
			t.run()
			o := ((b*oh+p)*ow + q) * cout
			across.columns, across.y = t.columns, f.y[o:]
			if add != nil {
				across.add = add[o:]
			}
			across.run()
			if epilogue != nil {
				for i := range t.columns {
					at := o + i*cout
					epilogue(y[at:at+cout], at, 0)
				}
			}
		}
	}
}

// ConvFewPlanes is ConvFew for row-major results, whose channels are yc apart. The
// epilogue's runs are neighbours in a plane, all of channel c.
func ConvFewPlanes(y, x, w, bias, scratch []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh,
	xb, ih, iw, ph, pw, given, gh, gw, phase, yc int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	for step := range 2 * batch {
		ConvFewPlanesPart(step, 0, 1, y, x, w, bias, scratch, batch, cin, cout, oh, ow, kh, kw, sh,
			sw, dh, xb, ih, iw, ph, pw, given, gh, gw, phase, yc, add, low, high, epilogue)
	}
}

// ConvFewPlanesPart is to ConvFewPlanes what ConvFewPart is to ConvFew.
func ConvFewPlanesPart(step, part, parts int, y, x, w, bias, scratch []float32, _, cin, cout, oh,
	ow, kh, kw, sh, sw, dh, xb, ih, iw, ph, pw, given, gh, gw, phase, yc int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	b := step / 2
	if step%2 == 0 {
		phases(scratch, x[b*xb:], gh*part/parts, gh*(part+1)/parts, cin, sw, ih, iw, ph, pw, given,
			gh, gw, phase)
		return
	}
	t := few{w: w, bias: bias, planes: cin, plane: gh * gw, rows: kh, row: dh * gw, taps: kw,
		phases: sw, phase: phase,
		channels: cout, step: yc, low: low, high: high}
	length := fewLength(ow)
	for p := oh * part / parts; p < oh*(part+1)/parts; p++ {
		for q := 0; q < ow; q += length {
			t.columns = min(length, ow-q)
			t.x = scratch[p*sh*gw+q:]
			o := b*cout*yc + p*ow + q
			t.y = y[o:]
			if add != nil {
				t.add = add[o:]
			}
			t.run()
			if epilogue != nil {
				for c := range cout {
					at := o + c*yc
					epilogue(y[at:at+t.columns], at, c)
				}
			}
		}
	}
}

// phases copies rows first to last-1 of an image's planes as ConvFew says.
func phases(to, from []float32, first, last, cin, sw, ih, iw, ph, pw, given, gh, gw, phase int) {
	// Where the first elements of a row begin.
	begin, second := pw%sw*phase+pw/sw, (1+pw)%sw*phase+(1+pw)/sw
	for c := range cin {
		for r := first; r < last; r++ {
			row := to[(c*gh+r)*gw:][:gw]
			clear(row)
			if r < ph || r-ph >= ih || given == 0 {
				continue
			}
			line := from[(c*ih+r-ph)*iw:][:given]
			switch sw {
			case 1:
				copy(row[begin:], line)
			case 2:
				unzip(row[begin:], row[second:], line)
			default:
				for f := range min(sw, given) {
					part := row[(f+pw)%sw*phase+(f+pw)/sw:]
					for i := f; i < given; i += sw {
						part[i/sw] = line[i]
					}
				}
			}
		}
	}
}

// unzip takes elements of from in turn.
func unzip(even, odd, from []float32) {
	half := len(from) / 2
	even, odd = even[:(len(from)+1)/2], odd[:half]
	done := unzipFast(even, odd, from)
	for i := done; i < half; i++ {
		even[i], odd[i] = from[2*i], from[2*i+1]
	}
	if half < len(even) {
		even[half] = from[2*half]
	}
}

// few is a tile of results of few channels: neighbours of a row.
type few struct {
	y, x, w, bias []float32
	add           []float32 // laid out as y, if not nil: added to the sums
	step          int       // of y from channel to channel
	columns       int       // at most fewCols
	channels      int       // at most fewChannels
	// The sums run over planes, rows and taps of these, of which every phases-th
	// are neighbours in x. Weights are contiguous.
	planes, plane int
	rows, row     int
	taps          int
	phases, phase int
	low, high     float32
}

// run computes
//
//	y[c][j] = min(high, max(low, bias[c] + sum of x[… + j]·w[…][c] + add[c][j]))
//
// Of x whole vectors are read.
func (t *few) run() {
	last := (t.channels-1)*t.step + t.columns
	_ = t.y[:last]
	if t.add != nil {
		_ = t.add[:last]
	}
	_ = t.w[:t.planes*t.rows*t.taps*fewChannels]
	_ = t.bias[:fewChannels]
	whole := (t.columns + fewLanes - 1) / fewLanes * fewLanes
	_ = t.x[:(t.planes-1)*t.plane+(t.rows-1)*t.row+(min(t.taps,
		t.phases)-1)*t.phase+(t.taps-1)/t.phases+whole]
	if !fewFast(t) {
		t.plain()
	}
}

// blocks is run by way of tiles of four channels and whole vectors.
func (t *few) blocks() {
	const channels = fewChannels / 2
	whole := t.columns%fewLanes == 0
	for c := 0; c < t.channels; c += channels {
		part := *t
		part.w, part.bias, part.channels = t.w[c:], t.bias[c:], min(channels, t.channels-c)
		part.y = t.y[c*t.step:]
		if t.add != nil {
			part.add = t.add[c*t.step:]
		}
		if whole {
			fewBlock(&part)
			continue
		}
		var sums [channels * fewCols]float32
		aside := part
		aside.y, aside.step, aside.add = sums[:], fewCols, nil
		aside.low, aside.high = float32(math.Inf(-1)), float32(math.Inf(1))
		fewBlock(&aside)
		for i := range part.channels {
			part.take(sums[i*fewCols:][:t.columns], i)
		}
	}
}

// take finishes sums of channel c: they are t's results.
func (t *few) take(sums []float32, c int) {
	run := t.y[c*t.step:][:len(sums)]
	for j, v := range sums {
		if t.add != nil {
			v += t.add[c*t.step+j]
		}
		run[j] = bounded(v, t.low, t.high)
	}
}

// plain is run without vectors.
func (t *few) plain() {
	var line [fewCols]float32
	for c := range t.channels {
		sums := line[:t.columns]
		for j := range sums {
			sums[j] = t.bias[c]
		}
		w := c
		for p := range t.planes {
			for r := range t.rows {
				for k := range t.taps {
					v := t.w[w]
					for j, x := range t.x[p*t.plane+r*t.row+k%t.phases*t.phase+k/t.phases:][:len(
						sums)] {
						sums[j] += v * x
					}
					w += fewChannels
				}
			}
		}
		t.take(sums, c)
	}
}

// fewLength is the length of the tiles that rows of n results are taken in.
func fewLength(n int) int {
	vectors := (n + fewLanes - 1) / fewLanes
	return fewLanes * lengths(vectors, fewVectors)
}

// turn turns sums of few channels, fewCols apart, to results whose channels lie
// innermost.
type turn struct {
	sums, y   []float32
	add       []float32 // laid out as y, if not nil: added to the sums
	columns   int
	channels  int
	low, high float32
}

// run computes y[j][c] = min(high, max(low, sums[c][j] + add[j][c])).
func (t *turn) run() {
	_ = t.sums[:fewChannels*fewCols]
	_ = t.y[:t.columns*t.channels]
	if t.add != nil {
		_ = t.add[:t.columns*t.channels]
	}
	if !turnFast(t) {
		t.plain()
	}
}

// plain is run without vectors.
func (t *turn) plain() {
	for j := range t.columns {
		run := t.y[j*t.channels:][:t.channels]
		for c := range run {
			v := t.sums[c*fewCols+j]
			if t.add != nil {
				v += t.add[j*t.channels+c]
			}
			run[c] = bounded(v, t.low, t.high)
		}
	}
}
