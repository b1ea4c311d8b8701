package rows

import "math"

const (
	fewChannels = 8  // of results, at most: as many stand beside each other in weights
	fewCols     = 48 // of results, at most, of a tile
)

// ConvFew convolves images of planes into few channels, 8 at most. What a band of rows of results
// sees of an image is copied into scratch first, with zeros around it: in a row of a plane, every
// stride_w-th column is in one phase. The weights are w[in_channels][kernel_h][kernel_w][8]; bias
// has 8 elements. The scratch holds the planes. It returns whether results are rescaled: see
// Epilogue.
func ConvFew(y, x, w, bias, scratch []float32, a *ConvFewParams, f *Epilogue) (rescaled bool) {
	for b := range a.batch {
		for top := 0; top < a.outH; top += a.band {
			phases(0, a.paddedH, top, scratch, x[b*a.inStrideBatch:], a)
			fewRows(lines{b, top, min(top+a.band, a.outH)}, top, y, w, bias, scratch, a, f)
		}
	}
	return f.rescalesFew(a)
}

// rescalesFew reports whether ConvFew rescales.
func (f *Epilogue) rescalesFew(a *ConvFewParams) bool {
	return f.scale != nil && a.channelsInner && transposes()
}

// ConvFewPart computes one piece of a step of ConvFew, whose band is all rows. Even steps copy an
// image, and odd steps convolve it.
func ConvFewPart(d Piece, y, x, w, bias, scratch []float32, a *ConvFewParams, f *Epilogue) {
	b := d.step / 2
	if d.step%2 == 0 {
		first, end := d.of(a.paddedH)
		phases(first, end, 0, scratch, x[b*a.inStrideBatch:], a)
		return
	}
	first, end := d.of(a.outH)
	fewRows(lines{b, first, end}, 0, y, w, bias, scratch, a, f)
}

// fewRows computes rows of results. The copy begins with what row top sees.
func fewRows(of lines, top int, y, w, bias, scratch []float32, a *ConvFewParams, f *Epilogue) {
	t := few{w: w, bias: bias, planes: a.inChannels, plane: a.paddedH * a.paddedRow,
		rows: a.kernelH, row: a.dilationH * a.paddedRow, taps: a.kernelW, phases: a.strideW,
		phase: a.phase, channels: a.outChannels, step: a.outStrideChannel, low: f.low,
		high: f.high}
	if a.channelsInner {
		fewTransposed(of, top, t, y, scratch, a, f)
		return
	}
	length := fewLength(a.outW)
	for p := of.first; p < of.end; p++ {
		for q := 0; q < a.outW; q += length {
			t.columns = min(length, a.outW-q)
			t.x = scratch[(p-top)*a.strideH*a.paddedRow+q:]
			o := of.image*a.outChannels*t.step + p*a.outW + q
			t.y, t.add = f.aim(y, o)
			t.run()
			if f.apply != nil {
				for c := range a.outChannels {
					at := o + c*t.step
					f.apply(y[at:at+t.columns], at, c)
				}
			}
		}
	}
}

// fewTransposed computes results whose channels lie innermost, by way of sums.
func fewTransposed(of lines, top int, t few, y, scratch []float32, a *ConvFewParams, f *Epilogue) {
	var sums [fewChannels * fewCols]float32
	t.low, t.high = float32(math.Inf(-1)), float32(math.Inf(1))
	t.y, t.step = sums[:], fewCols
	across := transpose{sums: sums[:], channels: a.outChannels, low: f.low, high: f.high}
	if f.rescalesFew(a) {
		across.rescale(f)
	}
	length := fewLength(a.outW)
	for p := of.first; p < of.end; p++ {
		for q := 0; q < a.outW; q += length {
			t.columns = min(length, a.outW-q)
			t.x = scratch[(p-top)*a.strideH*a.paddedRow+q:]
			t.run()
			o := ((of.image*a.outH+p)*a.outW + q) * a.outChannels
			across.columns = t.columns
			across.y, across.add = f.aim(y, o)
			across.run()
			if f.apply != nil {
				for i := range t.columns {
					at := o + i*a.outChannels
					f.apply(y[at:at+a.outChannels], at, 0)
				}
			}
		}
	}
}

// phases makes rows of the copy as ConvFew says, which begins with what row top of results sees.
func phases(first, end, top int, to, from []float32, a *ConvFewParams) {
	by, pad, phase, columns := a.strideW, a.padW, a.phase, a.copiedW
	// Where the first elements of a row begin.
	begin, second := pad%by*phase+pad/by, (1+pad)%by*phase+(1+pad)/by
	for c := range a.inChannels {
		for r := first; r < end; r++ {
			row := to[(c*a.paddedH+r)*a.paddedRow:][:a.paddedRow]
			at := top*a.strideH + r - a.padH
			outside := at < 0 || at >= a.inH || columns == 0
			if outside || top == 0 { // what is beside columns stays zero
				clear(row)
			}
			if outside {
				continue
			}
			line := from[(c*a.inH+at)*a.inW:][:columns]
			switch by {
			case 1:
				copy(row[begin:], line)
			case 2:
				unzip(row[begin:], row[second:], line)
			default:
				for f := range min(by, columns) {
					part := row[(f+pad)%by*phase+(f+pad)/by:]
					for i := f; i < columns; i += by {
						part[i/by] = line[i]
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

// transpose transposes sums of few channels, fewCols apart, to results whose channels lie
// innermost.
type transpose struct {
	sums, y   []float32
	add       []float32 // laid out as y, if not nil: added to the sums
	columns   int
	channels  int
	low, high float32
	// See Epilogue: of each channel, and within low and high.
	rescaled           bool
	shift, scale, plus [fewChannels]float32
}

// rescale makes t rescale.
func (t *transpose) rescale(f *Epilogue) {
	t.rescaled, t.low, t.high = true, f.least, f.most
	copy(t.shift[:], f.shift[:t.channels])
	copy(t.scale[:], f.scale[:t.channels])
	for i := range t.plus {
		t.plus[i] = f.plus
	}
}

// run computes y[j][c] = min(high, max(low, sums[c][j] + add[j][c])), or what is rescaled.
func (t *transpose) run() {
	_ = t.sums[:fewChannels*fewCols]
	_ = t.y[:t.columns*t.channels]
	if t.add != nil {
		_ = t.add[:t.columns*t.channels]
	}
	if !transposeFast(t) {
		t.plain()
	}
}

// plain is run without vectors.
func (t *transpose) plain() {
	for j := range t.columns {
		run := t.y[j*t.channels:][:t.channels]
		for c := range run {
			v := t.sums[c*fewCols+j]
			if t.rescaled {
				v = float32(math.RoundToEven(float64((v + t.shift[c]) * t.scale[c])))
				run[c] = bounded(v, t.low, t.high) + t.plus[c]
				continue
			}
			if t.add != nil {
				v += t.add[j*t.channels+c]
			}
			run[c] = bounded(v, t.low, t.high)
		}
	}
}
